"""From what users and pods have to a connection: kubeconfig files, kubeconfigs in memory, the account of a pod.

Belongs here: reading them as kubectl does. Does not: whether a kubeconfig that somebody else wrote may be used, which
`nestor.kube.kubeconfig` says.
"""

import base64
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nestor.api.objects import Object
from nestor.kube.connection import Connection, Pem
from nestor.kube.errors import Unreachable

_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")
_PLUGINS = ("exec", "auth-provider")
"""Keys of a user whose credentials come from a program."""
_UNREADABLE = (OSError, KeyError, TypeError, ValueError, AttributeError)
"""What comes of reading a kubeconfig that is not one."""


@dataclass(frozen=True)
class Entry:
    """One cluster, user or context, and the folder that its relative paths start from."""

    content: Object
    folder: Path


@dataclass
class Kubeconfig:
    """One or several files, or a kubeconfig in memory. Entries of the first file that has them count, as in kubectl."""

    contexts: dict[str, Entry] = field(default_factory=dict)
    clusters: dict[str, Entry] = field(default_factory=dict)
    users: dict[str, Entry] = field(default_factory=dict)
    current: str = ""

    def add(self, content: Any, folder: Path) -> None:
        """Add what is not there yet. Raises one of the errors of an object that is not a kubeconfig."""
        for entries, part, inner in (
            (self.contexts, "contexts", "context"),
            (self.clusters, "clusters", "cluster"),
            (self.users, "users", "user"),
        ):
            for item in content.get(part) or []:
                entries.setdefault(str(item["name"]), Entry(dict(item.get(inner) or {}), folder))
        self.current = self.current or str(content.get("current-context") or "")

    def choose(self, context: str | None) -> tuple[str, Entry]:
        """The context of that name, else the current one. Raises `Unreachable`."""
        name = context or self.current
        if name not in self.contexts:
            known = ", ".join(f"'{item}'" for item in self.contexts)
            raise Unreachable(f"no context '{name}'; available: {known}" if name else "it has no current context")
        return name, self.contexts[name]


def find_files(kubeconfig: str | None) -> str:
    """The given file, else those that `$KUBECONFIG` lists, else kubectl's own."""
    return kubeconfig or os.environ.get("KUBECONFIG") or str(Path.home() / ".kube/config")


def read_files(paths: str) -> Kubeconfig:
    """The files, as `$KUBECONFIG` lists them; those that do not exist are skipped. Raises `Unreachable`."""
    files = [path for part in paths.split(os.pathsep) if part and (path := Path(part).expanduser()).exists()]
    found = Kubeconfig()
    try:
        if not files:
            raise FileNotFoundError("there is no such file")
        for file in files:
            found.add(_parse(file.read_text()), file.absolute().parent)
    except _UNREADABLE as error:
        raise Unreachable(f"no usable kubeconfig at {paths}: {error}") from error
    return found


@dataclass(frozen=True)
class UserContext:
    name: str
    namespace: str
    kubeconfig: str | None
    """The file, or several as $KUBECONFIG lists them; None inside a cluster."""


def read_context(kubeconfig: str | None = None, context: str | None = None) -> UserContext:
    """The chosen context, else the current one. Raises `Unreachable` with a sentence for the user."""
    if not kubeconfig and not os.environ.get("KUBECONFIG") and not context and is_in_cluster():
        return UserContext("in-cluster", read_pod_namespace(), None)
    path = find_files(kubeconfig)
    found = read_files(path)
    name = context or found.current
    if name not in found.contexts:
        known = ", ".join(f"'{item}'" for item in found.contexts)
        raise Unreachable(f"no context '{name}' in {path}; available: {known}")
    return UserContext(name, found.contexts[name].content.get("namespace") or "default", path)


def list_contexts(kubeconfig: str | None = None) -> list[str]:
    return list(read_files(find_files(kubeconfig)).contexts)


async def connect_files(kubeconfig: str | None, context: str | None = None) -> Connection:
    """By a context of kubeconfig files. Raises `Unreachable`."""
    paths = find_files(kubeconfig)
    return await _connect(read_files(paths), context, paths)


async def connect_content(content: Object) -> Connection:
    """By a kubeconfig in memory. Raises `Unreachable`."""
    found = Kubeconfig()
    try:
        found.add(content, Path())
    except _UNREADABLE as error:
        raise Unreachable(f"the kubeconfig cannot be used: {error}") from error
    return await _connect(found, None, "the kubeconfig")


def is_in_cluster() -> bool:
    return "KUBERNETES_SERVICE_HOST" in os.environ


def connect_pod(environ: Mapping[str, str] = os.environ, account: Path = _ACCOUNT) -> Connection:
    """By the service account of our own pod. Raises `Unreachable`."""
    host, port = environ.get("KUBERNETES_SERVICE_HOST", ""), environ.get("KUBERNETES_SERVICE_PORT", "")
    if not host or not port or not (account / "token").is_file() or not (account / "ca.crt").is_file():
        raise Unreachable("the pod has no service account, or does not know where the API server is")
    server = f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}"
    return Connection(server, authority=account / "ca.crt", authorization=_bearer_from(account / "token"))


def read_pod_namespace() -> str:
    file = _ACCOUNT / "namespace"
    return file.read_text().strip() if file.is_file() else "default"


def _parse(text: str) -> Any:
    """Nestor's own are JSON, and need no YAML reader. Raises `ValueError`."""
    try:
        return json.loads(text)
    except ValueError:
        import yaml  # noqa: PLC0415

        try:
            return yaml.safe_load(text)
        except yaml.YAMLError as error:
            raise ValueError(error) from error


async def _connect(kubeconfig: Kubeconfig, context: str | None, where: str) -> Connection:
    name = ""
    try:
        name, chosen = kubeconfig.choose(context)
        cluster = kubeconfig.clusters[chosen.content["cluster"]]
        user = kubeconfig.users.get(chosen.content.get("user") or "", Entry({}, Path()))
        return await _build(cluster, user)
    except Unreachable as error:
        raise Unreachable(f"{where} cannot be used: {error.message}") from error
    except _UNREADABLE as error:
        raise Unreachable(f"context '{name}' of {where} cannot be used: {error!r}") from error


async def _build(cluster: Entry, user: Entry) -> Connection:
    found = cluster.content
    server = str(found["server"]).rstrip("/")
    certificate, key = _pem(user, "client-certificate"), _pem(user, "client-key")
    authorization = _authorization(user)
    if any(user.content.get(plugin) for plugin in _PLUGINS):
        token, certificate, key = await _ask_plugin(server, user.content, (certificate, key))
        authorization = (lambda: token) if token else None
    return Connection(
        server,
        authority=_pem(cluster, "certificate-authority"),
        certificate=certificate,
        key=key,
        authorization=authorization,
        server_name=found.get("tls-server-name"),
        proxy=found.get("proxy-url"),
        is_verified=not found.get("insecure-skip-tls-verify"),
    )


def _pem(entry: Entry, key: str) -> Pem | None:
    """Data counts before a file, as in kubectl. Raises `OSError` if there is no such file."""
    if data := entry.content.get(f"{key}-data"):
        return base64.b64decode("".join(data.split()), validate=True)
    if not (path := entry.content.get(key)):
        return None
    file = entry.folder / Path(path).expanduser()
    if not file.is_file():
        raise FileNotFoundError(f"`{key}`: there is no file {file}")
    return file


def _authorization(user: Entry) -> Callable[[], str] | None:
    found = user.content
    if path := found.get("tokenFile"):
        return _bearer_from(user.folder / path)
    token = found.get("token")
    return (lambda: f"Bearer {token}") if token else None


def _bearer_from(file: Path) -> Callable[[], str]:
    """Read for each request: whoever writes the file renews the token."""
    return lambda: f"Bearer {file.read_text().strip()}"


async def _ask_plugin(server: str, user: Object, given: tuple[Pem | None, Pem | None]) -> tuple[str, Pem | None, Pem | None]:
    """The authorization, certificate and key that a plugin of the user's gives, by the library that runs such plugins.

    It is imported only here: it costs more time and memory than all of Nestor, and no pod of Nestor's needs it.
    """
    try:
        from kubernetes.aio import config  # noqa: PLC0415
        from kubernetes.aio.client import Configuration  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise Unreachable(f"its credentials come from a plugin: that needs `pip install 'nestor[cli]'` ({error})") from error
    configuration = Configuration()
    content = {
        "current-context": "own",
        "clusters": [{"name": "own", "cluster": {"server": server}}],
        "users": [{"name": "own", "user": {key: value for key, value in user.items() if not key.startswith("client-")}}],
        "contexts": [{"name": "own", "context": {"cluster": "own", "user": "own"}}],
    }
    try:
        await config.load_kube_config_from_dict(content, client_configuration=configuration)
    except config.ConfigException as error:
        raise Unreachable(str(error)) from error
    token = str(configuration.api_key.get("BearerToken") or "")
    if configuration.cert_file:
        return token, Path(configuration.cert_file), Path(configuration.key_file) if configuration.key_file else None
    return token, *given
