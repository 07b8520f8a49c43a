"""The process beside a nested K3s that lets its pods run in the host cluster.

It creates host pods for nested ones and carries status, events, Services and configuration, and is the nested nodes'
kubelet. Scheduling is the host's; nested objects are never invented here, only answered.
Belongs here: everything that looks at both clusters at once. Does not: starting clusters, installing apps, exposing them.
"""
