"""What a user tries who may write Ingresses and routes in a namespace of their own, to get the hosts of jobs, as data: each is a
row of docs/evidence/attacks.md.

The names in the bodies are those of `test_squatting.py`, whose world has all that is attacked.
"""

from typing import Any, Literal

from nestor.api.objects import Object
from nestor.kube import Kind, kinds
from tests.integration.operator.stolen import STRANGER, Attack

DOMAIN, LISTED, BELOW = "jobs.test", "shop.example.org", "apps.example.net"
"""The domain of one class, and what another one, without a domain, allows: a host, and all hosts below another."""
HOST = f"hello-team-a.{DOMAIN}"
"""The default host of somebody's job."""
REFUSED = "is one of those that NestedClass"


def ingress(*hosts: str, certificate: str = "", **spec: Any) -> Object:
    """Rules for some hosts, and perhaps a certificate for another."""
    backend = {"service": {"name": "web", "port": {"number": 80}}}
    http = {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]}
    tls = {"tls": [{"hosts": [certificate], "secretName": "tls"}]} if certificate else {}
    return {"spec": {"rules": [{"host": host, "http": http} for host in hosts], **tls, **spec}}


def route(*hosts: str) -> Object:
    """An HTTPRoute of some hosts."""
    return {"spec": {"parentRefs": [{"name": "public"}], "hostnames": list(hosts), "rules": []}}


def attack(
    name: str, says: str, body: Object, verb: Literal["create", "patch"] = "create", target: str = "x", kind: Kind = kinds.INGRESS
) -> Attack:
    """One request of the user's."""
    return Attack(name, says, verb, kind, target, STRANGER, REFUSED, body)


ATTACKS = (
    attack("host-squatted", "the default host of somebody's job, before the job is there", ingress(HOST)),
    attack("host-among-others", "the same, among many hosts", ingress("one.test", "two.test", HOST)),
    attack("host-patched", "the host of a running job, by an Ingress that is older than the job's", ingress(HOST), "patch",
           "older"),
    attack("host-added", "the same, by an Ingress that has another host of jobs since before the class was there",
           ingress(f"kept.{DOMAIN}", HOST), "patch", "kept"),
    attack("host-deeper", "a host further below the class's domain, which a job may request", ingress(f"a.b.{DOMAIN}")),
    attack("host-wildcard", "all hosts below the class's domain that are nobody's yet", ingress(f"*.{DOMAIN}")),
    attack("host-wildcard-above", "the same, by a wildcard that covers the domain, too", ingress("*.test")),
    attack("host-certificate", "a certificate for the host of a job", ingress("own.test", certificate=HOST)),
    attack("host-listed", "a host that a class allows jobs to request", ingress(LISTED)),
    attack("host-listed-wildcard", "a wildcard that covers such a host", ingress("*.example.org")),
    attack("host-below-listed", "a host below one whose hosts a class allows", ingress(f"x.{BELOW}")),
    attack("route-squatted", "the default host of somebody's job, by an HTTPRoute", route("own.test", HOST),
           kind=kinds.HTTP_ROUTE),
    attack("route-patched", "the host of a running job, by an older HTTPRoute", route(HOST), "patch", "older", kinds.HTTP_ROUTE),
    attack("route-wildcard", "all hosts below the class's domain, by an HTTPRoute", route(f"*.{DOMAIN}"), kind=kinds.HTTP_ROUTE),
)  # fmt: skip
