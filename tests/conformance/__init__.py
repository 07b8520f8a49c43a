"""Suites that others can run against what they write for Nestor."""
