"""The program that builds the Grafana dashboards, the Prometheus rules and the files around them.

`python -m dashboards.build` writes everything below `dashboards/built`; that folder is committed and travels in the
wheel, so that nobody needs this program to use its result.
"""
