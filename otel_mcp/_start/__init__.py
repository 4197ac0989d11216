"""Start-up: from an environment variable to running providers, lazily, and back to nothing at exit."""
