"""A user's own connection: kubeconfig and context as kubectl chooses them, else the pod's service account."""

from __future__ import annotations

import os
from dataclasses import dataclass

from nestor.kube import credentials
from nestor.kube.client import Api
from nestor.kube.errors import Unreachable


@dataclass(frozen=True)
class UserContext:
    """What a kubeconfig's context says."""

    name: str
    namespace: str
    kubeconfig: str | None
    """The file, or several as $KUBECONFIG lists them; None inside a cluster."""


def read_context(kubeconfig: str | None = None, context: str | None = None) -> UserContext:
    """The chosen context, else the current one. Raises `Unreachable` with a sentence for the user."""
    if not kubeconfig and not os.environ.get("KUBECONFIG") and not context and credentials.is_in_cluster():
        return UserContext("in-cluster", credentials.read_pod_namespace(), None)
    path = credentials.find_files(kubeconfig)
    found = credentials.read_files(path)
    name = context or found.current
    if name not in found.contexts:
        known = ", ".join(f"'{item}'" for item in found.contexts)
        raise Unreachable(f"no context '{name}' in {path}; available: {known}")
    return UserContext(name, found.contexts[name].content.get("namespace") or "default", path)


async def connect_user(context: UserContext, *, manager: str = "nestor", timeout: float = 30) -> Api:
    """A client for that context. Raises `Unreachable` when its credentials cannot be had."""
    if context.kubeconfig is None:
        return Api(credentials.connect_pod(), manager=manager, timeout=timeout)
    connection = await credentials.connect_files(context.kubeconfig, context.name)
    return Api(connection, manager=manager, timeout=timeout)


def list_contexts(kubeconfig: str | None = None) -> list[str]:
    """The names of the kubeconfig's contexts. Raises `Unreachable`."""
    return list(credentials.read_files(credentials.find_files(kubeconfig)).contexts)
