"""The page in a real Chromium, opened from disk with the network off."""

from __future__ import annotations

import base64
import json
import os
import shutil
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from report.report_logs import NOON, call, cut, event, report_of, spread

from otel_mcp._report import page
from otel_mcp._report.model import Report

try:
    from selenium import webdriver
    from selenium.webdriver.common.by import By
except ModuleNotFoundError:
    webdriver = None  # type: ignore[assignment]

CHROMIUM, DRIVER = shutil.which("chromium"), shutil.which("chromedriver")
HOSTILE = (
    '<script>document.title = "owned"</script>',
    '"onmouseover="document.title=1',
    "'</td></table><h1>gone</h1>",
    "&lt;b&gt; {{ 7 * 7 }} {% raw %}",
    "\u202edetrever\u202c",
    "x" * 200,
    "größe 日本 😀",
    "ctrl\x07\x1b[31m",
)


def browser(folder: Path) -> Any:
    options = webdriver.ChromeOptions()
    options.binary_location = CHROMIUM or ""
    for flag in (
        "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking",
        "--disable-component-update", "--disable-sync", f"--user-data-dir={folder}", "--window-size=1200,900",
        "--host-resolver-rules=MAP * ~NOTFOUND",
    ):  # fmt: skip
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(options=options, service=webdriver.ChromeService(DRIVER))


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    if not (webdriver and CHROMIUM and DRIVER):
        reason = "needs selenium (PyPI) and chromium, chromium-driver (Debian)"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    driver = browser(tmp_path_factory.mktemp("profile"))
    driver.set_network_conditions(offline=True, latency=0, download_throughput=0, upload_throughput=0)
    yield driver
    driver.quit()


def show(driver: Any, report: Report, folder: Path) -> None:
    path = folder / "report.html"
    path.write_text(page.render(report), encoding="utf-8")
    driver.get(path.as_uri())


def complaints(driver: Any) -> list[str]:
    return [entry["message"] for entry in driver.get_log("browser")]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Report:
    cuts = [cut(NOON + timedelta(days=day, minutes=m)) for day in range(12) for m in (5, 25)]
    mail = [call(NOON + timedelta(hours=n), "mail", tool="send", elapsed=9.0) for n in range(7)]
    late = event("connect", reason="initial", outcome="ok", elapsed=0.2, generation=1)
    return report_of(tmp_path_factory.mktemp("log"), [*spread(12), *cuts, *mail, late, "torn"])


def test_it_opens_from_disk_without_a_network_and_without_a_complaint(
    chromium: Any, report: Report, tmp_path: Path
) -> None:
    show(chromium, report, tmp_path)
    assert chromium.title == "MCP calls: where deadlines gather"
    assert complaints(chromium) == []
    events = [json.loads(entry["message"])["message"] for entry in chromium.get_log("performance")]
    requests = [e["params"] for e in events if e["method"] == "Network.requestWillBeSent"]
    # Chromium's own start page asks for things too; ours is the one from disk.
    asked = {r["request"]["url"] for r in requests if r["documentURL"].startswith("file:")}
    assert any(url.endswith("report.html") for url in asked)
    assert {url for url in asked if not url.startswith(("file:", "data:"))} == set()
    assert "1 line was skipped" in chromium.find_element(By.TAG_NAME, "header").text


def test_the_map_carries_the_values_of_the_report(chromium: Any, report: Report, tmp_path: Path) -> None:
    show(chromium, report, tmp_path)
    rows = chromium.find_elements(By.CSS_SELECTOR, "#hours tbody tr")
    shown = {
        (row.find_element(By.TAG_NAME, "th").text, hour): (cell.text, float(cell.get_attribute("data-share")))
        for row in rows
        for hour, cell in enumerate(row.find_elements(By.TAG_NAME, "td"))
    }
    assert len(shown) == 48
    for cell in report.cells:
        text, share = shown.pop((cell.connector, cell.hour))
        assert share == pytest.approx(cell.counts.share)
        assert text == ("·" if not cell.counts.deadlines else f"{share * 100:.0f}")
    assert set(shown.values()) == {("", -1.0)}
    hot = rows[1].find_elements(By.TAG_NAME, "td")[12]
    assert hot.get_attribute("title").startswith("odoo 12:00: 24 deadlines in 48 calls: 50 %")


def test_findings_come_first(chromium: Any, report: Report, tmp_path: Path) -> None:
    show(chromium, report, tmp_path)
    headings = [heading.text for heading in chromium.find_elements(By.TAG_NAME, "h2")]
    assert headings[:2] == ["Findings", "Connector by hour of the day"]
    [item] = chromium.find_elements(By.CSS_SELECTOR, "#findings li")
    assert report.findings[0].sentence in item.text
    assert report.findings[0].next_step in item.text


@pytest.mark.parametrize(("column", "first", "again"), [(0, "mail", "odoo"), (1, "odoo", "mail"), (4, "mail", "odoo")])
def test_a_click_on_a_heading_sorts_by_it_and_another_turns_it_round(
    chromium: Any, report: Report, tmp_path: Path, column: int, first: str, again: str
) -> None:
    show(chromium, report, tmp_path)
    heads = chromium.find_elements(By.CSS_SELECTOR, "#connectors th[scope=col]")

    def top() -> str:
        text: str = chromium.find_element(By.CSS_SELECTOR, "#connectors tbody tr th").text
        return text

    heads[column].find_element(By.TAG_NAME, "button").click()
    assert (top(), heads[column].get_attribute("aria-sort")) == (first, "ascending" if column == 0 else "descending")
    heads[column].find_element(By.TAG_NAME, "button").click()
    assert (top(), heads[column].get_attribute("aria-sort")) == (again, "descending" if column == 0 else "ascending")


def test_numbers_are_sorted_as_numbers(chromium: Any, tmp_path: Path) -> None:
    lines = [call(connector=f"c{n}") for n in (2, 9, 10, 100) for _ in range(n)]
    show(chromium, report_of(tmp_path, lines), tmp_path)
    chromium.find_elements(By.CSS_SELECTOR, "#connectors th[scope=col] button")[1].click()
    rows = chromium.find_elements(By.CSS_SELECTOR, "#connectors tbody tr th")
    assert [row.text for row in rows] == ["c100", "c10", "c9", "c2"]


def test_hostile_names_are_text(chromium: Any, tmp_path: Path) -> None:
    lines = [
        line for name in HOSTILE for n in range(6) for line in (cut(NOON + timedelta(minutes=n), name, tool=name),)
    ]
    lines += [call(NOON + timedelta(hours=n), name, tool=name) for name in HOSTILE for n in range(1, 30)]
    show(chromium, report_of(tmp_path, lines), tmp_path)
    assert complaints(chromium) == []
    assert chromium.title == "MCP calls: where deadlines gather"
    assert [h.text for h in chromium.find_elements(By.TAG_NAME, "h1")] == ["MCP calls: where deadlines gather"]
    assert len(chromium.find_elements(By.TAG_NAME, "script")) == 1
    names = {e.get_attribute("textContent") for e in chromium.find_elements(By.CSS_SELECTOR, "#tools tbody th")}
    spelled = {name.replace("\u202e", "\\u202e").replace("\u202c", "\\u202c") for name in HOSTILE[:-1]}
    assert names == spelled | {"ctrl\\u0007\\u001b[31m"}


@pytest.mark.parametrize("width", [360, 1200])
def test_the_page_is_never_wider_than_the_screen(chromium: Any, report: Report, tmp_path: Path, width: int) -> None:
    chromium.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride", {"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    )
    try:
        show(chromium, report, tmp_path)
        assert chromium.execute_script("return document.documentElement.scrollWidth") <= width
    finally:
        chromium.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


@pytest.mark.parametrize(("scheme", "lightness"), [("light", 255), ("dark", 20)])
def test_it_follows_the_scheme_of_the_system(
    chromium: Any, report: Report, tmp_path: Path, scheme: str, lightness: int
) -> None:
    chromium.execute_cdp_cmd(
        "Emulation.setEmulatedMedia", {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    )
    show(chromium, report, tmp_path)
    background = chromium.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert background.startswith(f"rgb({lightness},")


def test_it_prints_on_few_pages(chromium: Any, report: Report, tmp_path: Path) -> None:
    show(chromium, report, tmp_path)
    pdf = base64.b64decode(chromium.print_page())
    assert pdf.startswith(b"%PDF")
    assert 1 <= pdf.count(b"/Type /Page\n") + pdf.count(b"/Type /Page ") <= 4
