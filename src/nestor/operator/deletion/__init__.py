"""Deletion of jobs, and of namespaces whose job no longer exists: emptied, verified, within a time limit.

Belongs here: deleting. Does not: the end of a job, which keeps its cluster (`lifecycle`).
"""
