"""One module a dashboard: which question is asked in which order."""
