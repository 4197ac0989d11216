"""What is known about connectors, sessions, and everything that is open now."""
