"""What the operator knows of the host cluster, and how it learns it: events, lists, caches, facts; where a job's cluster is.

Belongs here: everything that reads the world without deciding anything. Does not: what is to be done about it.
"""
