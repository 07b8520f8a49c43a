"""Values of Nestor's chart for a cluster of `devcluster.cluster`."""

from typing import Any

import nestor
from devcluster.cluster import ClusterInfo, settings

Object = dict[str, Any]

IMAGE = f"registry.nestor.localhost/nestor:{nestor.__version__}"
K3S_STAND_IN = "registry.nestor.localhost/k3s-stand-in:v1.36.3-k3s1"
MONITORING_NAMESPACE = "monitoring"
"""In the embedded cluster, the one whose pods may read the operator's metrics."""
DIGEST_ANNOTATION = "nestor.dev/image-digest"


def build_values(kind: str, info: ClusterInfo, image: str, digest: str | None = None) -> Object:
    """The values. `digest` makes the operator's pod new when the image behind its tag is."""
    repository, _, tag = image.rpartition(":")
    expose: Object = {"domain": info.domain, "ingressClassName": info.ingress_class, "port": info.http_url_port}
    if not info.ingress_class:
        del expose["ingressClassName"]
    if info.http_url_port == 80:
        del expose["port"]
    values: Object = {
        "image": {"repository": repository, "tag": tag},
        "defaultClass": {"profile": "Evaluation", "expose": expose},
    }
    operator: Object = {}
    if kind == "embedded":
        # Tests and conformance have classes whose jobs may have privileged pods.
        operator["allowPrivileged"] = True
        # Where the tests have their Prometheus.
        monitoring = {"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": MONITORING_NAMESPACE}}}
        values["metrics"] = {"enabled": True, "from": [monitoring]}
        # Steps alone use tools.
        values["image"] |= {"repository": f"{repository}-core", "runner": image}
        # Its Ingress controller runs on the machine, beside the cluster.
        link = f"{settings.MACHINE_IP.rpartition('.')[0]}.0/{settings.LINK_PREFIX}"
        expose["from"] = [link]
        # As are this machine's users, who reach Services directly; pods of the other node get to see the first one's address.
        values["defaultClass"]["network"] = {"apiFrom": ["*", link, settings.NODES_CIDR]}
        values["k3s"] = {"versions": [{"version": settings.KUBERNETES_VERSION, "image": K3S_STAND_IN}]}
    if digest:
        operator["podAnnotations"] = {DIGEST_ANNOTATION: digest}
    return values | ({"operator": operator} if operator else {})
