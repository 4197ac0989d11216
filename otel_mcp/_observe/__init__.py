"""Conducts ledger and recorder: a call begins, an attempt ends, a session connects. Used by every hook."""
