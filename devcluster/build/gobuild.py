"""Builds the Go components into the cache and links the current ones into `bin`."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from devcluster.build import commands, components, keys, machine
from devcluster.build.cache import REPOSITORY, Cache
from devcluster.build.components import COMPONENTS, CONFORMANCE, Component
from devcluster.progress import Progress

MODULES = REPOSITORY / "devcluster" / "go"
KEEP_SECONDS = 7 * 24 * 3600
"""Builds of other keys are kept this long: another checkout may use the same cache."""


def ensure_components(cache: Cache, progress: Progress, table: Sequence[Component] = COMPONENTS) -> None:
    """Build what is missing, in the order of the table, each linked as soon as it is there."""
    missing = [component for component in table if not _is_built(cache, component)]
    if missing:
        machine.check_go(_go_mod(missing[0]))
        machine.check_disk(sum(component.disk_gigabytes for component in missing), "to build programs from source")
    for component in table:
        if component in missing:
            with progress.stage(f"Build {', '.join(component.programs)}"):
                _build(cache, component)
        _link(cache, component)


def run_tests(cache: Cache, progress: Progress) -> None:
    """Run the Go tests of every component; what Go has run before with the same inputs, it does not run again."""
    tested = [component for component in (*COMPONENTS, *CONFORMANCE) if component.tests]
    machine.check_go(_go_mod(tested[0]))
    modules = {component.module for component in tested}
    needed = [component for component in (*COMPONENTS, *CONFORMANCE) if component.module in modules]
    if missing := [component for component in needed if not _is_built(cache, component)]:
        machine.check_disk(sum(component.disk_gigabytes for component in missing), "to build programs from source")
    for component in tested:
        with progress.stage(f"Test {', '.join(component.programs)}"):
            # Built as the programs are, so that the packages are compiled once. vet would analyse all of Kubernetes.
            command = ["go", "test", "-vet=off", "-mod=readonly", "-trimpath", "-tags", component.tags, *component.tests]
            commands.run(
                command, cache.log / f"go-test-{component.name}.log", cwd=MODULES / component.module, env=_env(component)
            )


def module_folder(component: Component, dependency: str) -> Path:
    """Where Go keeps the source of one of a component's dependencies, which is downloaded if it is not there."""
    command = ["go", "-C", str(MODULES / component.module), "mod", "download", "-json", dependency]
    return Path(json.loads(commands.capture(command, env=_env(component)))["Dir"])


def folder(cache: Cache, component: Component) -> Path:
    """Where a component's programs are, or will be."""
    module = MODULES / component.module
    files = keys.files_below(module, "go.mod", "go.sum", *component.sources)
    return cache.go / f"{component.name}-{keys.file_key(module, files, repr(component))}"


def _is_built(cache: Cache, component: Component) -> bool:
    place = folder(cache, component)
    return all((place / program).exists() for program in component.programs)


def _build(cache: Cache, component: Component) -> None:
    """Build into a folder beside, which appears under its name only when everything is in it."""
    cache.go.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{component.name}-", dir=cache.go) as temporary:
        for program, package in component.programs.items():
            _go_build(cache, component, package, Path(temporary) / program)
        place = folder(cache, component)
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(temporary, place)
    _forget_old(cache, component)


def build_program(cache: Cache, component: Component, program: str, output: Path, machine: str) -> None:
    """Build one program for another processor; it appears when it is whole. Only what has no C can be built so."""
    if component.cgo:
        raise commands.BuildError(f"{program} has parts in C, which are built for this machine alone")
    output.parent.mkdir(parents=True, exist_ok=True)
    fresh = output.with_name(f".{output.name}.new")
    _go_build(cache, component, component.programs[program], fresh, {"GOARCH": machine})
    fresh.replace(output)


def _go_build(cache: Cache, component: Component, package: str, output: Path, more: Mapping[str, str] | None = None) -> None:
    verb = ["test", "-c", "-vet=off"] if output.suffix == ".test" else ["build"]
    patience = ["nice", "-n", str(component.niceness)] if component.niceness else []
    command = [
        *patience, "go", *verb, "-mod=readonly", "-trimpath", "-buildvcs=false", "-tags", component.tags,
        "-ldflags", components.linker_flags(component, _go_mod(component)), "-o", str(output), package,
    ]  # fmt: skip
    env = _env(component) | dict(more or {})
    commands.run(command, cache.log / f"go-{output.name.strip('.')}.log", cwd=MODULES / component.module, env=env)


def _env(component: Component) -> dict[str, str]:
    return {"CGO_ENABLED": "1" if component.cgo else "0", "GOFLAGS": "", "GOWORK": "off"}


def _link(cache: Cache, component: Component) -> None:
    for program in component.programs:
        link(cache.bin / program, folder(cache, component) / program)


def link(place: Path, target: Path) -> None:
    """Point a link somewhere, in one step: whoever runs the program meanwhile finds the old one or the new one."""
    if place.is_symlink() and place.readlink() == target:
        return
    place.parent.mkdir(parents=True, exist_ok=True)
    fresh = place.with_name(f".{place.name}.new")
    fresh.unlink(missing_ok=True)
    fresh.symlink_to(target)
    fresh.replace(place)


def _forget_old(cache: Cache, component: Component) -> None:
    current = folder(cache, component)
    for other in cache.go.glob(f"{component.name}-{'[0-9a-f]' * keys.LENGTH}"):
        if other != current and other.stat().st_mtime < time.time() - KEEP_SECONDS:
            shutil.rmtree(other)


def _go_mod(component: Component) -> str:
    return (MODULES / component.module / "go.mod").read_text()
