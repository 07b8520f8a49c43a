"""A chart, a manifest or a kustomization as an application: `nestor run` writes the AppDef that it needs."""

import contextlib
import json
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, NamedTuple

from nestor.api.class_choice import find_default, read_effective
from nestor.api.labels import GROUP
from nestor.api.objects import Object, owner_reference
from nestor.clients.cli import console
from nestor.clients.cli.exits import Code, Failure
from nestor.clients.cli.manifests import base_name
from nestor.clients.cli.session import Session, run_kubectl
from nestor.kube import ApiError, Forbidden, kinds

FILE = "manifest.yaml"
"""The only template of an application whose manifest is on the user's machine."""
_TARGET = re.compile(r"(?:([a-z0-9-]+)/)?([a-z0-9-]+):([0-9]{1,5})")


class Package(NamedTuple):
    """What the options say; one of `chart`, `manifest` and `kustomize` is given."""

    chart: str | None = None
    repo: str | None = None
    version: str | None = None
    sets: list[str] | None = None
    manifest: str | None = None
    kustomize: str | None = None
    targets: list[str] | None = None

    @property
    def is_remote(self) -> bool:
        """Whether steps fetch it."""
        return bool(self.chart or (self.manifest or "").startswith(("https://", "http://")))

    @property
    def name(self) -> str:
        source = self.chart or self.manifest or str(Path(self.kustomize or "").resolve())
        return base_name(re.sub(r"\.(ya?ml|json|tgz)$", "", source.rstrip("/")))


def build_appdef(package: Package) -> Object:
    """One command with one step. Raises `Failure`."""
    if package.chart:
        if "://" not in package.chart and not package.repo:
            hint = f"helm template {package.chart} | nestor run --manifest -"
            raise Failure("--chart needs a URL, or the name of a chart in --repo", Code.USAGE, hint=hint)
        known = {"chart": package.chart, "repo": package.repo, "version": package.version, "values": _read_values(package.sets)}
        step: Object = {"type": "helm", **{key: value for key, value in known.items() if value}}
    else:
        # Server-side: large definitions do not fit into the annotation that `kubectl apply` otherwise writes.
        step = {"type": "kubectl", "server_side": True, "path": FILE}
        step |= {"format": "url", "path": package.manifest} if package.is_remote else {}
    nested = {
        "targets": [_read_target(item) for item in package.targets or ()],
        # A manifest may have objects of kinds that it defines itself.
        "templates_settings": {"global_retry": 3, "global_retry_sleep": 5},
        "templates": [{"name": package.name, **step}],
    }
    command = {"parameters": {}, "nested_kubernetes": nested}
    return {"name": package.name, "appdefversion": 2, "appkind": "kns", "commands": {"Run": command}}


def _read_values(sets: list[str] | None) -> Object:
    """As Helm reads them: a dot in a name leads into a map, and only whole numbers and booleans are no text."""
    values: Object = {}
    for item in sets or ():
        name, separator, text = item.partition("=")
        if not separator or not name:
            raise Failure(f"`--set {item}` must have the form NAME=VALUE", Code.USAGE)
        if re.search(r"[\\[\]{}]", item):
            raise Failure(f"`--set {item}` has a list or a backslash: write an AppDef with `values`", Code.USAGE)
        *path, last = name.split(".")
        inside: dict[str, Any] = values
        for part in path:
            inside[part] = inside[part] if isinstance(inside.get(part), dict) else {}
            inside = inside[part]
        inside[last] = json.loads(text) if re.fullmatch(r"true|false|-?(0|[1-9][0-9]*)", text) else text
    return values


def _read_target(text: str) -> Object:
    match = _TARGET.fullmatch(text)
    if match is None:
        raise Failure(f"`--target {text}` must have the form SERVICE:PORT or NAMESPACE/SERVICE:PORT", Code.USAGE)
    namespace, service, port = match.groups()
    return {"service_name": service, "service_port": int(port), "service_namespace": namespace or "default"}


def read_manifest(package: Package) -> str:
    """What is on the user's machine. Raises `Failure`."""
    from nestor.clients.cli.offline import documents, files  # noqa: PLC0415 - as in `nestor validate`

    if package.kustomize is not None:
        # By the user's own kubectl: the folder may include others, and remote ones.
        texts = {package.name: run_kubectl("kustomize", package.kustomize)}
    else:
        texts = {str(file): documents.load(file) for file in files.expand([Path(package.manifest or "")])}
    parts = [(name, part.content) for name, text in texts.items() for part in documents.read(text, name)]
    if not parts:
        raise Failure(f"{package.manifest or package.kustomize}: there are no manifests", Code.USAGE)
    items = [(name, item) for name, content in parts for item in documents.list_items(content) if isinstance(item, dict)]
    if own := [name for name, item in items if str(item.get("apiVersion")).startswith(f"{GROUP}/")]:
        message = f"{own[0]} has a resource of Nestor's, which nested clusters do not know"
        raise Failure(message, Code.USAGE, hint="leave it out; `nestor run -f FILE` runs a job")
    if any(item.get("kind") == "Secret" for _, item in items):
        hint = "leave it out and create it with `nestor exec`, or use --chart"
        raise Failure("the manifest has a Secret, and more people may read a job's templates than Secrets", Code.USAGE, hint=hint)
    return "\n---\n".join(texts.values())


def read_data(package: Package) -> Object:
    """Of the ConfigMap that holds it."""
    return {"data": {FILE: read_manifest(package)}}


async def create(opened: Session, job: Object, data: Object, make: Callable[[Session, Object], Awaitable[Object]]) -> Object:
    """`make` the job, with a ConfigMap that it owns, which has its templates.

    `data`: what is in it; with the name that it has in the job's file, so that `kubectl apply` can change both later.
    """
    api, where, name = opened.api, opened.namespace, data.get("metadata", {}).get("name")
    if name:
        if await api.find(kinds.NESTED_APP_JOB, job["metadata"]["name"], where):
            hint = "change it with `kubectl apply -f`, or choose another name with --name"
            raise Failure(f"job '{job['metadata']['name']}' already exists in namespace '{where}'", hint=hint)
        is_new = await api.find(kinds.CONFIG_MAP, name, where) is None
        made = await api.apply(kinds.CONFIG_MAP, {**data, "metadata": {"name": name, "namespace": where}})
    else:
        generated = f"{base_name(job['metadata'].get('name') or 'app')}-"
        made = await api.create(kinds.CONFIG_MAP, {**data, "metadata": {"generateName": generated, "namespace": where}})
        is_new = True
    files = made["metadata"]
    app = job["spec"]["app"] | {"templatesFrom": {"configMapRef": {"name": files["name"]}}}
    try:
        made = await make(opened, {**job, "spec": job["spec"] | {"app": app}})
    except BaseException:
        if is_new:
            await api.delete(kinds.CONFIG_MAP, files["name"], where, uid=files["uid"])
        raise
    kind, meta = kinds.NESTED_APP_JOB, made["metadata"]
    owner = owner_reference(kind.api_version, kind.name, meta["name"], meta["uid"])
    try:
        await api.patch(kinds.CONFIG_MAP, files["name"], where, {"metadata": {"ownerReferences": [owner]}})
    except ApiError as error:
        console.tell_problem(f"ConfigMap '{files['name']}' will stay when the job is deleted: {error.message}")
    return made


async def check_internet(opened: Session, named: str | None) -> None:
    """Whether steps of the class may fetch anything, if the user may know. Raises `Failure`."""
    with contextlib.suppress(Forbidden):
        classes = {item["metadata"]["name"]: item for item in await opened.api.list(kinds.NESTED_CLASS)}
        name = named or find_default(classes.values())
        if (read_effective(classes.get(name)).get("network") or {}).get("internet") == "None":
            message = f"class '{name}' lets steps fetch nothing from the internet (`network.internet: None`)"
            raise Failure(message, hint="render it on your machine: `helm template … | nestor run --manifest -`")
