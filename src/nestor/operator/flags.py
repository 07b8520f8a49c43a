"""The operator's flags, and the variables of its environment that stand for them: how its settings are read."""

from __future__ import annotations

import argparse
import datetime
import ipaddress
import json
import os
import secrets
import socket
from collections.abc import Callable, Set
from dataclasses import dataclass
from typing import Any

from nestor.api.contracts.syncer import SERVER_SECONDS, SERVER_SECONDS_VARIABLE
from nestor.api.objects import Object
from nestor.cluster.pki import Lifetimes
from nestor.cluster.shape import HostDns
from nestor.operator.settings import CORE_DNS_IMAGE, Settings

INTEGER = "a whole number"
SECONDS = "a number of seconds"
SWITCH = "true or false"
PULL_POLICIES = ("Always", "IfNotPresent", "Never")
VNODE_FIELDS = frozenset({"imagePullSecrets", "nodeSelector", "priorityClassName", "tolerations"})
"""The fields of a pod's spec that admins may set for the pods that serve backends."""


@dataclass(frozen=True)
class Flag:
    """A flag, and the variable that stands for it."""

    name: str
    variable: str
    default: str | Callable[[], str]
    """What it says where neither is set."""
    text: str
    read: Callable[[str], Any] = str
    """Its value. Raises `ValueError`."""
    must: str = ""
    """What it must be, for the message about that error."""
    field: str = ""
    """The field of `Settings`, if it is not called as the flag is."""

    @property
    def key(self) -> str:
        """Its name as argparse has it."""
        return self.name.removeprefix("--").replace("-", "_")


def read_pull_policy(text: str) -> str:
    """When an image is pulled. Raises `ValueError` for what Kubernetes does not know."""
    if text not in PULL_POLICIES:
        raise ValueError(f"it is '{text}'")
    return text


def read_switch(text: str) -> bool:
    """`true` or `false`. Raises `ValueError` for anything else."""
    if text not in ("true", "false"):
        raise ValueError(f"it is '{text}'")
    return text == "true"


def read_versions(text: str) -> dict[str, str]:
    """The image of K3s for each version. Raises `ValueError`."""
    found = json.loads(text)
    if not isinstance(found, list) or not all(isinstance(item, dict) and item.keys() == {"version", "image"} for item in found):
        raise ValueError("it is no list of objects with `version` and `image`")
    return {item["version"]: item["image"] for item in found}


def read_cidrs(text: str) -> tuple[str, ...]:
    """Comma-separated address ranges. Raises `ValueError`: with invalid ranges, no cluster's network policies could be built."""
    return tuple(str(ipaddress.ip_network(part.strip())) for part in text.split(",") if part.strip())


def read_dns(text: str) -> HostDns:
    """Where the host's DNS listens; an empty list says nothing. Raises `ValueError`: no policy could be built from nonsense."""
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


def _in_seconds(time: datetime.timedelta) -> str:
    return str(int(time.total_seconds()))


FLAGS = (
    Flag("--image", "NESTOR_IMAGE", "", "Nestor's own image, for syncers and runners (required)"),
    Flag("--runner-image", "NESTOR_RUNNER_IMAGE", "", "image of runners, if --image has no tools for steps"),
    Flag(
        "--image-pull-policy",
        "NESTOR_IMAGE_PULL_POLICY",
        "IfNotPresent",
        "when pods that serve backends pull it",
        read_pull_policy,
        f"one of {', '.join(PULL_POLICIES)}",
    ),
    Flag(
        "--k3s-versions",
        "NESTOR_K3S_VERSIONS",
        "[]",
        "JSON: the versions of Kubernetes that classes may offer, and K3s' images",
        read_versions,
        'a JSON list such as [{"version": "v1.36", "image": "docker.io/rancher/k3s:v1.36.2-k3s1"}]',
    ),
    Flag("--core-dns-image", "NESTOR_CORE_DNS_IMAGE", CORE_DNS_IMAGE, "image of the nested clusters' DNS"),
    Flag("--namespace", "POD_NAMESPACE", "nestor-system", "the operator's own namespace"),
    Flag(
        "--service-cidr",
        "NESTOR_SERVICE_CIDR",
        "",
        "the host's Service ranges, comma-separated; empty: detected",
        read_cidrs,
        "comma-separated address ranges such as 10.96.0.0/12",
        field="service_cidrs",
    ),
    Flag("--port", "NESTOR_PORT", "8080", "port of /healthz and /readyz", int, INTEGER),
    Flag("--lease", "NESTOR_LEASE", "", "Lease in its namespace to hold; empty: it is the only operator"),
    Flag(
        "--lease-seconds",
        "NESTOR_LEASE_SECONDS",
        "15",
        "after so long without a renewal, the next one takes the Lease",
        float,
        SECONDS,
    ),
    Flag("--place", "POD_NAME", _name_process, "its pod: whose Lease a new process in it need not await"),
    Flag("--workers", "NESTOR_WORKERS", "10", "jobs reconciled at the same time", int, INTEGER),
    Flag(
        "--force-after",
        "NESTOR_FORCE_AFTER",
        "45",
        "seconds until a deletion force-deletes what is left",
        float,
        SECONDS,
        field="force_after_seconds",
    ),
    Flag(
        "--give-up-after",
        "NESTOR_GIVE_UP_AFTER",
        "300",
        "seconds until a deletion gives up and leaves the namespace behind",
        float,
        SECONDS,
        field="give_up_after_seconds",
    ),
    Flag(
        "--access-seconds",
        "NESTOR_ACCESS_SECONDS",
        _in_seconds(Lifetimes().access),
        "validity of the clusters' own certificates",
        float,
        SECONDS,
    ),
    Flag(
        "--admin-seconds",
        "NESTOR_ADMIN_SECONDS",
        _in_seconds(Lifetimes().admin),
        "validity of the certificates in users' kubeconfigs",
        float,
        SECONDS,
    ),
    Flag(
        "--server-seconds", SERVER_SECONDS_VARIABLE, str(SERVER_SECONDS), "how long K3s runs until it is restarted", int, INTEGER
    ),
    Flag(
        "--network-probe",
        "NESTOR_NETWORK_PROBE",
        "true",
        "find out if the host enforces network policies: true or false",
        read_switch,
        SWITCH,
    ),
    Flag(
        "--kueue",
        "NESTOR_KUEUE",
        "false",
        "let Kueue decide when jobs of classes with `queue.kueue` start: true or false",
        read_switch,
        SWITCH,
    ),
    Flag(
        "--dns",
        "NESTOR_DNS",
        "{}",
        "JSON: where the host's DNS listens (namespaces, ports, ranges)",
        read_dns,
        "a JSON object with namespaces, ports and ranges",
    ),
    Flag(
        "--vnode-pod",
        "NESTOR_VNODE_POD",
        "{}",
        "JSON: fields of the pods that serve backends",
        read_vnode_pod,
        f"a JSON object with {', '.join(sorted(VNODE_FIELDS))}",
    ),
    Flag("--metrics", "NESTOR_METRICS", "false", "serve /metrics on the port: true or false", read_switch, SWITCH),
    Flag("--log-level", "NESTOR_LOG_LEVEL", "info", "debug, info, warning or error"),
    Flag("--log-format", "NESTOR_LOG_FORMAT", "text", "text or json"),
)


def read_settings(arguments: list[str]) -> Settings:
    """Flags win over the environment. What is wrong ends the process, with a message."""
    parser = argparse.ArgumentParser(prog="nestor operator", description="Reconcile NestedAppJobs.")
    for flag in FLAGS:
        default = flag.default if isinstance(flag.default, str) else flag.default()
        parser.add_argument(
            flag.name,
            default=os.environ.get(flag.variable) or default,
            help=f"{flag.text} [{flag.variable}, default: '{default}']",
        )
    given: dict[str, str] = vars(parser.parse_args(arguments))
    if not given["image"]:
        parser.error("NESTOR_IMAGE or --image must be set: syncers and runners use this image")
    found: dict[str, Any] = {}
    for flag in FLAGS:
        try:
            found[flag.field or flag.key] = flag.read(given[flag.key])
        except ValueError as error:
            parser.error(f"{flag.variable} or {flag.name} must be {flag.must}: {error}")
    return Settings(**found)
