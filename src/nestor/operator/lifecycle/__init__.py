"""A job's lifecycle: start, suspend, resume, restart, end and expire. And a cluster's data, which a restart deletes.

`record` is what the status remembers, `decide_lifecycle` what follows from it. Belongs here: decisions about time, ends and
suspension, and the actions that no object's spec expresses. Does not: conditions other than `Succeeded`.
"""
