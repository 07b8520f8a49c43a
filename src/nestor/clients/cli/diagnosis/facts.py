"""Reads the facts for a diagnosis. What the user has no permission to read is None, as opposed to empty."""

import asyncio
from collections.abc import Awaitable
from dataclasses import dataclass, field
from typing import TypeVar

from nestor.api import labels
from nestor.api.crd import RESOURCES
from nestor.api.objects import Object, spec_of, status_of
from nestor.clients.cli.session import Session, may
from nestor.kube import Api, ApiError, Forbidden, Invalid, Kind, NotFound, kinds

T = TypeVar("T")

OPERATOR_LABELS = "app.kubernetes.io/name=nestor"
RIGHTS = (
    *((verb, "nestedappjobs", "") for verb in ("create", "get", "list", "watch", "patch", "delete")),
    ("get", "secrets", ""),
)
"""What the commands need in the user's namespace: verb, resource, subresource."""
JOB_RIGHTS = (
    ("get", "pods", "log"),
    ("get", "pods", ""),
    ("list", "pods", ""),
    ("watch", "pods", ""),
    ("get", "services", ""),
    ("create", "pods", "portforward"),
)
"""What `logs` and tunnels need in a job's own namespace."""


@dataclass(frozen=True)
class Installation:
    """The host cluster, as far as the user may see it."""

    server: str
    version: str
    namespace: str
    served: set[str]
    """Plurals of nestor.dev that the API server knows."""
    crds: dict[str, Object] | None = None
    """By plural."""
    operators: list[Object] | None = None
    """Deployments of the operator."""
    operator_pods: list[Object] = field(default_factory=list)
    classes: list[Object] | None = None
    ingress_classes: list[Object] | None = None
    storage_classes: list[Object] | None = None
    tls_secrets: dict[str, bool] = field(default_factory=dict)
    """By class: whether the class's TLS Secret is there; a class whose Secret may not be read is left out."""
    rights: dict[tuple[str, str, str], bool] = field(default_factory=dict)
    has_image_volumes: bool | None = None


@dataclass(frozen=True)
class JobFacts:
    """One job, with what is in its own namespace."""

    job: Object
    pods: list[Object] | None = None
    events: list[Object] | None = None
    """Warnings in the job's own namespace, the newest last."""
    rights: dict[tuple[str, str, str], bool] = field(default_factory=dict)


async def read_installation(session: Session) -> Installation:
    api = session.api
    version = await api.request("GET", "/version")
    crds, operators, classes, ingress_classes, storage_classes = await asyncio.gather(
        _allowed(_read_crds(api)),
        _allowed(api.list(kinds.DEPLOYMENT, labels=OPERATOR_LABELS)),
        _allowed(_list(api, kinds.NESTED_CLASS)),
        _allowed(api.list(kinds.INGRESS_CLASS)),
        _allowed(api.list(kinds.STORAGE_CLASS)),
    )
    served, volumes, rights = await asyncio.gather(
        _read_served(api), _has_image_volumes(api, session.namespace), read_rights(api, session.namespace, RIGHTS)
    )
    pods: list[Object] = []
    for operator in operators or ():
        pods += await _allowed(api.list(kinds.POD, operator["metadata"]["namespace"], labels=OPERATOR_LABELS)) or []
    return Installation(
        server=api.host,
        version=str(version.get("gitVersion", "")),
        namespace=session.namespace,
        served=served,
        crds=crds,
        operators=None if operators is None else [item for item in operators if is_operator(item)],
        operator_pods=pods,
        classes=classes,
        ingress_classes=ingress_classes,
        storage_classes=storage_classes,
        rights=rights,
        tls_secrets=await _read_tls_secrets(api, classes or [], operators or []),
        has_image_volumes=volumes,
    )


def is_operator(deployment: Object) -> bool:
    """Whether it is the operator's: the portal's has the chart's labels too, but its pods have a name of their own."""
    selected = (spec_of(deployment).get("selector") or {}).get("matchLabels") or {}
    return bool(selected.get("app.kubernetes.io/name", "nestor") == "nestor")


async def read_job(session: Session, job: Object) -> JobFacts:
    """A job's own namespace."""
    where = status_of(job).get("namespace")
    if not where:
        return JobFacts(job)
    pods, events, rights = await asyncio.gather(
        _allowed(session.api.list(kinds.POD, where, labels=labels.JOB_UID)),
        _allowed(session.api.list(kinds.EVENT, where, fields="type=Warning")),
        read_rights(session.api, where, JOB_RIGHTS),
    )
    return JobFacts(job, pods, events, rights)


async def read_rights(api: Api, namespace: str, wanted: tuple[tuple[str, str, str], ...]) -> dict[tuple[str, str, str], bool]:
    """The user's permissions in a namespace, as the API server reports them."""
    answers = await asyncio.gather(*[may(api, namespace, verb, resource, subresource=part) for verb, resource, part in wanted])
    return dict(zip(wanted, answers, strict=True))


async def _allowed(question: Awaitable[T]) -> T | None:
    """The answer, or None where the user may not ask."""
    try:
        return await question
    except Forbidden:
        return None


async def _list(api: Api, kind: Kind) -> list[Object]:
    """Like `Api.list`, with none of a kind that the cluster does not know."""
    try:
        return await api.list(kind)
    except NotFound:
        return []


async def _read_crds(api: Api) -> dict[str, Object]:
    found = await asyncio.gather(*[api.find(kinds.CRD, f"{resource.plural}.{labels.GROUP}") for resource in RESOURCES])
    return {resource.plural: crd for resource, crd in zip(RESOURCES, found, strict=True) if crd}


async def _read_served(api: Api) -> set[str]:
    try:
        answer = await api.request("GET", f"/apis/{kinds.NESTED_APP_JOB.api_version}")
    except NotFound:
        return set()
    return {item["name"] for item in answer.get("resources") or ()}


async def _has_image_volumes(api: Api, namespace: str) -> bool | None:
    """Tested by a dry-run pod: an API server without image volumes drops the volume's source or refuses the pod."""
    volume = {"name": "probe", "image": {"reference": "nestor.dev/probe:1", "pullPolicy": "IfNotPresent"}}
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"generateName": "nestor-probe-", "namespace": namespace},
        "spec": {"containers": [{"name": "probe", "image": "nestor.dev/probe:1"}], "volumes": [volume]},
    }
    try:
        answer = await api.request("POST", kinds.POD.path(namespace), {"dryRun": "All"}, body)
    except Invalid as error:
        return False if "volumes" in error.message else None
    except ApiError:
        return None
    volumes = {item["name"]: item for item in answer["spec"].get("volumes") or ()}
    return "image" in volumes.get("probe", {})


async def _read_tls_secrets(api: Api, classes: list[Object], operators: list[Object]) -> dict[str, bool]:
    found: dict[str, bool] = {}
    for item in classes:
        secret = (spec_of(item).get("expose") or {}).get("tlsSecretName")
        if not secret or not operators:
            continue
        try:
            where = operators[0]["metadata"]["namespace"]
            found[item["metadata"]["name"]] = await api.find(kinds.SECRET, secret, where) is not None
        except Forbidden:
            continue
    return found
