"""The operator's settings, from flags or the environment."""

from __future__ import annotations

import argparse
import datetime
import ipaddress
import json
import os
import secrets
import socket
from collections.abc import Callable
from dataclasses import field
from typing import TypeVar

from nestor.cluster.pki import Lifetimes
from nestor.cluster.shape import HostDns
from nestor.contracts.syncer import SERVER_SECONDS, SERVER_SECONDS_VARIABLE
from nestor.objects import Object
from nestor.values import dataclass

T = TypeVar("T")

PULL_POLICIES = ("Always", "IfNotPresent", "Never")
VNODE_FIELDS = frozenset({"imagePullSecrets", "nodeSelector", "priorityClassName", "tolerations"})


@dataclass(frozen=True)
class Settings:
    """The settings in the operator's Deployment. Everything about jobs is in NestedClasses instead."""

    image: str
    """Nestor's image, for the syncers and runners, and for what serves backends."""
    runner_image: str = ""
    """The image of runners, with the tools that steps use; empty: the same."""
    image_pull_policy: str = "IfNotPresent"
    """When the pods that serve backends pull it."""
    namespace: str = "nestor-system"
    """The operator's own namespace: TLS Secrets of classes are read from it."""
    service_cidrs: tuple[str, ...] = ()
    """The host cluster's Service ranges; empty: read from the host (ServiceCIDR, Kubernetes 1.33 and later)."""
    port: int = 8080
    """Port of /healthz, /readyz and, with `metrics`, /metrics."""
    lease: str = ""
    """The Lease in its namespace that it must hold to do anything; empty: there is no second operator."""
    lease_seconds: float = 15
    """After so long without a renewal, the next operator takes the Lease."""
    place: str = ""
    """Its pod: a new process in it does not wait for the Lease of the old one."""
    workers: int = 10
    """Jobs reconciled at the same time."""
    force_after_seconds: float = 45
    """How long a deletion may take before what is left is force-deleted."""
    give_up_after_seconds: float = 300
    """How long a deletion may take before a stuck namespace is left behind, with an event that says so."""
    access_seconds: float = Lifetimes().access.total_seconds()
    """How long the certificates of a cluster's own processes are valid."""
    admin_seconds: float = Lifetimes().admin.total_seconds()
    """How long the certificates in users' kubeconfigs are valid."""
    server_seconds: int = SERVER_SECONDS
    """How long K3s may run before its container is restarted."""
    network_probe: bool = False
    """Whether to find out if the host enforces network policies."""
    kueue: bool = False
    """Whether Kueue may decide when jobs start."""
    dns: HostDns = field(default_factory=HostDns)
    """Where the host's DNS listens."""
    vnode_pod: Object = field(default_factory=dict)
    """What admins say about the pods that serve backends, as fields of a pod's spec: see `VNODE_FIELDS`."""
    metrics: bool = False
    """Whether /metrics is served."""
    log_level: str = "info"
    log_format: str = "text"

    @property
    def image_with_tools(self) -> str:
        """The image in which steps run."""
        return self.runner_image or self.image

    @property
    def lifetimes(self) -> Lifetimes:
        """How long certificates are valid."""
        return Lifetimes(datetime.timedelta(seconds=self.access_seconds), datetime.timedelta(seconds=self.admin_seconds))


def read_settings(arguments: list[str]) -> Settings:
    """Flags win over the environment."""
    parser = argparse.ArgumentParser(prog="nestor operator", description="Reconcile NestedAppJobs and NestedClusters.")
    _add(parser, "--image", "NESTOR_IMAGE", "", "Nestor's own image, for syncers and runners (required)")
    _add(parser, "--runner-image", "NESTOR_RUNNER_IMAGE", "", "image of runners, if --image has no tools for steps")
    _add(parser, "--image-pull-policy", "NESTOR_IMAGE_PULL_POLICY", "IfNotPresent", "when pods that serve backends pull it")
    _add(parser, "--namespace", "POD_NAMESPACE", "nestor-system", "the operator's own namespace")
    _add(parser, "--service-cidr", "NESTOR_SERVICE_CIDR", "", "the host's Service ranges, comma-separated; empty: detected")
    _add(parser, "--port", "NESTOR_PORT", "8080", "port of /healthz and /readyz")
    _add(parser, "--lease", "NESTOR_LEASE", "", "Lease in its namespace to hold; empty: it is the only operator")
    _add(parser, "--lease-seconds", "NESTOR_LEASE_SECONDS", "15", "after so long without a renewal, the next one takes the Lease")
    # Two processes of one machine are no pod: each would take the other's Lease for its own earlier one.
    nowhere = f"{socket.gethostname()}-{secrets.token_hex(4)}"
    _add(parser, "--place", "POD_NAME", nowhere, "its pod: whose Lease a new process in it need not await")
    _add(parser, "--workers", "NESTOR_WORKERS", "10", "jobs reconciled at the same time")
    _add(parser, "--force-after", "NESTOR_FORCE_AFTER", "45", "seconds until a deletion force-deletes what is left")
    _add(
        parser,
        "--give-up-after",
        "NESTOR_GIVE_UP_AFTER",
        "300",
        "seconds until a deletion gives up and leaves the namespace behind",
    )
    seconds = {name: str(int(value.total_seconds())) for name, value in vars(Lifetimes()).items()}
    _add(parser, "--access-seconds", "NESTOR_ACCESS_SECONDS", seconds["access"], "validity of the clusters' own certificates")
    _add(
        parser, "--admin-seconds", "NESTOR_ADMIN_SECONDS", seconds["admin"], "validity of the certificates in users' kubeconfigs"
    )
    _add(parser, "--server-seconds", SERVER_SECONDS_VARIABLE, str(SERVER_SECONDS), "how long K3s runs until it is restarted")
    _add(
        parser, "--network-probe", "NESTOR_NETWORK_PROBE", "true", "find out if the host enforces network policies: true or false"
    )
    _add(parser, "--kueue", "NESTOR_KUEUE", "false", "let Kueue decide when jobs start, where classes say so: true or false")
    _add(parser, "--dns", "NESTOR_DNS", "{}", "JSON: where the host's DNS listens (namespaces, ports, ranges)")
    _add(parser, "--vnode-pod", "NESTOR_VNODE_POD", "{}", "JSON: fields of the pods that serve backends")
    _add(parser, "--metrics", "NESTOR_METRICS", "false", "serve /metrics on the port: true or false")
    _add(parser, "--log-level", "NESTOR_LOG_LEVEL", "info", "debug, info, warning or error")
    _add(parser, "--log-format", "NESTOR_LOG_FORMAT", "text", "text or json")
    parsed = parser.parse_args(arguments)
    if not parsed.image:
        parser.error("NESTOR_IMAGE or --image must be set: syncers and runners use this image")
    if parsed.image_pull_policy not in PULL_POLICIES:
        parser.error(f"NESTOR_IMAGE_PULL_POLICY or --image-pull-policy must be one of {', '.join(PULL_POLICIES)}")
    cidrs = _parse(
        parser,
        read_cidrs,
        parsed.service_cidr,
        "NESTOR_SERVICE_CIDR or --service-cidr must be comma-separated address ranges such as 10.96.0.0/12",
    )
    fields = ", ".join(sorted(VNODE_FIELDS))
    vnode_pod = _parse(
        parser, read_vnode_pod, parsed.vnode_pod, f"NESTOR_VNODE_POD or --vnode-pod must be a JSON object with {fields}"
    )
    dns = _parse(parser, read_dns, parsed.dns, "NESTOR_DNS or --dns must be a JSON object with namespaces, ports and ranges")
    if parsed.network_probe not in ("true", "false"):
        parser.error("NESTOR_NETWORK_PROBE or --network-probe must be true or false")
    if parsed.metrics not in ("true", "false"):
        parser.error("NESTOR_METRICS or --metrics must be true or false")
    if parsed.kueue not in ("true", "false"):
        parser.error("NESTOR_KUEUE or --kueue must be true or false")
    return Settings(
        image=parsed.image,
        runner_image=parsed.runner_image,
        image_pull_policy=parsed.image_pull_policy,
        namespace=parsed.namespace,
        service_cidrs=cidrs,
        port=int(parsed.port),
        lease=parsed.lease,
        lease_seconds=float(parsed.lease_seconds),
        place=parsed.place,
        workers=int(parsed.workers),
        force_after_seconds=float(parsed.force_after),
        give_up_after_seconds=float(parsed.give_up_after),
        access_seconds=float(parsed.access_seconds),
        admin_seconds=float(parsed.admin_seconds),
        server_seconds=int(parsed.server_seconds),
        network_probe=parsed.network_probe == "true",
        kueue=parsed.kueue == "true",
        dns=dns,
        vnode_pod=vnode_pod,
        metrics=parsed.metrics == "true",
        log_level=parsed.log_level,
        log_format=parsed.log_format,
    )


def read_cidrs(text: str) -> tuple[str, ...]:
    """Comma-separated address ranges. Raises `ValueError`: with invalid ranges, no cluster's network policies could be built."""
    return tuple(str(ipaddress.ip_network(part.strip())) for part in text.split(",") if part.strip())


def read_dns(text: str) -> HostDns:
    """Where the host's DNS listens; an empty list says nothing. Raises `ValueError`: no policy could be built from nonsense."""
    found = json.loads(text)
    if not isinstance(found, dict):
        raise ValueError("it is no object")
    if unknown := found.keys() - {"namespaces", "ports", "ranges"}:
        raise ValueError(f"unknown: {', '.join(sorted(unknown))}")
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
    found = json.loads(text)
    if not isinstance(found, dict):
        raise ValueError("it is no object")
    if unknown := found.keys() - VNODE_FIELDS:
        raise ValueError(f"unknown: {', '.join(sorted(unknown))}")
    return {key: value for key, value in found.items() if value}


def _parse(parser: argparse.ArgumentParser, read: Callable[[str], T], text: str, fault: str) -> T:
    """What the text says; a fault in it ends the process."""
    try:
        return read(text)
    except ValueError as error:
        parser.error(f"{fault}: {error}")


def _add(parser: argparse.ArgumentParser, flag: str, variable: str, default: str, text: str) -> None:
    parser.add_argument(flag, default=os.environ.get(variable) or default, help=f"{text} [{variable}, default: '{default}']")
