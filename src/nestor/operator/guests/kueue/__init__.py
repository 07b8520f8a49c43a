"""Has Kueue decide when jobs start, if it is installed, the chart allows it, and a job's class and labels say so.

`pod_sets` says what a job needs, `workload` builds Kueue's object for it and reads what Kueue decided: both are pure. `workloads`
writes that object, and tells Kueue what became of the job; `keeper` watches. Belongs here: every word of Kueue's API. Does not:
how a job is stopped.
"""
