"""Gangs of pods: when and where those that Nestor holds are let go. The operator decides, because it sees all nodes and pods.

Belongs here: the decision, and its place in the status of NestedClusters, where their syncers read it. Does not: host pods, which
only syncers change.
"""
