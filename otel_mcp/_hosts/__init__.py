"""Host adapters: one module a host, found by being here. An adapter can be deleted without touching another file.

An adapter module names its hook target (`TARGET`), the host's modules after whose import it can patch (`MODULES`; any
of them sets it off), and gives its rows of the patch table (`patches(switch)`). It imports nothing of the host at its
top, patches only what it has probed, and reports through `otel_mcp.hooks`.
"""
