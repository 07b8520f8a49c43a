"""The `helm` step, an extension of ours: a chart of the image or a remote one, installed or upgraded as a release."""

import json
import re
from typing import Any

from nestor.api import faults, names
from nestor.apps.steps import sources
from nestor.apps.steps.fields import Fields
from nestor.apps.steps.plan import Helm, Remote

RELEASE_LIMIT = 53
"""Helm's own: it appends to names."""
VALUES_LIMIT = 256 * 1024
FILE_LIMIT = 32
_NAME_FORM = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?", re.ASCII)
_CHART_FORM = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*", re.ASCII)
_VERSION_FORM = re.compile(r"[0-9A-Za-z^~<>=*!][0-9A-Za-z^~<>=*!|,. +_-]*", re.ASCII)

Releases = dict[tuple[str, str], str]
"""Namespace and release → the step that installs it."""


def read(fields: Fields, name: str, policy: Remote, taken: Releases) -> Helm | None:
    """What the step installs, besides its `path`; None if it has faults. `taken`: releases of earlier steps."""
    has_path, chart = fields.get("path") is not None, fields.read_text("chart", sources.URL_LIMIT)
    if has_path == (fields.get("chart") is not None):
        fields.fault("chart", "or `path` must be set, but not both: a remote chart, or one in /templates of the image")
    release = fields.read_form(
        "release", _NAME_FORM, RELEASE_LIMIT, "a release's name of lower-case letters, digits and '-'"
    ) or _name_release(name, {taken_name for _, taken_name in taken})
    _take(fields, name, release, taken)
    wait, create = fields.read_flag("wait"), fields.read_flag("create_namespace")
    return Helm(
        release=release,
        chart=chart,
        repo=_read_repo(fields, chart, policy),
        version=_read_version(fields),
        values=_read_values(fields),
        values_files=_read_files(fields),
        wait=True if wait is None else wait,
        create_namespace=True if create is None else create,
    )


def _take(fields: Fields, name: str, release: str, taken: Releases) -> None:
    """Refuse a release that an earlier step installs: helm would silently replace its chart."""
    said = fields.get("namespace")
    namespace = said.strip() if isinstance(said, str) else "default"
    other = taken.setdefault((namespace, release), name)
    if other != name:
        fields.fault(
            "release",
            f"of step {faults.show(name)} must not be '{release}': step {faults.show(other)} installs a release of "
            f"that name in namespace {faults.show(namespace)}, which this one would replace",
        )


def _name_release(name: str, taken: set[str]) -> str:
    """A valid release name made from the step's name, and unique, because the same release would be replaced."""
    made = re.sub(r"[^a-z0-9]+", "-", name.lower(), flags=re.ASCII)[:RELEASE_LIMIT].strip("-")
    if made and made not in taken:
        return made
    return names.join_limited([made or "release"], names.digest(name, length=6), limit=RELEASE_LIMIT)


def _read_repo(fields: Fields, chart: str | None, policy: Remote) -> str | None:
    """Checks the chart's reference; returns the repository where it is a name in one."""
    repo = fields.read_text("repo", sources.URL_LIMIT)
    if chart is None:
        if repo is not None:
            fields.fault("repo", "may be set only with `chart`")
        return None
    if "://" in chart:
        fault = sources.find_url_fault(chart, policy, schemes=("oci", *sources.WEB_SCHEMES))
        if fault is not None:
            fields.fault("chart", fault)
        if repo is not None:
            fields.fault("repo", "may not be set when `chart` is a URL")
        return None
    if not _CHART_FORM.fullmatch(chart) or fields.get("repo") is None:
        fields.fault("chart", f"must be 'oci://…', an archive's URL, or a name together with `repo`, not {faults.show(chart)}")
    elif repo is not None:
        fault = sources.find_url_fault(repo, policy)
        if fault is not None:
            fields.fault("repo", fault)
    return repo


def _read_version(fields: Fields) -> str | None:
    version = fields.read_form("version", _VERSION_FORM, 100, "a chart's version such as '1.2.3' or '^1.2'")
    if version is not None and fields.get("chart") is None:
        fields.fault("version", "may be set only with `chart`")
    return version


def _read_values(fields: Fields) -> dict[str, Any]:
    values = fields.get("values")
    if values is None:
        return {}
    if not isinstance(values, dict):
        fields.fault("values", f"must be a dictionary, not {faults.show(values)}; files with values go into `values_files`")
        return {}
    if len(json.dumps(values)) > VALUES_LIMIT:
        fields.fault("values", f"must not be larger than {VALUES_LIMIT // 1024} KiB: put them into a file of the image")
    return values


def _read_files(fields: Fields) -> tuple[str, ...]:
    files = fields.get("values_files")
    listed = [files] if isinstance(files, str) else files or []
    if not isinstance(listed, list) or len(listed) > FILE_LIMIT:
        fields.fault("values_files", f"must be a list of at most {FILE_LIMIT} paths relative to /templates of the image")
        return ()
    for index, path in enumerate(listed):
        fault = _find_file_fault(path)
        if fault is not None:
            fields.fault(f"values_files[{index}]", fault)
    return tuple(path for path in listed if isinstance(path, str))


def _find_file_fault(path: Any) -> str | None:
    if not isinstance(path, str):
        return "must be a string"
    if "," in path or '"' in path:
        # `--values` reads its argument as a CSV list and has no way to quote a single file.
        return f"{faults.show(path)} must not hold ',' or '\"': helm would treat it as several files"
    return sources.find_path_fault(path)
