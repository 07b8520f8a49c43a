"""The nested cluster as a whole: the status of its NestedCluster, and the objects it needs from the start.

Belongs here: what every nested cluster has, wherever its pods run. Does not: individual objects of the tenant.
"""
