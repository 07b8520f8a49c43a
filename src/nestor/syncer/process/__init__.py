"""Whether the process is fit to go on: its credentials, the NestedCluster it serves, its health.

Belongs here: what ends the process or tells its kubelet about it. Does not: anything about the nested cluster's objects.
"""
