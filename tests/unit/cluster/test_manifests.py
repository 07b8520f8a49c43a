"""Every manifest as it is applied, compared with tests/golden. NESTOR_REWRITE_GOLDEN=1 writes them anew."""

import base64
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from nestor.api.policies import Persistence
from nestor.cluster import coredns, home, namespace, policies, server
from nestor.operator import oneshot
from nestor.operator.job import runner_pod as runner
from nestor.operator.settings import Settings
from tests.unit.cluster.exposure import test_ingress
from tests.unit.operator.builders import build_resolved, build_shape

Object = dict[str, Any]
GOLDEN = Path(__file__).parents[2] / "golden"

POLICY = {
    "namespace": {
        "quota": {"requests.cpu": "4", "limits.memory": "8Gi", "pods": "50", "count/services": "10"},
        "defaultResources": {"requests": {"cpu": "10m"}, "limits": {"memory": "256Mi"}},
    }
}


def build_namespace() -> list[Object]:
    """The job's namespace and its limits."""
    shape = build_shape(policy=POLICY)
    own = [*(item["resources"] for item in server.list_starting(shape)), oneshot.RUNNER_RESOURCES]
    return [
        namespace.build_namespace(shape.namespace, shape.labels, shape.policy),
        namespace.build_quota(shape, own),
        namespace.build_limit_range(shape),
    ]


def build_runner() -> list[Object]:
    """The runner's plan and pod."""
    resolved = build_resolved()
    plan = resolved.build_plan("image:registry.test/hello:1", 0)
    (secret,) = runner.build_secrets(resolved, plan)
    readable = {key: base64.b64decode(value).decode() for key, value in secret["data"].items()}
    return [secret | {"data": readable}, runner.build_pod(resolved, Settings(image="nestor:1"), plan, "10.43.0.9", 1)]


def build_persistent_server() -> list[Object]:
    """What the server of a cluster with its data on a volume has instead of one that has not, at rest."""
    persistence = Persistence(size="2Gi", storage_class_name="fast")
    found = server.build_stateful_set(build_shape(persistence=persistence, replicas=0), "10.43.0.5")["spec"]
    pod = found.pop("template")["spec"]
    volumes = [volume["name"] for volume in pod["volumes"]]
    return [found | {"volumes": volumes, "mount": pod["containers"][1]["volumeMounts"][0]}]


def build_access() -> list[Object]:
    """The syncer's identity and rights."""
    shape = build_shape()
    owner = {"apiVersion": "v1", "kind": "Namespace", "name": shape.namespace, "uid": "n1"}
    shape = replace(shape, nodes_binding_owner=owner)
    return [home.build_service_account(shape), home.build_role_binding(shape), home.build_nodes_binding(shape)]


MANIFESTS: dict[str, Callable[[], list[Object]]] = {
    "namespace": build_namespace,
    "server": lambda: [server.build_stateful_set(build_shape(), "10.43.0.5")],
    "server-with-volume": build_persistent_server,
    "services": lambda: [*server.build_services(build_shape())],
    "coredns": lambda: [coredns.build_config_map(build_shape(), "10.43.0.5")],
    "policies": lambda: policies.build_policies(build_shape()),
    "access": build_access,
    "runner": build_runner,
    "ingress-all-targets": lambda: test_ingress.build(test_ingress.ISSUER),
}


class _Dumper(yaml.SafeDumper):
    """Texts of several lines as blocks, no anchors."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _represent(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _represent)


@pytest.mark.parametrize("name", MANIFESTS)
def test_the_manifest_is_the_golden_one(name: str) -> None:
    path = GOLDEN / f"{name}.yaml"
    text = yaml.dump_all(MANIFESTS[name](), Dumper=_Dumper, sort_keys=False, width=120)
    if os.environ.get("NESTOR_REWRITE_GOLDEN"):
        path.write_text(text)
    assert text == path.read_text(), f"{path} differs: NESTOR_REWRITE_GOLDEN=1 rewrites it"
