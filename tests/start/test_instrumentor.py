"""`OtelMcpInstrumentor`, `instrument` and the start file: any of them, any number of times."""

SDK = """
import sys
import otel_mcp
from otel_mcp import OtelMcpInstrumentor
import mcp
from mcp import ClientSession
plain = ClientSession.send_request
def is_watched():
    return ClientSession.send_request is not plain
"""


def test_importing_the_package_imports_neither_opentelemetry_nor_the_sdk(child):
    ended = child(
        """
        import sys, otel_mcp
        dir(otel_mcp)
        print([name for name in sys.modules if name.startswith(("opentelemetry", "mcp", "wrapt", "logging"))])
        """,
        prelude=False,
    )
    assert (ended.code, ended.out, ended.err) == (0, "[]\n", "")


def test_instrumenting_twice_and_in_two_ways_is_silent_and_one_uninstrument_undoes_it(child):
    ended = child(
        SDK
        + """
assert not is_watched()
otel_mcp.instrument()
watched = ClientSession.send_request
assert is_watched()
OtelMcpInstrumentor().instrument()
otel_mcp.instrument()
assert ClientSession.send_request is watched
otel_mcp.uninstrument()
assert not is_watched()
otel_mcp.uninstrument()
for _ in range(3):
    otel_mcp.instrument()
    assert is_watched()
    OtelMcpInstrumentor().uninstrument()
    assert not is_watched()
""",
        prelude=False,
    )
    assert (ended.code, ended.out, ended.err) == (0, "", "")


def test_what_the_start_file_put_in_place_uninstrument_takes_out(child):
    ended = child(
        "import otel_mcp_start, sys; otel_mcp_start.start()\n"
        "hooked = [each for each in sys.meta_path if type(each).__module__ == 'otel_mcp._start.imports']\n"
        "import mcp, otel_mcp\n"
        "assert hooked and mcp.ClientSession.send_request.__module__ != 'x'\n"
        "watched = mcp.ClientSession.send_request\n"
        "otel_mcp.instrument()\n"
        "assert mcp.ClientSession.send_request is watched\n"
        "otel_mcp.uninstrument()\n"
        "assert mcp.ClientSession.send_request is not watched\n"
        "assert not set(hooked) & set(sys.meta_path)\n",
        prelude=False,
        OTEL_MCP_ENABLED="true",
    )
    assert (ended.code, ended.out, ended.err) == (0, "", "")


def test_the_sdk_may_be_imported_after_instrument(child):
    ended = child(
        """
        import sys, otel_mcp
        otel_mcp.instrument()
        assert "mcp" not in sys.modules
        import mcp
        watched = mcp.ClientSession.send_request
        otel_mcp.uninstrument()
        assert mcp.ClientSession.send_request is not watched
        """,
        prelude=False,
    )
    assert (ended.code, ended.out, ended.err) == (0, "", "")


def test_providers_given_to_instrument_are_used_for_their_signals(child):
    ended = child("""
        import otel_mcp
        from opentelemetry.sdk.metrics import MeterProvider
        from opentelemetry.sdk.trace import TracerProvider
        tracer, meter = TracerProvider(), MeterProvider()
        otel_mcp.instrument(tracer_provider=tracer)
        otel_mcp.OtelMcpInstrumentor().instrument(meter_provider=meter)
        ensure_started()
        assert bound.all() == (tracer, meter, None)
        otel_mcp.uninstrument()
        otel_mcp.instrument()
        ensure_started()
        assert bound["traces"] is None and bound["metrics"] is not meter
    """)
    assert (ended.code, ended.out, ended.err) == (0, "", "")


def test_what_is_no_provider_is_ignored_and_said_on_one_line(child):
    ended = child("""
        import otel_mcp
        from opentelemetry.sdk.metrics import MeterProvider
        meter = MeterProvider()
        otel_mcp.instrument(tracer_provider=3, meter_provider=meter)
        ensure_started()
        assert bound.all() == (None, meter, None)
    """)
    assert (ended.code, ended.out) == (0, "")
    assert ended.lines == ["instrument(tracer_provider=…): a value of type 'int' has no get_tracer; it is ignored"]


def test_the_entry_point_is_called_otel_mcp():
    from pathlib import Path

    text = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    assert 'otel_mcp = "otel_mcp:OtelMcpInstrumentor"' in text
