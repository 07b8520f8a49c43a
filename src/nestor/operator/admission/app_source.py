"""Where a job's AppDef comes from (the job itself, the catalog, or the app image) and how it is stored. Pure."""

import json
from collections.abc import Iterable
from dataclasses import dataclass, replace

from pydantic import ValidationError

from nestor.api import conditions, names
from nestor.api.appdef_keys import suggest
from nestor.api.class_parts import ImagesPolicy
from nestor.api.faults import explain
from nestor.api.names import Part
from nestor.api.nestedapp import App, NamespacedConfigMapRef, NestedAppSpec
from nestor.api.nestedappjob import NestedAppJobSpec
from nestor.api.objects import Object
from nestor.cluster.home import Home
from nestor.operator.admission.identity import JobIdentity, Refused
from nestor.operator.world.kept import find_fault, read_spec
from nestor.operator.world.trim import drop_icon

KEY = "app.json"
NO_APP: Object = {"appkind": "kns", "commands": {"none": {"parameters": {}, "nested_kubernetes": {"templates": []}}}}
"""What a job without an application runs: a command without steps."""
SHOWN_APPS = 20


@dataclass(frozen=True, kw_only=True)
class AppSource:
    """One application: its AppDef, and where its templates are."""

    app_def: Object | None = None
    """None: it must be read from `image`."""
    image: str | None = None
    image_pull_secret_name: str | None = None
    """In the namespace of a job with its own `app`; in the operator's for an entry of the catalog."""
    templates_from: NamespacedConfigMapRef | None = None
    origin: str = ""
    """Where it comes from, such as `NestedApp 'hello'`; empty if it is in the job itself. An application with an origin is kept
    as it was when the job started, and messages about its faults name the origin."""

    def blame(self, message: str) -> str:
        """A message about a fault in the AppDef, prefixed with its origin."""
        return f"{self.origin}: {message}" if self.origin else message


def list_pull_secrets(source: AppSource, home: Home, images: ImagesPolicy, pulls: Object) -> Object:
    """`imagePullSecrets` of a pod: `pulls`, of Nestor's own image, and if it mounts an app image, the copies of that one's Secret
    and of the class's.
    """
    own = [home.child(Part.PULL_SECRET)] if source.image_pull_secret_name else []
    apps = [*own, *map(names.operators_pull_secret, images.pull_secret_names)] if source.image else []
    found = [*pulls.get("imagePullSecrets", ()), *({"name": name} for name in apps)]
    return {"imagePullSecrets": found} if found else {}


def find_source(known: JobIdentity, apps: Iterable[Object]) -> AppSource:
    """The application from the job's spec, or from the catalog entry it names. Raises `Refused`."""
    spec = known.spec
    if spec.app_ref is not None:
        return read_catalog(spec.app_ref.name, apps)
    if not spec.has_app:
        return AppSource(app_def=NO_APP)
    app = spec.app or App()
    if app.app_def is None and app.image is None:
        raise Refused(conditions.APPDEF_INVALID, "`app.appDef` must be set when there is no `image` to read it from")
    templates = None
    if app.templates_from:
        templates = NamespacedConfigMapRef(name=app.templates_from.config_map_ref.name, namespace=known.namespace)
    return AppSource(
        app_def=app.app_def,
        image=app.image,
        image_pull_secret_name=app.image_pull_secret_name,
        templates_from=templates,
        origin="" if app.app_def is not None else f"image '{app.image}'",
    )


def read_catalog(name: str, apps: Iterable[Object]) -> AppSource:
    """The catalog entry with that name. Raises `Refused`, listing the existing names."""
    found = {item["metadata"]["name"]: item for item in apps}
    if name not in found:
        known = [f"'{item}'" for item in sorted(found)]
        more = f", … {len(known) - SHOWN_APPS} more" if len(known) > SHOWN_APPS else ""
        there_are = ", ".join(known[:SHOWN_APPS]) + more if known else "none"
        raise Refused(conditions.APP_NOT_FOUND, f"no NestedApp named '{name}'; available: {there_are}{suggest(name, found)}")
    origin = f"NestedApp '{name}'"
    if fault := find_fault(found[name]):
        raise Refused(conditions.APPDEF_INVALID, f"{origin}: {fault}")
    try:
        spec = NestedAppSpec.model_validate(read_spec(found[name]))
    except ValidationError as error:
        raise Refused(conditions.APPDEF_INVALID, f"{origin}: {explain(error, 'spec')}") from error
    if spec.app_def is None and spec.image is None:
        raise Refused(conditions.APPDEF_INVALID, f"{origin}: `appDef` must be set when there is no `image` to read it from")
    return AppSource(
        app_def=drop_icon(spec.app_def),
        image=spec.image,
        image_pull_secret_name=spec.image_pull_secret_name,
        origin=origin,
        templates_from=spec.templates_from.config_map_ref if spec.templates_from else None,
    )


def find_newer(known: JobIdentity, kept: AppSource, apps: Iterable[Object]) -> AppSource | None:
    """The catalog's application where it is no longer what the job started with. None if its entry is gone. Raises `Refused`."""
    if known.spec.app_ref is None:
        return None
    try:
        found = read_catalog(known.spec.app_ref.name, apps)
    except Refused as refused:
        if refused.denial.reason != conditions.APP_NOT_FOUND:
            raise
        return None
    # The AppDef of an image is as it was: images do not change.
    return found if found != (kept if found.app_def is not None else replace(kept, app_def=None)) else None


def dump_snapshot(source: AppSource) -> str:
    content: Object = {"source": source.origin, "image": source.image, "appDef": source.app_def}
    if source.image_pull_secret_name:
        content["imagePullSecretName"] = source.image_pull_secret_name
    if source.templates_from:
        content["templatesFrom"] = source.templates_from.model_dump()
    return json.dumps(content)


def digest_snapshot(stored: str) -> str:
    """The digest of what `dump_snapshot` wrote. It is in the job's status, where only the operator writes."""
    return names.digest(stored, length=32)


def parse_snapshot(config_map: Object, spec: NestedAppJobSpec, digest: str | None) -> AppSource | None:
    """Parse what `dump_snapshot` wrote; None if it is anything else, which is treated like a missing snapshot.

    `digest`: the one in the job's status. Whoever can write ConfigMaps in the job's namespace chooses nothing.
    """
    stored = (config_map.get("data") or {}).get(KEY)
    return load_snapshot(stored, spec) if stored is not None and digest_snapshot(stored) == digest else None


def load_snapshot(stored: str, spec: NestedAppJobSpec | None = None) -> AppSource | None:
    """Parse a snapshot without asking who wrote it; None if it is none. A job's own app has the Secret that `spec` names."""
    try:
        content = json.loads(stored)
        templates, secret = content.get("templatesFrom"), content.get("imagePullSecretName")
        return AppSource(
            app_def=dict(content["appDef"]),
            image=content["image"],
            origin=str(content["source"]),
            image_pull_secret_name=spec.app.image_pull_secret_name if spec is not None and spec.app else secret,
            templates_from=NamespacedConfigMapRef.model_validate(templates) if templates else None,
        )
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        return None
