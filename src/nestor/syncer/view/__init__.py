"""What the syncer sees of both clusters: connections, caches, and the watches that come and go.

Belongs here: reading. Does not: any decision, and any write.
"""
