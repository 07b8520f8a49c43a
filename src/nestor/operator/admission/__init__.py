"""Whether a job may run, and which application it runs: its identity, its class, its AppDef, its plan's inputs.

`AppResolver` turns a job into a `Resolved`, or raises `Refused` with a reason and a message; `admit` is its pure part.
Belongs here: every reason to refuse a job before anything is created, and copies of its inputs. Does not: its cluster.
"""
