"""Kubernetes' own conformance tests, run against the host cluster or against a nested one: the ruler that says what is missing.

`make conformance` runs them and writes their page. Results are kept per column: a run goes on where the last one ended.
Belongs here: which tests run where, what became of them, the tables. The suite and its images are built by `devcluster.build`.
"""
