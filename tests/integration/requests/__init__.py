"""Recorded requests: what a controller sends to API servers, step by step, held against golden files in tests/golden/requests.

`recorder` stands between a controller and its API servers and needs nothing of the controller but a kubeconfig, so that it sees
old and new code alike. `words` replaces what differs between runs. `golden` writes and compares.
"""
