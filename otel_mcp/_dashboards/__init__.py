"""The built dashboards, rules and files around them, and the command that writes them."""
