"""Whether the process can go on: its credentials, the NestedCluster that it serves, its health.

Belongs here: what ends the process, or reports its health to the kubelet. Does not: the nested cluster's objects.
"""
