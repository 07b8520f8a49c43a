"""Turns observations into what users read: conditions, the status of a job, its events.

`observe` gathers the facts of a job's lifecycle, `job.admitted` fills `Observed`, from which `conditions` decides; `build`
assembles the status, `report` writes it. Belongs here: everything about a job's status. Does not: the status of other kinds,
whose own modules write it.
"""
