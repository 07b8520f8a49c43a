"""The pods on virtual nodes: `decide` chooses what to do about one; each of the other modules does one of those things.

Pods are known by UID only. What must outlive this process is in the pod's own status, the only part of it that a node may write.
"""
