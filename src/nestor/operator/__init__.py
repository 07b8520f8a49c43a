"""The operator: turns NestedAppJobs into objects in the host cluster, and their state into status.

Informers watch what there is, and kopf our own kinds, too. `wiring` turns changes into keys of one queue; for each key, a
reconciler recomputes everything from spec and observed children, whatever the event was. Its parts, each of which imports
only those below it:

    handlers      kopf: how the work begins and ends, and which of our resources have changed
    wiring        changes to keys, keys to reconcilers; main and settings are the process
    job           one pass over a job, and the list of the guests that it asks
    guests        features that a pass can do without: queues, Kueue, Gateways, Argo CD, notices, gangs, kept volumes, the probe
    clusters      nested clusters: the one path by which they are made
    deletion      jobs being deleted, and what jobs left behind
    status        what is observed, the conditions decided from it, and the job's status
    admission     whether a job may run, and by which application
    lifecycle     start, suspend, restart, end: decided from what the status remembers
    guest         the moments of a pass in which guests are asked
    oneshot       pods that run once to a result
    world         what is known about the host cluster

Belongs here: decisions about objects in the host cluster. Does not: talking to nested clusters, which their syncers do.
"""
