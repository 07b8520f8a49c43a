"""The operator's settings, each with the flag and the variable of its environment that give it."""

import argparse
import datetime
import ipaddress
import json
import os
import secrets
import socket
from collections.abc import Callable, Mapping, Set
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, Field, ValidationError

from nestor.api import faults
from nestor.api.contracts.syncer import SERVER_SECONDS
from nestor.api.names import OWN_PULL_SECRET
from nestor.api.objects import Object
from nestor.cluster.pki import Lifetimes
from nestor.cluster.shape import HostDns

VNODE_FIELDS = frozenset({"nodeSelector", "priorityClassName", "tolerations"})
"""The fields of a pod's spec that admins may set for the pods that serve backends."""


def read_versions(text: str) -> dict[str, str]:
    """The image of K3s for each version. Raises `ValueError`."""
    found = json.loads(text)
    if not isinstance(found, list) or not all(isinstance(item, dict) and item.keys() == {"version", "image"} for item in found):
        raise ValueError("it is no list of objects with `version` and `image`")
    return {item["version"]: item["image"] for item in found}


def read_names(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def read_cidrs(text: str) -> tuple[str, ...]:
    """Comma-separated address ranges. Raises `ValueError`: with invalid ranges, no cluster's network policies could be built."""
    return tuple(str(ipaddress.ip_network(part)) for part in read_names(text))


def read_dns(text: str) -> HostDns:
    """An empty list says nothing. Raises `ValueError`: no policy could be built from nonsense."""
    found = _read_object(text, {"namespaces", "ports", "ranges"})
    ports = tuple(int(port) for port in found.get("ports") or ())
    if any(not 0 < port < 65536 for port in ports):
        raise ValueError("a port must be from 1 to 65535")
    known = HostDns()
    return HostDns(
        namespaces=tuple(str(name) for name in found.get("namespaces") or known.namespaces),
        ports=ports or known.ports,
        ranges=read_cidrs(",".join(found.get("ranges") or ())),
    )


def read_vnode_pod(text: str) -> Object:
    """Fields of a pod's spec; empty ones are left out. Raises `ValueError` for others: this is no way to change the container."""
    return {key: value for key, value in _read_object(text, VNODE_FIELDS).items() if value}


def _read_object(text: str, known: Set[str]) -> Object:
    found = json.loads(text)
    if not isinstance(found, dict):
        raise ValueError("it is no object")
    if unknown := found.keys() - known:
        raise ValueError(f"unknown: {', '.join(sorted(unknown))}")
    return found


def _name_process() -> str:
    """Two processes of one machine are no pod: each would take the other's Lease for its own earlier one."""
    return f"{socket.gethostname()}-{secrets.token_hex(4)}"


def _read_by(read: Callable[[str], Any]) -> BeforeValidator:
    return BeforeValidator(lambda value: read(value) if isinstance(value, str) else value)


VARIABLES = {"namespace": "POD_NAMESPACE", "place": "POD_NAME"}
"""Of the environment, where they are not named as the settings are."""


class Settings(BaseModel, frozen=True):
    """The settings in the operator's Deployment. Everything about jobs is in NestedClasses instead."""

    image: str = Field(description="Nestor's own image, for syncers and runners (required)")
    runner_image: str = Field("", description="image of runners, if --image has no tools for steps")
    image_pull_policy: Literal["Always", "IfNotPresent", "Never"] = Field(
        "IfNotPresent", description="when pods that serve backends pull it"
    )
    image_pull_secrets: Annotated[tuple[str, ...], _read_by(read_names)] = Field(
        (), description="comma-separated: Secrets of its namespace for pulling it"
    )
    k3s_versions: Annotated[Mapping[str, str], _read_by(read_versions)] = Field(
        {}, description="JSON: the versions of Kubernetes that classes may offer, and K3s' images"
    )
    core_dns_image: str = Field("docker.io/coredns/coredns:1.15.0", description="image of the nested clusters' DNS")
    namespace: str = Field("nestor-system", description="the operator's own namespace")
    service_cidr: Annotated[tuple[str, ...], _read_by(read_cidrs)] = Field(
        (), description="the host's Service ranges, comma-separated; empty: detected"
    )
    port: int = Field(8080, description="port of /healthz and /readyz")
    lease: str = Field("", description="Lease in its namespace to hold; empty: it is the only operator")
    lease_seconds: float = Field(15, description="after so long without a renewal, the next one takes the Lease")
    place: str = Field(default_factory=_name_process, description="its pod: whose Lease a new process in it need not await")
    workers: int = Field(10, description="jobs reconciled at the same time")
    force_after: float = Field(45, description="seconds until a deletion force-deletes what is left")
    give_up_after: float = Field(300, description="seconds until a deletion gives up and leaves the namespace behind")
    access_seconds: float = Field(Lifetimes().access.total_seconds(), description="validity of the clusters' own certificates")
    admin_seconds: float = Field(
        Lifetimes().admin.total_seconds(), description="validity of the certificates in users' kubeconfigs"
    )
    server_seconds: int = Field(SERVER_SECONDS, description="how long K3s runs until it is restarted")
    network_probe: bool = Field(True, description="find out if the host enforces network policies: true or false")
    kueue: bool = Field(False, description="let Kueue decide when jobs of classes with `queue.kueue` start: true or false")
    activator: bool = Field(False, description="let jobs sleep: the activator answers for them: true or false")
    dns: Annotated[HostDns, _read_by(read_dns)] = Field(
        HostDns(), description="JSON: where the host's DNS listens (namespaces, ports, ranges)"
    )
    vnode_pod: Annotated[Object, _read_by(read_vnode_pod)] = Field({}, description="JSON: fields of the pods that serve backends")
    metrics: bool = Field(False, description="serve /metrics on the port: true or false")
    log_level: str = Field("info", description="debug, info, warning or error")
    log_format: str = Field("text", description="text or json")

    @property
    def image_with_tools(self) -> str:
        return self.runner_image or self.image

    @property
    def pulls(self) -> Object:
        """What pods of Nestor's images say in namespaces other than its own, so that nodes can pull them."""
        return {"imagePullSecrets": [{"name": OWN_PULL_SECRET}]} if self.image_pull_secrets else {}

    @property
    def lifetimes(self) -> Lifetimes:
        return Lifetimes(datetime.timedelta(seconds=self.access_seconds), datetime.timedelta(seconds=self.admin_seconds))


def read_settings(arguments: list[str]) -> Settings:
    """Flags win over the environment. What is wrong ends the process, with a message."""
    parser = argparse.ArgumentParser(prog="nestor operator", description="Reconcile NestedAppJobs.")
    ways = {}
    for name, info in Settings.model_fields.items():
        flag, variable = f"--{name.replace('_', '-')}", VARIABLES.get(name, f"NESTOR_{name.upper()}")
        ways[name] = f"{variable}` or `{flag}"
        parser.add_argument(flag, default=os.environ.get(variable) or None, help=f"{info.description} [{variable}]")
    given = {name: text for name, text in vars(parser.parse_args(arguments)).items() if text is not None}
    try:
        return Settings(**given)
    except ValidationError as error:
        found = ((ways[str(fault["loc"][0])], fault) for fault in error.errors(include_url=False))
        parser.error(faults.join([faults.tell(fault | {"loc": fault["loc"][1:]}, way) for way, fault in found]))
