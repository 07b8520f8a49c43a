"""Whether a job may run, and by which application: its identity, its class, its AppDef, its plan's inputs.

`AppResolver` goes from a job to a `Resolved`, or to a `Refused` with a reason and a message; `admit` is the pure part of it.
Belongs here: what can refuse a job before anything is made of it, and copies of what it brings along. Does not: its cluster.
"""
