// The definitions of VolumeSnapshots, which the tests install in a host cluster. Nothing is built of it.
module nestor.dev/devcluster/snapshots

go 1.26.0

require github.com/kubernetes-csi/external-snapshotter/client/v8 v8.7.0
