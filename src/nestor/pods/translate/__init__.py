"""Translates pods and what they need into objects of another cluster, and back: pure functions, no I/O, no clock.

Everything a tenant writes is untrusted here. Fields are copied by allow-list, so a field that we do not know never reaches
the host; `refusals` and `baseline` find what must not run before anything is created.
"""
