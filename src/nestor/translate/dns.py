"""DNS settings of host pods: they use the nested DNS server and the search domains of the nested namespace."""

from __future__ import annotations

from nestor.objects import Object
from nestor.translate.target import Target

_NAMESERVERS, _SEARCHES = 3, 32  # the API's maximum


def build_dns(pod: Object, target: Target) -> Object:
    """`dnsPolicy` and `dnsConfig` of the host pod. `ClusterFirst` would mean the host's DNS there, so it is spelled out."""
    spec = pod["spec"]
    policy, own = spec.get("dnsPolicy") or "ClusterFirst", spec.get("dnsConfig") or {}
    if policy == "ClusterFirst" and spec.get("hostNetwork"):
        policy = "Default"  # as on any kubelet
    if policy in ("Default", "None"):
        return {"dnsPolicy": policy} | ({"dnsConfig": own} if own else {})
    domain = f"svc.{target.domain}"
    searches = [f"{pod['metadata']['namespace']}.{domain}", domain, target.domain]
    options = {item["name"]: item for item in [{"name": "ndots", "value": "5"}, *(own.get("options") or [])]}
    return {
        "dnsPolicy": "None",
        "dnsConfig": {
            "nameservers": _unique([target.dns_ip, *(own.get("nameservers") or [])])[:_NAMESERVERS],
            "searches": _unique([*searches, *(own.get("searches") or [])])[:_SEARCHES],
            "options": list(options.values()),
        },
    }


def _unique(items: list[str]) -> list[str]:
    return list(dict.fromkeys(items))
