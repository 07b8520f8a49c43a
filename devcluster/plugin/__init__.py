"""An interLink backend that really runs containers, for Nestor's tests and its demo.

It speaks both hops of the protocol: that of a plugin, and in front of it that of interLink's API server. Containers run in a
containerd of its own, by that one's client `ctr`. It is a fixture: it counts its accelerators and hands them out, but has none.

Belongs here: the HTTP server, and what it does with pods. How it is started in the embedded cluster is in
`devcluster.cluster.plugin`; nothing here knows a cluster, nor Nestor's own client of the protocol.
"""
