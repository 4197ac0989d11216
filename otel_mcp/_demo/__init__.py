"""The demonstration: servers that misbehave on purpose, and a small agent that knows nothing of this package."""
