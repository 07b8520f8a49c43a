"""The volumes of jobs: what a class allows, and what of it holds for one cluster."""

from __future__ import annotations

from typing import Annotated, Literal

from nestor.api.base import ObjectName, Quantity
from nestor.api.parts import Limits, field, part

Retention = Literal["Delete", "Retain"]


@part()
class Storage:
    """The volumes that the claims of a nested cluster may get."""

    classes: Annotated[list[ObjectName], Limits(max_length=32)] = field(
        default_factory=list,
        description="StorageClasses of the host cluster that nested clusters have too, by name. The first is that of claims "
        "that name none, regardless of the host cluster's default. PersistentVolumeClaims of these classes get a volume of "
        "the host cluster; all others stay Pending, and so do their pods. If not set, there are no persistent volumes.",
    )
    block_volumes: bool = field(
        default=False,
        description="Whether claims may have `volumeMode: Block`: their pods then get a device of the node instead of a file "
        "system. Defaults to false.",
    )
    snapshot_classes: Annotated[list[ObjectName], Limits(max_length=32)] = field(
        default_factory=list,
        description="VolumeSnapshotClasses of the host cluster that nested clusters have too, by name; the first is that of "
        "VolumeSnapshots that name none. Claims may then be filled from VolumeSnapshots of their own namespace. Nested clusters "
        "get the definitions of VolumeSnapshots from the host cluster. If not set, no snapshots are made.",
    )

    @property
    def default_snapshot_class(self) -> str | None:
        """The VolumeSnapshotClass of snapshots that name none."""
        return next(iter(self.snapshot_classes), None)

    @property
    def default(self) -> str | None:
        """The StorageClass of claims that name none."""
        return next(iter(self.classes), None)


@part()
class ClassStorage(Storage):
    """The volumes of jobs. A change reaches running jobs at once, but claims that have a volume keep it."""

    retention: Retention = field(
        default="Delete",
        description="What happens to volumes when their job is deleted, or starts over without them: by `failurePolicy: "
        "Restart`, or by `nestor rerun` after it has ended. `Delete`: the claims are deleted, and their StorageClass's "
        "reclaim policy applies. `Retain`: the volumes of existing claims are kept as PersistentVolumes with the job's "
        "labels until an admin deletes them: `kubectl get pv -l nestor.dev/job-namespace=<namespace>,nestor.dev/job=<job>`; "
        "so are snapshots, as VolumeSnapshotContents. What users delete in the nested cluster is never kept. Defaults to "
        "`Delete`.",
    )
    retained_limit: Quantity | None = field(
        default=None,
        description="With `retention: Retain`: the total size of the volumes and snapshots that jobs of one namespace may "
        "leave behind, for example `1Ti`; each counts as at least 1Gi. While it is reached, jobs of this class neither start "
        "in that namespace nor start over without their volumes: they wait, and their status reports it. Volumes of running "
        "jobs are not counted. A volume no longer counts when an admin has deleted it or its label "
        "`nestor.dev/job-namespace`. Defaults to what one job may have, `requests.storage` in `namespace.quota`.",
    )


@part()
class JobStorage:
    """The volumes that the job wishes, within what the class allows."""

    size: Quantity | None = field(
        default=None,
        description="How much all volumes of the job may have together, for example `50Gi`: its quota `requests.storage`. Not "
        "more than the class or the machine allows. Defaults to what they allow.",
    )
    class_name: ObjectName | None = field(
        default=None,
        description="StorageClass of claims that name none, one of the class's `storage.classes`. Defaults to the class's.",
    )
