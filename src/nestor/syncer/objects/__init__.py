"""Objects that are kept the same in both clusters: one engine, a row per kind (`rows`).

Belongs here: what holds for every kind (adoption, diff, retries, telling once), and what is special about one (its row). Does
not: pods, which are more than a copy (`nestor.syncer.pods`).
A new kind is a file in `rows`, its verbs in the chart's `rbac.yaml`, and a test.
"""
