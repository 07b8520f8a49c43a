"""The NestedClasses, parsed once per version."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from pydantic import ValidationError

from nestor.api.appdef_versions import sort_versions
from nestor.api.class_choice import find_class_name, find_default
from nestor.api.nestedclass import NestedClassSpec, resolve_class
from nestor.api.objects import Object, spec_of
from nestor.operator.world.kept import find_fault

log = logging.getLogger(__name__)


class Classes:
    """Reads the classes of a cache."""

    def __init__(self, cache: Iterable[Object], versions: Iterable[str]) -> None:
        self._cache = cache
        self._versions = sort_versions(versions)
        self._parsed: dict[str, tuple[str, NestedClassSpec | None]] = {}

    @property
    def default(self) -> str:
        """Name of the class of jobs that name none; there may be no such class."""
        return find_default(self._cache)

    def of(self, job: Object) -> NestedClassSpec | None:
        """The class of a job, if it exists."""
        return self.all().get(find_class_name(job, self.default))

    def all(self) -> dict[str, NestedClassSpec]:
        """The classes by name. One that does not match the schema (from an older CRD) is logged and treated as absent."""
        parsed = {}
        for item in self._cache:
            name, version = item["metadata"]["name"], item["metadata"].get("resourceVersion", "")
            known = self._parsed.get(name)
            parsed[name] = known if known and known[0] == version != "" else (version, self._parse(name, item))
        self._parsed = parsed
        return {name: spec for name, (_, spec) in parsed.items() if spec is not None}

    def _parse(self, name: str, item: Object) -> NestedClassSpec | None:
        if fault := find_fault(item):
            log.warning("NestedClass '%s' is ignored: %s", name, fault)
            return None
        try:
            return resolve_class(spec_of(item), self._versions)
        except ValidationError as error:
            log.warning("NestedClass '%s' is invalid: %s", name, error)
            return None
