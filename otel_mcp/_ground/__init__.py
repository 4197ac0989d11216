"""Ground floor: names, outcomes, settings and other facts that import nothing from the floors above."""
