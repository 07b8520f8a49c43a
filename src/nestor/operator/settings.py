"""The operator's settings, each with the flag and the variable of its environment that give it."""

# ruff: noqa: RUF009 - `_flag` is a `field`

from __future__ import annotations

import argparse
import datetime
import ipaddress
import json
import os
import secrets
import socket
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field, fields
from typing import Any

from nestor.api.contracts.syncer import SERVER_SECONDS
from nestor.api.names import OWN_PULL_SECRET
from nestor.api.objects import Object
from nestor.cluster.pki import Lifetimes
from nestor.cluster.shape import HostDns

CORE_DNS_IMAGE = "docker.io/coredns/coredns:1.15.0"
PULL_POLICIES = ("Always", "IfNotPresent", "Never")
VNODE_FIELDS = frozenset({"nodeSelector", "priorityClassName", "tolerations"})
"""The fields of a pod's spec that admins may set for the pods that serve backends."""


def read_pull_policy(text: str) -> str:
    """Raises `ValueError` for what Kubernetes does not know."""
    if text not in PULL_POLICIES:
        raise ValueError(f"it is '{text}'")
    return text


def read_switch(text: str) -> bool:
    """Raises `ValueError` for anything but `true` and `false`."""
    if text not in ("true", "false"):
        raise ValueError(f"it is '{text}'")
    return text == "true"


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


Reader = tuple[Callable[[str], Any], str]
"""How a value is read, which may raise `ValueError`, and what it must be, for the message about that."""
TEXT: Reader = (str, "")
INTEGER: Reader = (int, "a whole number")
SECONDS: Reader = (float, "a number of seconds")
SWITCH: Reader = (read_switch, "true or false")
PULL_POLICY: Reader = (read_pull_policy, f"one of {', '.join(PULL_POLICIES)}")
VERSIONS: Reader = (read_versions, 'a JSON list such as [{"version": "v1.36", "image": "docker.io/rancher/k3s:v1.36.3-k3s1"}]')
NAMES: Reader = (read_names, "comma-separated names")
CIDRS: Reader = (read_cidrs, "comma-separated address ranges such as 10.96.0.0/12")
DNS: Reader = (read_dns, "a JSON object with namespaces, ports and ranges")
VNODE_POD: Reader = (read_vnode_pod, f"a JSON object with {', '.join(sorted(VNODE_FIELDS))}")


def _flag(default: str | Callable[[], str], text: str, reader: Reader = TEXT, *, name: str = "", variable: str = "") -> Any:
    """A setting, with what it is by default and means. Its flag has its name unless `name` says another, and the variable that of
    the flag unless `variable` does.
    """

    def find_default() -> str:
        return default if isinstance(default, str) else default()

    said = {"default": find_default, "text": text, "reader": reader, "name": name, "variable": variable}
    return field(default_factory=lambda: reader[0](find_default()), metadata=said)


def _in_seconds(time: datetime.timedelta) -> str:
    return str(int(time.total_seconds()))


@dataclass(frozen=True)
class Settings:
    """The settings in the operator's Deployment. Everything about jobs is in NestedClasses instead."""

    image: str = _flag("", "Nestor's own image, for syncers and runners (required)")
    runner_image: str = _flag("", "image of runners, if --image has no tools for steps")
    image_pull_policy: str = _flag("IfNotPresent", "when pods that serve backends pull it", PULL_POLICY)
    image_pull_secrets: tuple[str, ...] = _flag("", "comma-separated: Secrets of its namespace for pulling it", NAMES)
    k3s_versions: Mapping[str, str] = _flag(
        "[]", "JSON: the versions of Kubernetes that classes may offer, and K3s' images", VERSIONS
    )
    core_dns_image: str = _flag(CORE_DNS_IMAGE, "image of the nested clusters' DNS")
    namespace: str = _flag("nestor-system", "the operator's own namespace", variable="POD_NAMESPACE")
    service_cidrs: tuple[str, ...] = _flag(
        "", "the host's Service ranges, comma-separated; empty: detected", CIDRS, name="service-cidr"
    )
    port: int = _flag("8080", "port of /healthz and /readyz", INTEGER)
    lease: str = _flag("", "Lease in its namespace to hold; empty: it is the only operator")
    lease_seconds: float = _flag("15", "after so long without a renewal, the next one takes the Lease", SECONDS)
    place: str = _flag(_name_process, "its pod: whose Lease a new process in it need not await", variable="POD_NAME")
    workers: int = _flag("10", "jobs reconciled at the same time", INTEGER)
    force_after_seconds: float = _flag("45", "seconds until a deletion force-deletes what is left", SECONDS, name="force-after")
    give_up_after_seconds: float = _flag(
        "300", "seconds until a deletion gives up and leaves the namespace behind", SECONDS, name="give-up-after"
    )
    access_seconds: float = _flag(_in_seconds(Lifetimes().access), "validity of the clusters' own certificates", SECONDS)
    admin_seconds: float = _flag(_in_seconds(Lifetimes().admin), "validity of the certificates in users' kubeconfigs", SECONDS)
    server_seconds: int = _flag(str(SERVER_SECONDS), "how long K3s runs until it is restarted", INTEGER)
    network_probe: bool = _flag("true", "find out if the host enforces network policies: true or false", SWITCH)
    kueue: bool = _flag("false", "let Kueue decide when jobs of classes with `queue.kueue` start: true or false", SWITCH)
    dns: HostDns = _flag("{}", "JSON: where the host's DNS listens (namespaces, ports, ranges)", DNS)
    vnode_pod: Object = _flag("{}", "JSON: fields of the pods that serve backends", VNODE_POD)
    metrics: bool = _flag("false", "serve /metrics on the port: true or false", SWITCH)
    log_level: str = _flag("info", "debug, info, warning or error")
    log_format: str = _flag("text", "text or json")

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
    for item in fields(Settings):
        name = item.metadata["name"] or item.name.replace("_", "-")
        word = name.replace("-", "_").upper()
        variable = item.metadata["variable"] or f"NESTOR_{word}"
        default = item.metadata["default"]()
        words = f"{item.metadata['text']} [{variable}, default: '{default}']"
        parser.add_argument(f"--{name}", dest=item.name, metavar=word, default=os.environ.get(variable) or default, help=words)
        ways[item.name] = f"{variable} or --{name}"
    given: dict[str, str] = vars(parser.parse_args(arguments))
    if not given["image"]:
        parser.error("NESTOR_IMAGE or --image must be set: syncers and runners use this image")
    found: dict[str, Any] = {}
    for item in fields(Settings):
        read, must = item.metadata["reader"]
        try:
            found[item.name] = read(given[item.name])
        except ValueError as error:
            parser.error(f"{ways[item.name]} must be {must}: {error}")
    return Settings(**found)
