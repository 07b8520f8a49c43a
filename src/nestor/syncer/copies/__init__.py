"""Synced objects, each with a copy in the other cluster: one engine for all kinds, and one row per kind for its specifics.

Belongs here: what all kinds share (adoption, diff, retries, events), and what is specific to one kind (its row). Does not:
pods, which are more than copies (`nestor.syncer.pods`). A new kind is a module in `rows` (`rows.storage` has one in each
direction), its verbs in the chart's `rbac.yaml`, for copies in the host their wall in `syncer-policy.yaml` and their number
in `limits`, and a test; a kind that Nestor has not used before is also a line in `nestor.kube.kinds`.
"""
