"""Thousands of calls with random faults, cancellations and teardowns, from several threads and event loops."""
