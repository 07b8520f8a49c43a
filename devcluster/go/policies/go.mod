// The CNI plugin that holds a pod back until its network policies are in place.
module nestor.dev/devcluster/policies

go 1.26.0
