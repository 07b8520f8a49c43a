"""One pass over one job: `reconcile` is the table of contents.

Belongs here: the order of a pass, and what a job adds to its nested cluster: the runner, its plan, the Ingresses. Does not: what
is so for clusters without a job (`clusters`), and decisions about words (`status`) and time (`lifecycle`).
"""
