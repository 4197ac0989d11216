"""The only place that touches spans, instruments, log records and the call log."""
