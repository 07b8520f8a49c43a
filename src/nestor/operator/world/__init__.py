"""What the operator knows about the host cluster, and how it learns it: events, lists, caches, facts; and where jobs live.

Belongs here: everything that reads the world without deciding anything. Does not: decisions and actions.
"""
