// Reads {frames: [[{name, type, values}]], transformations: [...]} on stdin, runs Grafana's own transformations on it,
// and writes the resulting columns.
"use strict";
const { of, lastValueFrom } = require("rxjs");
const { transformDataFrame, standardTransformersRegistry, standardTransformers, toDataFrame } = require("@grafana/data");

// Its transformations look for Grafana's page; set after loading, which would take it for a browser.
globalThis.window = {};

// Two names of one transformation stand in the list; a registry takes each id once.
const byId = new Map(Object.values(standardTransformers).map((one) => [one.id, one]));
standardTransformersRegistry.setInit(() =>
  [...byId.values()].map((one) => ({ id: one.id, name: one.name, transformation: async () => one }))
);

async function main() {
  const chunks = [];
  for await (const chunk of process.stdin) chunks.push(chunk);
  const { frames: asked, transformations } = JSON.parse(Buffer.concat(chunks).toString());
  const given = asked.map((fields, place) => {
    const refId = String.fromCharCode(65 + place);
    // With several queries the data source calls each value column after its query.
    const named = fields.map((field) =>
      field.name === "Value" && asked.length > 1 ? { ...field, name: `Value #${refId}` } : field
    );
    return toDataFrame({ refId, fields: named });
  });
  const frames = await lastValueFrom(transformDataFrame(transformations, given));
  const told = frames.map((f) =>
    f.fields.map((field) => ({ name: field.config.displayName ?? field.name, type: field.type, values: Array.from(field.values) }))
  );
  process.stdout.write(JSON.stringify(told));
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
