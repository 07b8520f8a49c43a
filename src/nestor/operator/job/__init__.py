"""One pass over one job: `reconcile` is the table of contents, `admitted` its second half, `guests` the features it asks.

Belongs here: the order of a pass, and what a job adds to its nested cluster: the runner, its plan, the Ingresses. Does not: what
all clusters have in common (`clusters`), what users read (`status`), and what depends on time (`lifecycle`).
"""
