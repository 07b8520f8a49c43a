"""Nested clusters: `homes` creates the one of a job.

Belongs here: home and objects of the cluster, and what the class allows its pods. Does not: what a job adds, and the manifests,
which are pure and live in `nestor.cluster`.
"""
