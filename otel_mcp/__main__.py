"""``python -m otel_mcp`` is ``otel-mcp``."""

import sys

from otel_mcp._cli.main import main

sys.exit(main())
