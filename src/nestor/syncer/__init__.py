"""The syncer: a process beside each nested K3s that runs its pods in the host cluster.

It creates host pods for nested pods, syncs status, events, Services and configuration, and acts as the kubelet of the nested
nodes. The host does the scheduling, and tenants create their own nested objects.
To change what happens to a pod, go to `pods`; a synced kind, to `copies/rows`; what is said of the cluster, to `cluster`.
Belongs here: code that looks at both clusters at once. Does not: starting clusters, installing apps, exposing them.
"""
