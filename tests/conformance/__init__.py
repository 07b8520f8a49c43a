"""Conformance suites: tests that third parties run against their own extensions of Nestor."""
