"""The nested clusters of jobs as clusters of the host's Argo CD."""

from __future__ import annotations

from typing import Annotated

from nestor.api.base import NodeLabels, ObjectName
from nestor.api.parts import Limits, field, part

NestedNamespace = Annotated[str, Limits(min_length=1, max_length=63, pattern=r"^([*]|[a-z0-9]([-a-z0-9]*[a-z0-9])?)$")]


@part()
class ArgoCDAccess:
    """What Argo CD may do in a nested cluster."""

    namespaces: list[NestedNamespace] = field(
        default_factory=lambda: ["default"],
        description="The nested namespaces that Argo CD manages: it has all rights in these, and none elsewhere, within a minute "
        "of their creation. `*`: all namespaces, and what is in none, such as CustomResourceDefinitions: Argo CD is then admin "
        "of the nested cluster, as the job's user is. Defaults to `default` alone.",
        min_length=1,
        max_length=64,
        json_schema_extra={"default": ["default"]},  # a schema has no default that is made
    )

    @property
    def is_whole(self) -> bool:
        """Whether it is the whole cluster."""
        return "*" in self.namespaces


@part()
class ArgoCDPolicy(ArgoCDAccess):
    """Makes the nested clusters of jobs known to an Argo CD in the host cluster, so that ApplicationSets install into them."""

    namespace: ObjectName = field(
        description="The namespace of the host cluster in which Argo CD runs. The operator writes a cluster Secret for each "
        "job there, once the job's cluster is ready, and deletes it with the job. Users who can read Secrets there have "
        "access to the nested clusters. Pods in that namespace may connect to the nested API servers, regardless of "
        "`network.apiFrom`."
    )
    project: ObjectName | None = field(
        default=None,
        description="Argo CD project that the clusters belong to: only its Applications may be deployed to them. If not set, all "
        "whose projects allow it.",
    )
    labels: NodeLabels = field(
        default_factory=dict,
        description="Labels of the cluster Secrets, for the selectors of ApplicationSets. They also have "
        "`nestor.dev/class`, `nestor.dev/job` and `nestor.dev/job-namespace`. Keys of `nestor.dev`, `kubernetes.io` and "
        "`argoproj.io` have no effect.",
    )
