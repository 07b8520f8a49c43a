"""Jobs on their way out, and namespaces that have lost their job: emptied, verified, bounded in time.

Belongs here: deleting. Does not: the end of a job, which keeps its cluster (`lifecycle`).
"""
