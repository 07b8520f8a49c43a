"""Pods, and what they need, as objects of another cluster and back: pure functions, no I/O, no clock.

Everything a tenant writes is untrusted here. Fields are copied by allow-list, so that a field unknown to us never reaches
the host; what may not run is found by `baseline` before anything is created.
"""
