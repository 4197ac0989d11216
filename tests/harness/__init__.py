"""What the tests share: real servers, real sessions on every SDK version, child processes, a real Prometheus."""
