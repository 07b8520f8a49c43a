"""Synced objects, each with a copy in the other cluster: one engine for all kinds, and one row per kind for its specifics.

Belongs here: what all kinds share (adoption, diff, retries, events), and what is specific to one kind (its row). Does not:
pods, which are more than copies (`nestor.syncer.pods`).
To add a kind: a module in `rows`, its verbs in the chart's `rbac.yaml`, and a test.
"""
