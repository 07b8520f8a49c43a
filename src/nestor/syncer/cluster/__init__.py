"""The nested cluster as a whole: the status of its NestedCluster, and what is put into it at the start.

Belongs here: what every nested cluster has, wherever its pods run. Does not: single objects of the tenant.
"""
