"""Another Kubernetes cluster as a backend: host pods run there as pods of one namespace.

`settings` says which cluster, `refusals` what it cannot run. `build` makes a host pod into one of that cluster, and
what it refers to into copies that the garbage collector there removes with it. `cluster` watches the pods, `reduce` reads their
statuses, `shapes` the machines. `provider` puts them together.
"""
