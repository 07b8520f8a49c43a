"""Nested clusters: `ensure` makes one, for a job or for a user; `reconcile` is for those that users made without a job.

Belongs here: what is so for every nested cluster (its home, its objects, what its class allows its pods). Does not: what a job
adds to it, and manifests, which are pure and in `nestor.cluster`.
"""
