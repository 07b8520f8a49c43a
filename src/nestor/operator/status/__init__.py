"""From what is observed to what users read: conditions, the status of a job, its events.

`observe` collects, `conditions` decides, `build` puts the status together, `report` writes it. Belongs here: everything about a
job's status. Does not: the status of a NestedCluster or of a NestedApp, which their reconcilers write.
"""
