"""The cluster that the tests run against: the host, or a nested one in it."""

import base64
import json
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

import devcluster.cluster
from devcluster.build import cache, conformance, references, registry
from devcluster.cluster import embedded, paths, settings
from devcluster.conformance import scene
from devcluster.demo import install
from devcluster.demo.tools import Tools
from devcluster.progress import Progress

_WAIT = "--timeout=180s"


def prepare(mode: str, class_name: str, progress: Progress) -> Path:
    """Have the cluster of a column, with the suite's images; its admin's kubeconfig."""
    info = devcluster.cluster.up(progress, "volumes")
    push_images(progress)
    if mode == "host":
        return info.kubeconfig
    install.install_nestor(info, progress)
    return open_nested(info.kubeconfig, class_name, progress)


def push_images(progress: Progress) -> None:
    """Have the images of the tests' pods in the cluster's registry."""
    images = conformance.ensure_images(cache.default(), progress)
    target = registry.Registry(settings.REGISTRY)
    with progress.stage("Push the images of the conformance tests"):
        pushed = [target.push(archive, references.parse(reference)) for reference, archive in images]
    if any(pushed):
        embedded.forget_old_images(paths.default(), progress)


def open_nested(host_kubeconfig: Path, class_name: str, progress: Progress) -> Path:
    """Have a nested cluster of that class; its admin's kubeconfig. Safe to repeat."""
    host = Tools(host_kubeconfig)
    job = ("-n", scene.NAMESPACE, f"naj/{scene.job_name(class_name)}")
    with progress.stage(f"Start a nested cluster of class '{scene.job_name(class_name)}'"):
        default = json.loads(host.kubectl("get", "nestedclass", "default", "-o", "json"))
        _apply(host, [scene.build_class(default, class_name), *scene.build_job(class_name)])
        for condition in ("ClusterReady", "StepsApplied"):
            host.kubectl("wait", f"--for=condition={condition}", *job, _WAIT)
    secret = host.kubectl("get", *job, "-o", "jsonpath={.status.kubeconfigSecretName}")
    data = host.kubectl("get", "secret", "-n", scene.NAMESPACE, secret, "-o", "jsonpath={.data.kubeconfig}")
    kubeconfig = cache.default().conformance / f"{class_name}.kubeconfig"
    kubeconfig.touch(mode=0o600)
    kubeconfig.write_bytes(base64.b64decode(data))
    return kubeconfig


def close_nested(host_kubeconfig: Path, class_name: str) -> None:
    """Delete what `open_nested` made, but for the namespace; the job's end is not awaited."""
    host = Tools(host_kubeconfig)
    name = scene.job_name(class_name)
    host.kubectl("delete", "--wait=false", "-n", scene.NAMESPACE, f"naj/{name}", f"configmap/{name}")
    host.kubectl("delete", f"nestedclass/{name}")


def _apply(tools: Tools, documents: Iterable[dict[str, Any]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "documents.yaml"
        file.write_text(yaml.safe_dump_all(documents))
        tools.kubectl("apply", "-f", str(file))
