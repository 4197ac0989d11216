"""The first session starts the process' telemetry, and nothing before it does."""

import contextlib
import socket

import pytest


def test_nothing_is_opened_imported_or_started_before_the_first_session(child):
    ended = child("""
        import otel_mcp
        otel_mcp.__version__
        assert threading.active_count() == 1
        assert not [name for name in sys.modules if name.startswith(("opentelemetry", "prometheus", "mcp"))]
    """)
    assert (ended.code, ended.err) == (0, "")


def test_without_a_variable_metrics_are_served_on_loopback_and_nothing_else_is_private(child):
    ended = child("""
        ensure_started()
        where = runtime.in_force()
        assert where["endpoint"].startswith("127.0.0.1:")
        del where["endpoint"]
        assert where == {"traces": "none", "metrics": "private", "logs": "none"}, where
        assert (bound["traces"], bound["logs"]) == (None, None)
        count(3, **{"otel_mcp.connector": "a"})
        text = scrape()
        assert 'test_calls_total{otel_mcp_connector="a"} 3.0' in text, text
        assert "otel_scope" not in text
        from prometheus_client import REGISTRY, generate_latest
        assert b"otel_mcp" not in generate_latest(REGISTRY)
    """)
    assert (ended.code, ended.out, ended.err) == (0, "", "")


def test_starting_again_or_from_many_threads_starts_once(child):
    ended = child("""
        threads = [threading.Thread(target=ensure_started) for _ in range(8)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        first = runtime.in_force()["endpoint"]
        ensure_started()
        assert runtime.in_force()["endpoint"] == first
        assert [thread.name for thread in threading.enumerate()].count("otel-mcp-endpoint") == 1
    """)
    assert (ended.code, ended.err) == (0, "")


def test_a_thread_that_comes_while_another_one_starts_has_what_was_started(child):
    ended = child("""
        start, begun, go_on, passed = runtime._start, threading.Event(), threading.Event(), threading.Event()
        def slowly(this):
            begun.set()
            assert go_on.wait(20)
            start(this)
        runtime._start = slowly
        found = []
        def second():
            ensure_started()
            found.append(runtime.in_force()["endpoint"])
            passed.set()
        first = threading.Thread(target=ensure_started)
        first.start()
        assert begun.wait(20)
        other = threading.Thread(target=second)
        other.start()
        def waits():
            frame = sys._current_frames().get(other.ident)
            return frame is not None and frame.f_code is runtime._start_once.__code__
        while not waits() and not passed.wait(0.001):
            pass
        go_on.set()
        [thread.join() for thread in (first, other)]
        assert found == [runtime.in_force()["endpoint"]] != [None], found
    """)
    assert (ended.code, ended.err) == (0, "")


def test_a_session_that_begins_within_start_up_does_not_start_it_again(child):
    ended = child("""
        start = runtime._start
        def again(this):
            print("starts")
            ensure_started()
            start(this)
        runtime._start = again
        ensure_started()
        ensure_started()
        assert runtime.in_force()["endpoint"]
    """)
    assert (ended.code, ended.out, ended.err) == (0, "starts\n", "")


def test_a_session_in_a_module_that_start_up_waits_for_does_not_hold_it_up_for_good(child):
    ended = child("""
        import pathlib, types
        sys.modules["at"] = at = types.SimpleNamespace(begun=threading.Event(), inside=threading.Event())
        pathlib.Path("held.py").write_text(
            "import at; from otel_mcp._start.runtime import ensure_started;"
            "at.inside.set(); at.begun.wait(20); ensure_started()"
        )
        start, runtime._PATIENCE = runtime._start, 0.05
        def importing(this):
            at.begun.set()
            assert at.inside.wait(20)
            import held
            start(this)
        runtime._start = importing
        threads = [threading.Thread(target=ensure_started), threading.Thread(target=__import__, args=("held",))]
        [thread.start() for thread in threads]
        [thread.join(20) for thread in threads]
        assert not any(thread.is_alive() for thread in threads)
        assert runtime.in_force()["endpoint"]
    """)
    assert (ended.code, ended.err) == (0, "")


def test_only_metrics_pages_are_served(child):
    ended = child("""
        import urllib.error
        ensure_started()
        count()
        assert "test_calls_total 1.0" in scrape(path="/")
        try:
            scrape(path="/etc/passwd")
        except urllib.error.HTTPError as error:
            print(error.code)
    """)
    assert (ended.code, ended.out, ended.err) == (0, "404\n", "")


def test_many_scrapes_at_once_all_get_every_metric(child):
    ended = child("""
        ensure_started()
        for number in range(300):
            count(number=number)
        pages = []
        threads = [threading.Thread(target=lambda: pages.append(scrape())) for _ in range(12)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        assert [page.count("test_calls_total{") for page in pages] == [300] * 12
    """)
    assert (ended.code, ended.err) == (0, "")


def test_a_collection_that_fails_is_a_500_and_the_next_scrape_is_answered(child):
    ended = child("""
        import urllib.error
        ensure_started()
        count()
        from otel_mcp._ground import guard
        registry = runtime._runtime.providers._private["metrics"].endpoint.reader._registry
        class Broken:
            def collect(self):
                raise RuntimeError("broken")
        broken = Broken()
        registry._collector_to_names[broken] = []
        try:
            scrape()
        except urllib.error.HTTPError as error:
            print(error.code, guard.internal_errors())
        del registry._collector_to_names[broken]
        assert "test_calls_total 1.0" in scrape()
    """)
    assert (ended.code, ended.out) == (0, "500 {'endpoint': 1}\n")


def taken_ports(many: int) -> tuple[int, list[socket.socket]]:
    """A port after which at least 33 are free, and listeners on the first `many` from it on.

    The first one keeps another run of these tests away from the others.
    """
    for first in range(21_000, 29_000, 40):
        with contextlib.ExitStack() as opened:
            listeners = []
            try:
                for port in range(first, first + 33):
                    listener = opened.enter_context(socket.socket())
                    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                    listener.bind(("127.0.0.1", port))
                    listener.listen()
                    listeners.append(listener)
            except OSError:
                continue
            opened.pop_all()
            for listener in listeners[many:]:
                listener.close()
            return first, listeners[:many]
    raise AssertionError("no 33 free ports beside each other")


@pytest.mark.parametrize("taken", [1, 2, 32])
def test_a_taken_port_means_the_next_free_one_and_one_line_names_it(child, taken):
    first, sockets = taken_ports(taken)
    try:
        ended = child("ensure_started(); count(); assert scrape()", OTEL_EXPORTER_PROMETHEUS_PORT=str(first))
    finally:
        for each in sockets:
            each.close()
    assert ended.code == 0
    assert ended.lines == [
        f"port {first} is taken; the Prometheus endpoint is http://127.0.0.1:{first + taken}/metrics"
    ]


def test_with_all_ports_taken_one_line_says_so_and_the_program_goes_on(child):
    first, sockets = taken_ports(33)
    try:
        ended = child("ensure_started(); print(runtime.in_force())", OTEL_EXPORTER_PROMETHEUS_PORT=str(first))
    finally:
        for each in sockets:
            each.close()
    assert ended.out == "{'traces': 'none', 'metrics': 'none', 'logs': 'none', 'endpoint': None}\n"
    assert ended.lines == [
        f"no Prometheus endpoint: the ports {first} to {first + 32} on 127.0.0.1 are all taken; set "
        "OTEL_EXPORTER_PROMETHEUS_PORT to a free one, 0 for any"
    ]


def test_a_program_that_serves_its_own_metrics_on_the_port_first_keeps_it(child):
    first, [guard] = taken_ports(1)
    port = first + 1
    with guard:
        ended = child(
            f"""
            import prometheus_client
            prometheus_client.Gauge("mine", "of the program").set(1)
            prometheus_client.start_http_server({port}, addr="127.0.0.1")
            ensure_started()
            assert "mine 1.0" in scrape("127.0.0.1:{port}")
            assert "mine" not in scrape() and runtime.in_force()["endpoint"] == "127.0.0.1:{port + 1}"
            """,
            OTEL_EXPORTER_PROMETHEUS_PORT=str(port),
        )
    assert ended.code == 0, ended.err
    assert ended.lines == [f"port {port} is taken; the Prometheus endpoint is http://127.0.0.1:{port + 1}/metrics"]


def test_an_address_that_is_not_ours_is_one_line(child):
    ended = child("ensure_started()", OTEL_EXPORTER_PROMETHEUS_HOST="192.0.2.1")
    assert ended.code == 0
    assert ended.lines == [
        "no Prometheus endpoint: 192.0.2.1:0 cannot be listened on (Cannot assign requested address)"
    ]


def test_a_disabled_sdk_leaves_only_the_call_log(child, tmp_path):
    ended = child(
        """
        ensure_started()
        assert bound.all() == (None, None, None)
        recorder.call_log.put("call", 0, "odoo", "stdio", {"id": "1"})
        assert [thread.name for thread in threading.enumerate()] == ["MainThread", "otel-mcp-call-log"]
        assert "opentelemetry.sdk" not in sys.modules
        """,
        OTEL_SDK_DISABLED="true",
        OTEL_MCP_CALL_LOG=str(tmp_path / "calls.jsonl"),
        OTEL_TRACES_EXPORTER="otlp",
        OTEL_SERVICE_NAME="night agent",
    )
    assert (ended.code, ended.err) == (0, "")
    line = (tmp_path / "calls.jsonl").read_text()
    assert '"event":"call","time":"1970-01-01T00:00:00.000Z","service":"night agent","instance":"' in line


def test_without_spans_no_exporter_of_traces_is_made(child):
    ended = child(
        "ensure_started(); print(runtime.in_force()['traces'], [thread.name for thread in threading.enumerate()])",
        OTEL_MCP_SPANS="false",
        OTEL_TRACES_EXPORTER="console",
        OTEL_METRICS_EXPORTER="none",
    )
    assert (ended.code, ended.out, ended.err) == (0, "none ['MainThread']\n", "")


def test_a_fault_in_start_up_does_not_reach_the_session(child):
    ended = child("""
        del recorder.__class__.bind_meter_provider
        ensure_started()
        ensure_started()
        from otel_mcp._ground import guard
        print(guard.internal_errors())
    """)
    assert (ended.code, ended.out) == (0, "{'providers': 1}\n")


def test_what_was_stopped_can_be_started_again(child):
    ended = child("""
        ensure_started()
        first = runtime.in_force()["endpoint"]
        runtime.stop()
        assert runtime.in_force() == {"traces": "none", "metrics": "none", "logs": "none", "endpoint": None}
        assert bound["metrics"] is None and recorder.before_attempt is None
        try:
            scrape(first)
        except OSError:
            print("closed")
        ensure_started()
        count()
        assert "test_calls_total 1.0" in scrape()
    """)
    assert (ended.code, ended.out, ended.err) == (0, "closed\n", "")


def test_an_endpoint_whose_descriptor_the_program_closed_ends_instead_of_spinning(child):
    ended = child("""
        ensure_started()
        endpoint = runtime._runtime.providers._private["metrics"].endpoint
        import socket
        with socket.socket() as client:
            os.close(endpoint._server.socket.fileno())
            client.connect((endpoint.host, endpoint.port))  # the waiting thread keeps the listener until it wakes
            endpoint._thread.join(10)
        print(endpoint._thread.is_alive())
        endpoint._server.socket.detach()
    """)
    assert (ended.code, ended.out) == (0, "False\n"), ended.err


def test_a_process_out_of_descriptors_is_not_scraped_and_not_slowed_and_recovers(child):
    ended = child("""
        import resource
        ensure_started(); count()
        endpoint = runtime._runtime.providers._private["metrics"].endpoint
        import socket
        scrape()
        client = socket.socket()
        _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (client.fileno() + 1, hard))
        client.connect((endpoint.host, endpoint.port))
        began = time.thread_time_ns(), time.process_time()
        time.sleep(0.5)
        assert time.process_time() - began[1] < 0.2, "the endpoint's thread spins"
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, hard))
        client.sendall(b"GET /metrics HTTP/1.0\\r\\n\\r\\n")
        assert client.recv(100).startswith(b"HTTP/1.0 200")
        client.close()
    """)
    assert (ended.code, ended.err) == (0, "")
