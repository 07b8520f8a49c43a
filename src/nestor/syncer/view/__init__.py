"""What the syncer sees of both clusters: connections, caches, and watches on demand.

Belongs here: reading. Does not: decisions and writes.
"""
