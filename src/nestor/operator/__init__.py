"""The operator: from a NestedAppJob to its objects in the host cluster, and back again.

kopf brings events (`source`), and nothing else of it is used: `reconcile*` recomputes everything from spec and observed children,
whatever the event was. Belongs here: what a job adds to a nested cluster. Does not: talking to nested clusters, which syncers do.
"""
