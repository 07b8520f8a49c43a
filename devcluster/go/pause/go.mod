// The process that holds a pod's namespaces open.
module nestor.dev/devcluster/pause

go 1.26.0
