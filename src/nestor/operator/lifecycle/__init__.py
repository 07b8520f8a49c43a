"""A job's life: it begins, is suspended and resumed, restarts, ends and expires. And a cluster's data, which a restart deletes.

`record` is what the status remembers, `decide_lifecycle` what follows from it. Belongs here: decisions about time, ends and
suspension, and carrying them out where no object's spec says it. Does not: conditions other than `Succeeded`.
"""
