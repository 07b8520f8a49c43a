"""Has Kueue decide when jobs start, if it is installed, the chart allows it, and a job's class and labels say so.

`pod_sets` says what a job needs, `workload` makes Kueue's object for it and reads what Kueue decided, `keeper` writes and
watches. The first two are pure. Belongs here: every word of Kueue's API. Does not: how a job is stopped.
"""
