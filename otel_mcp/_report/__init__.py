"""The report: reads call logs, finds out where deadlines gather, and says why.

Nothing here is imported by the observing side; duckdb, scipy and rich are loaded when a report is asked for.
"""
