"""Nested clusters: `ensure` creates one, for a job or for a user; `reconcile` handles those that users create without a job.

Belongs here: what all nested clusters have in common (home, objects, what the class allows their pods). Does not: what a job
adds, and the manifests, which are pure and live in `nestor.cluster`.
"""
