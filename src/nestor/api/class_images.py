"""What a class says about images: which ones jobs may use, and how they are pulled."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from nestor.api.base import ImagePrefix, ObjectName
from nestor.api.model import BY_PROFILE, Model


class ImagesPolicy(Model):
    """Which images jobs may use, and how they are pulled."""

    allowed: Annotated[list[ImagePrefix], Field(max_length=64)] | None = Field(
        None,
        description="Registries, or registries with a path, of the images that jobs may use, such as "
        "`registry.example.com/team-a`: that image, and all whose path continues after it. Images without a registry are "
        "those of `docker.io`, and those without an owner of `docker.io/library`. This applies to app images, including "
        "those of NestedApps, and to all images of pods, including volumes and debug containers. It does not apply to images "
        "that this class or Nestor names. Pods on the host have the full names of their images. A job whose app image is not "
        "allowed is refused before it starts; a pod waits, with an event. A change applies to new pods and images; running "
        "pods are not affected. An empty list allows none. If not set, all are allowed.",
    )

    always_pull: bool = Field(
        False,
        description="Whether every image that a job names, app images included, is pulled with `imagePullPolicy: Always`, "
        "regardless of its pods' policy. Otherwise, a pod may start from a copy on its node that another user pulled with "
        "other credentials. It is not needed where all nodes run a kubelet of 1.35 or later with "
        "`KubeletEnsureSecretPulledImages`, which prevents that. Images that are only on the nodes and in no registry then "
        "cannot be used. A change applies to new pods. Defaults to true under `profile: Tenants`, and otherwise to false.",
        json_schema_extra=BY_PROFILE,
    )

    pull_secret_names: Annotated[list[ObjectName], Field(max_length=8)] = Field(
        default_factory=list,
        description="Secrets of the operator's namespace, of type kubernetes.io/dockerconfigjson, for pulling images of "
        "jobs, app images included, in addition to those that a job, a NestedApp or a pod names. Users then need no "
        "credentials for your internal registries. They are copied into each job's namespace, where users cannot read them, "
        "but their pods can use every image that these Secrets give access to: `allowed` says which of them. Pods that may "
        "run at a backend do not get them, because a backend could read them: the class names Secrets for these in "
        "`imagePullSecrets` of the backend. A change applies to new pods. If not set, there are none.",
    )

    @property
    def pull_policy(self) -> Literal["Always", "IfNotPresent"]:
        """For images that users name."""
        return "Always" if self.always_pull else "IfNotPresent"
