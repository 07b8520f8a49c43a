"""The Secret by which an Argo CD in the host cluster knows the nested cluster of a job. Pure.

Its form is Argo CD's own (declarative clusters). It belongs to the job's namespace, and so is deleted with that whatever happens.
"""

import datetime
import json
from dataclasses import dataclass
from functools import cached_property

from nestor.api import labels, names
from nestor.api.allowances import ArgoCDPolicy
from nestor.api.contracts.cluster import ARGOCD_USER
from nestor.api.objects import Object
from nestor.cluster import certificates, pki
from nestor.cluster.home import Home, build_secret, encode
from nestor.cluster.pki import Authorities, Lifetimes

SECRET_TYPE = {"argocd.argoproj.io/secret-type": "cluster"}
"""The label by which Argo CD finds it."""
_ARGO = "argoproj.io"


@dataclass(frozen=True)
class Registration:
    """One job's cluster, as Argo CD is to know it."""

    home: Home
    class_name: str
    policy: ArgoCDPolicy

    @property
    def name(self) -> str:
        """Of the Secret: no other job, nor a later one of the same name, has the same."""
        return self.home.namespace

    @property
    def server(self) -> str:
        """The address of the nested API server. By name: its IP address may be another cluster's later on, this never is."""
        return f"https://{self.home.server_host}"

    @cached_property
    def metadata(self) -> Object:
        """Metadata of the Secret, without what is said of its certificate."""
        own = {key: value for key, value in self.policy.labels.items() if not _is_reserved(key)}
        marks = self.home.labels | SECRET_TYPE | {labels.CLUSTER: self.home.name[:63], labels.CLASS: self.class_name[:63]}
        found: Object = {"name": self.name, "namespace": self.policy.namespace, "labels": own | marks}
        if self.home.nodes_binding_owner:
            found["ownerReferences"] = [self.home.nodes_binding_owner]
        return found

    @cached_property
    def data(self) -> dict[str, str]:
        """The Secret's data without its credentials, as it has them."""
        policy = self.policy
        texts = {"name": f"{self.home.labels[labels.JOB_NAMESPACE]}.{self.home.labels[labels.JOB]}", "server": self.server}
        if policy.project:
            texts["project"] = policy.project
        if not policy.is_whole:
            texts |= {"namespaces": ",".join(sorted(set(policy.namespaces))), "clusterResources": "false"}
        return encode({key: text.encode() for key, text in texts.items()})

    def content_key(self, authorities: Authorities) -> str:
        """Changes whenever the Secret must be written anew before its certificate ends."""
        said = json.dumps([self.metadata, self.data], sort_keys=True)
        return names.digest(pki.content_key(authorities, self.server), said, length=16)

    def build_secret(self, authorities: Authorities, now: datetime.datetime, lifetimes: Lifetimes) -> Object:
        """The Secret with a fresh certificate, which is as short-lived as those in users' kubeconfigs."""
        client = certificates.new_leaf(authorities.access, ARGOCD_USER, now, lifetimes.admin)
        keys = {"caData": authorities.server.certificate, "certData": client.certificate, "keyData": client.key}
        tls = encode(keys) | {"serverName": pki.TLS_SERVER_NAME}
        config = json.dumps({"tlsClientConfig": tls}).encode()
        marks = pki.renewal_annotations(self.content_key(authorities), now + lifetimes.admin_renewal)
        made = build_secret(self.metadata, {"config": config}, annotations=marks)
        return made | {"data": self.data | made["data"]}


def _is_reserved(key: str) -> bool:
    domain = key.partition("/")[0] if "/" in key else ""
    return labels.is_reserved(key) or domain == _ARGO or domain.endswith(f".{_ARGO}")
