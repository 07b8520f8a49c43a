"""What only the syncer carries: Services and events to the other side, nodes into the nested cluster.

Pure, as `nestor.translate` is.
"""
