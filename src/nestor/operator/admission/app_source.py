"""Where a job's AppDef comes from: the job itself, the catalogue, or the app image; and how it is kept. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass

from pydantic import ValidationError

from nestor.api import conditions
from nestor.api.appdef import explain
from nestor.api.nestedapp import NamespacedConfigMapRef, NestedAppSpec
from nestor.api.nestedappjob import App
from nestor.objects import Object, spec_of
from nestor.operator.admission.identity import JobIdentity, Refused

KEY = "app.json"
SHOWN_APPS = 20


@dataclass(frozen=True, kw_only=True)
class AppSource:
    """One application: its AppDef, and where its templates are."""

    app_def: Object | None = None
    """None: it is to be read from `image`."""
    image: str | None = None
    image_pull_secret_name: str | None = None
    templates_from: NamespacedConfigMapRef | None = None
    origin: str = ""
    """Where it comes from when not from the job itself, as `NestedApp 'hello'`; empty for the job's own. What has an origin is
    kept as it was when the job started, and is named in messages about its faults."""

    def blame(self, message: str) -> str:
        """A message about a fault of the AppDef, with its origin."""
        return f"{self.origin}: {message}" if self.origin else message


def find_source(known: JobIdentity, apps: Iterable[Object]) -> AppSource:
    """What the job says of its application, or the catalogue for it. Raises `Refused`."""
    spec = known.spec
    if spec.app_ref is not None:
        return read_catalogue(spec.app_ref.name, apps)
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


def read_catalogue(name: str, apps: Iterable[Object]) -> AppSource:
    """The catalogue's application of that name. Raises `Refused`, with the names there are."""
    found = {item["metadata"]["name"]: item for item in apps}
    if name not in found:
        known = [f"'{item}'" for item in sorted(found)]
        more = f", … {len(known) - SHOWN_APPS} more" if len(known) > SHOWN_APPS else ""
        there_are = ", ".join(known[:SHOWN_APPS]) + more if known else "none"
        raise Refused(conditions.APP_NOT_FOUND, f"no NestedApp named '{name}'; there are: {there_are}")
    origin = f"NestedApp '{name}'"
    try:
        spec = NestedAppSpec.model_validate(spec_of(found[name]))
    except ValidationError as error:
        raise Refused(conditions.APPDEF_INVALID, f"{origin}: {explain(error, 'spec')}") from error
    if spec.app_def is None and spec.image is None:
        raise Refused(conditions.APPDEF_INVALID, f"{origin}: `appDef` must be set when there is no `image` to read it from")
    return AppSource(
        app_def=_drop_icon(spec.app_def),
        image=spec.image,
        origin=origin,
        templates_from=spec.templates_from.config_map_ref if spec.templates_from else None,
    )


def _drop_icon(app_def: Object | None) -> Object | None:
    """Without the picture, which may be bigger than the ConfigMap that the rest is kept in."""
    icon = (app_def or {}).get("image")
    return {**app_def, "image": {**icon, "data": ""}} if app_def and isinstance(icon, dict) and icon.get("data") else app_def


def dump_snapshot(source: AppSource) -> str:
    """The application as it is kept beside the job."""
    content: Object = {"source": source.origin, "image": source.image, "appDef": source.app_def}
    if source.templates_from:
        content["templatesFrom"] = source.templates_from.model_dump()
    return json.dumps(content)


def parse_snapshot(config_map: Object, pull_secret: str | None) -> AppSource | None:
    """What `dump_snapshot` wrote; None when it is not that, which is as good as not there."""
    try:
        content = json.loads((config_map.get("data") or {})[KEY])
        templates = content.get("templatesFrom")
        return AppSource(
            app_def=dict(content["appDef"]),
            image=content["image"],
            origin=str(content["source"]),
            image_pull_secret_name=pull_secret,
            templates_from=NamespacedConfigMapRef.model_validate(templates) if templates else None,
        )
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        return None
