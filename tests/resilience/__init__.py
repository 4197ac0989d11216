"""Tests of `otel_mcp.resilience`: each signs the promises it holds the code to."""
