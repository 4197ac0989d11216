"""A collector for tests: takes OTLP over HTTP on a loopback port and writes down what came.

Run as a program: ``python otlp_receiver.py FILE [--mode ok|blackhole|error] [--port PORT]``. It prints its port on one
line. Each request becomes one line of JSON in FILE: ``{"signal": "traces", "headers": {…}, "items": [names], "body":
{…}}``, in which `body` is the protobuf message as JSON. ``blackhole`` takes connections and never answers; ``error``
answers 503.
"""

from __future__ import annotations

import argparse
import gzip
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

MESSAGES = {
    "traces": ExportTraceServiceRequest,
    "metrics": ExportMetricsServiceRequest,
    "logs": ExportLogsServiceRequest,
}


def names(signal, body):
    """Names of the spans, metrics or events in a decoded request, in order."""
    of_resource, of_scope, item, name = {
        "traces": ("resourceSpans", "scopeSpans", "spans", "name"),
        "metrics": ("resourceMetrics", "scopeMetrics", "metrics", "name"),
        "logs": ("resourceLogs", "scopeLogs", "logRecords", "eventName"),
    }[signal]
    return [
        each.get(name)
        for resource in body.get(of_resource, ())
        for scope in resource.get(of_scope, ())
        for each in scope.get(item, ())
    ]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    out: Path
    mode: str
    lock = threading.Lock()

    def do_POST(self):
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        if self.mode == "blackhole":
            threading.Event().wait()
        if self.headers.get("Content-Encoding") == "gzip":
            raw = gzip.decompress(raw)
        signal = self.path.rpartition("/")[2]
        message = MESSAGES[signal]()
        message.ParseFromString(raw)
        body = MessageToDict(message)
        line = {"signal": signal, "headers": dict(self.headers), "items": names(signal, body), "body": body}
        with self.lock, self.out.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        self.send_response(503 if self.mode == "error" else 200)
        self.send_header("Content-Type", "application/x-protobuf")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file", type=Path)
    parser.add_argument("--mode", choices=["ok", "blackhole", "error"], default="ok")
    parser.add_argument("--port", type=int, default=0, help="0: any free one")
    options = parser.parse_args()
    Handler.out, Handler.mode = options.file, options.mode
    server = ThreadingHTTPServer(("127.0.0.1", options.port), Handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
