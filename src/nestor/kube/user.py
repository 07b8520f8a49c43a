"""A user's own connection: kubeconfig and context as kubectl chooses them, else the pod's service account."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import yaml
from kubernetes.aio import config
from kubernetes.aio.client import Configuration

from nestor.kube.client import Api
from nestor.kube.errors import Unreachable

_IN_CLUSTER_NAMESPACE = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
_UNREADABLE = (config.ConfigException, OSError, yaml.YAMLError, KeyError, TypeError, ValueError, AttributeError)
"""What the library answers a kubeconfig with that is not one."""


@dataclass(frozen=True)
class UserContext:
    """What a kubeconfig's context says."""

    name: str
    namespace: str
    kubeconfig: str | None
    """The file, or several as $KUBECONFIG lists them; None inside a cluster."""


def read_context(kubeconfig: str | None = None, context: str | None = None) -> UserContext:
    """The chosen context, else the current one. Raises `Unreachable` with a sentence for the user."""
    explicit = kubeconfig or os.environ.get("KUBECONFIG")
    if not explicit and not context and "KUBERNETES_SERVICE_HOST" in os.environ:
        namespace = _IN_CLUSTER_NAMESPACE.read_text().strip() if _IN_CLUSTER_NAMESPACE.is_file() else "default"
        return UserContext("in-cluster", namespace, None)
    path = explicit or str(Path.home() / ".kube/config")
    try:
        contexts, current = config.list_kube_config_contexts(path)
    except _UNREADABLE as error:
        raise Unreachable(f"no usable kubeconfig at {path}: {error}") from error
    chosen = next((item for item in contexts if item["name"] == context), None) if context else current
    if chosen is None:
        known = ", ".join(f"'{item['name']}'" for item in contexts)
        raise Unreachable(f"no context '{context}' in {path}; available: {known}")
    return UserContext(chosen["name"], (chosen.get("context") or {}).get("namespace") or "default", path)


async def connect_user(context: UserContext, *, manager: str = "nestor", timeout: float = 30) -> Api:
    """A client for that context. Raises `Unreachable` when its credentials cannot be had."""
    configuration = Configuration()
    try:
        if context.kubeconfig is None:
            config.load_incluster_config(client_configuration=configuration)
        else:
            await config.load_kube_config(
                config_file=context.kubeconfig, context=context.name, client_configuration=configuration, persist_config=False
            )
        return Api(configuration, manager=manager, timeout=timeout)
    except _UNREADABLE as error:
        raise Unreachable(f"context '{context.name}' of {context.kubeconfig} cannot be used: {error}") from error


def list_contexts(kubeconfig: str | None = None) -> list[str]:
    """The names of the kubeconfig's contexts. Raises `Unreachable`."""
    path = kubeconfig or os.environ.get("KUBECONFIG") or str(Path.home() / ".kube/config")
    try:
        return [str(item["name"]) for item in config.list_kube_config_contexts(path)[0]]
    except _UNREADABLE as error:
        raise Unreachable(f"no usable kubeconfig at {path}: {error}") from error
