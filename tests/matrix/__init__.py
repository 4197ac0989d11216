"""Runs the suite on the built wheel in every environment it promises to work in. Standard library only."""
