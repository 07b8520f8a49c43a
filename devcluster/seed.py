"""`python -m devcluster.seed`: writes the seed of the K3s stand-in's version, from what a fresh server has.

Only what Kubernetes itself makes is taken, in which the stand-in and K3s are the same. Not taken is what K3s adds, and what
belongs to the one cluster: Secrets, ConfigMaps, Services, addresses, Leases.
"""

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nestor.syncer.seed
from devcluster.build import cache
from nestor.api.nestedclass import NestedClassSpec
from nestor.api.objects import Object
from nestor.cluster.k3s import build_arguments
from nestor.cluster.shape import Host, Shape
from nestor.syncer.seed.plant import NOW, UID

KINDS = {
    "namespaces": "/api/v1",
    "serviceaccounts": "/api/v1",
    "clusterroles": "/apis/rbac.authorization.k8s.io/v1",
    "clusterrolebindings": "/apis/rbac.authorization.k8s.io/v1",
    "roles": "/apis/rbac.authorization.k8s.io/v1",
    "rolebindings": "/apis/rbac.authorization.k8s.io/v1",
    "priorityclasses": "/apis/scheduling.k8s.io/v1",
    "flowschemas": "/apis/flowcontrol.apiserver.k8s.io/v1",
    "prioritylevelconfigurations": "/apis/flowcontrol.apiserver.k8s.io/v1",
    "apiregistration.k8s.io/apiservices": "/apis/apiregistration.k8s.io/v1",
}
"""The kinds' names in the datastore's keys, and where the API has them."""
_MANAGERS = ("k3s", "clusterrole-aggregation-controller", "api-priority-and-fairness-config-")
"""Who has written what Kubernetes itself makes: field managers begin so; the first is the program's name."""
_DATES = {"creationTimestamp", "time", "lastTransitionTime"}
_START_SECONDS = 60
_CALM_SECONDS = 20
"""By when its controllers have made what they make; nothing says so."""
_ALONE = """\
mount -t tmpfs none /etc && ip link set lo up && ip link add d0 type veth peer name d1 && ip address add 10.9.0.2/24 dev d0
ip link set d1 up && ip link set d0 up && ip route add default via 10.9.0.1 && exec "$@"
"""
_NOT_HERE = ("--data-dir=", "--token-file=", "--tls-san=", "--kube-apiserver-arg=client-ca-file=")


@dataclass(frozen=True)
class Server:
    """A running stand-in, in namespaces of its own."""

    pid: int
    tls: Path
    kubectl: Path

    def get(self, path: str) -> Any:
        """The API's answer, an empty one while it has none."""
        client = [f"--client-certificate={self.tls}/client-admin.crt", f"--client-key={self.tls}/client-admin.key"]
        command = [
            str(self.kubectl),
            "--server=https://127.0.0.1:6443",
            "--insecure-skip-tls-verify",
            *client,
            "get",
            "--raw",
            path,
        ]
        found = subprocess.run(["nsenter", f"--net=/proc/{self.pid}/ns/net", *command], capture_output=True, check=False)
        return json.loads(found.stdout or "{}")


@contextmanager
def serving(folder: Path) -> Iterator[Server]:
    """A server with its data in the folder, as Nestor starts one. Needs root."""
    at, data = cache.default().bin, folder / "data"
    shape = Shape(
        name="seed", namespace="seed", labels={}, image="", core_dns_image="", nestor_image="",
        host=Host(("10.43.0.0/16",)), policy=NestedClassSpec(),
    )  # fmt: skip
    arguments = [item for item in build_arguments(shape, "10.43.0.2") if not item.startswith(_NOT_HERE)]
    alone = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", _ALONE, "sh"]
    environment = os.environ | {"PATH": f"{at}:{os.environ['PATH']}"}
    with (folder / "log").open("w") as log, subprocess.Popen(
        [*alone, at / "k3s", *arguments, f"--data-dir={data}"], env=environment, stdout=log, stderr=log
    ) as process:  # fmt: skip
        try:
            server = Server(process.pid, data / "server/tls", at / "kubectl")
            begin = time.monotonic()
            while "gitVersion" not in server.get("/version"):
                if process.poll() is not None or time.monotonic() > begin + _START_SECONDS:
                    raise RuntimeError((folder / "log").read_text()[-2000:])
                time.sleep(0.5)
            yield server
        finally:
            process.kill()


def read(server: Server) -> list[str]:
    """The lines of the seed that a server gives."""
    lines = []
    for kind, path in KINDS.items():
        found = server.get(f"{path}/{kind.rpartition('/')[2]}")
        head = {"apiVersion": found["apiVersion"], "kind": found["kind"].removesuffix("List")}
        items = [item for item in found["items"] if _is_kubernetes(item["metadata"])]
        lines += [f"{_build_key(kind, item['metadata'])} {_write(head | item)}" for item in items]
    return lines


def _is_kubernetes(metadata: Object) -> bool:
    managers = [field["manager"] for field in metadata.get("managedFields", ())]
    return all(manager.startswith(_MANAGERS) for manager in managers) and "k3s" not in metadata["name"]


def _build_key(kind: str, metadata: Object) -> str:
    return "/".join(["/registry", kind, *([metadata["namespace"]] if "namespace" in metadata else []), metadata["name"]])


def _write(item: Object) -> str:
    item["metadata"] |= {"uid": UID}
    del item["metadata"]["resourceVersion"]
    return json.dumps(without_dates(item), separators=(",", ":"))


def without_dates(value: Any) -> Any:
    """The same, each date as a seed has it."""
    if isinstance(value, list):
        return [without_dates(item) for item in value]
    if isinstance(value, dict):
        return {key: NOW if key in _DATES else without_dates(item) for key, item in value.items()}
    return value


def main() -> None:
    """Write the file."""
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder)) as server:
        time.sleep(_CALM_SECONDS)
        version = server.get("/version")["gitVersion"].partition("+")[0]
        lines = read(server)
    (Path(nestor.syncer.seed.__file__).parent / f"{version}.txt").write_text("\n".join(lines) + "\n")
    print(f"{len(lines)} objects of {version}")


if __name__ == "__main__":
    main()
