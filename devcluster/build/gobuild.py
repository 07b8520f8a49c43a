"""Builds the Go components into the cache and links the current ones into `bin`."""

import json
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from devcluster.build import commands, components, debian, keys, machine
from devcluster.build.cache import REPOSITORY, Cache, link
from devcluster.build.components import COMPONENTS, TESTED, Component
from devcluster.progress import Progress, Stage

MODULES = REPOSITORY / "devcluster" / "go"
FLAGS = ("-mod=readonly", "-trimpath", "-gcflags=all=-dwarf=false")
"""Of builds and tests, so that they share packages. Debug information, which takes time, would not be linked anyway."""
KEEP_SECONDS = 7 * 24 * 3600
"""Builds of other keys are kept this long: another checkout may use the same cache."""


def ensure_components(cache: Cache, progress: Progress, table: Sequence[Component] = COMPONENTS) -> None:
    """Build what is missing, those of one module by one call of Go, which keeps all processors busy."""
    missing = [component for component in table if not _is_built(cache, component)]
    if missing:
        machine.check_go(_go_mod(missing[0]))
        machine.check_disk(sum(component.disk_gigabytes for component in missing), "to build programs from source")
    for group in _group(missing):
        with progress.stage(f"Build {', '.join(name for component in group for name in component.programs)}") as stage:
            _build(cache, group, stage)
    for component in table:
        _link(cache, component)


def _group(missing: Sequence[Component]) -> list[list[Component]]:
    """What one call can build: the same module, with C or without."""
    groups: dict[tuple[str, bool], list[Component]] = {}
    for component in missing:
        groups.setdefault((component.module, component.cgo), []).append(component)
    return list(groups.values())


def run_tests(cache: Cache, progress: Progress) -> None:
    """Run the Go tests of every component; what Go has run before with the same inputs, it does not run again."""
    tested = [component for component in TESTED if component.tests]
    machine.check_go(_go_mod(tested[0]))
    if missing := [component for component in TESTED if not _is_built(cache, component)]:
        machine.check_disk(sum(component.disk_gigabytes for component in missing), "to build programs from source")
    for component in tested:
        with progress.stage(f"Test {', '.join(component.programs)}"):
            # Built as the programs are, so that the packages are compiled once. vet would analyze all of Kubernetes.
            command = ["go", "test", "-vet=off", *FLAGS, "-tags", component.tags, *component.tests]
            commands.run(
                command, cache.log / f"go-test-{component.name}.log", cwd=MODULES / component.module, env=_env(cache, component)
            )


def module_folder(component: Component, dependency: str) -> Path:
    """Where Go keeps the source of one of a component's dependencies, which is downloaded if it is not there."""
    command = ["go", "-C", str(MODULES / component.module), "mod", "download", "-json", dependency]
    return Path(json.loads(commands.capture(command, env={"GOFLAGS": "", "GOWORK": "off"}))["Dir"])


def folder(cache: Cache, component: Component) -> Path:
    """Where a component's programs are, or will be."""
    module = MODULES / component.module
    files = keys.files_below(module, "go.mod", "go.sum", *component.sources)
    return cache.go / f"{component.name}-{keys.file_key(module, files, repr(component), *FLAGS)}"


def _is_built(cache: Cache, component: Component) -> bool:
    place = folder(cache, component)
    return all((place / program).exists() for program in component.programs)


def _build(cache: Cache, group: Sequence[Component], stage: Stage) -> None:
    """Build into a folder beside, whose programs appear under their components' names only when all are there."""
    cache.go.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".new-", dir=cache.go) as temporary:
        _go_build(cache, group, Path(temporary), stage)
        for component in group:
            place = folder(cache, component)
            fresh = Path(temporary) / place.name
            fresh.mkdir(mode=0o755)
            for program in component.programs:
                (Path(temporary) / program).rename(fresh / program)
            shutil.rmtree(place, ignore_errors=True)
            fresh.rename(place)
    for component in group:
        _forget_old(cache, component)


def build_program(cache: Cache, component: Component, program: str, output: Path, machine: str) -> None:
    """Build one program for another processor; it appears when it is whole. Only what has no C can be built so."""
    if component.cgo:
        raise commands.BuildError(f"{program} has parts in C, which are built for this machine alone")
    output.parent.mkdir(parents=True, exist_ok=True)
    fresh = output.with_name(f".{output.name}.new")
    command = [*_build_command(component), "-ldflags", _linker_flags(component), "-o", str(fresh), component.programs[program]]
    _run(cache, component, program, command, env={"GOARCH": machine})
    fresh.replace(output)


def _go_build(cache: Cache, group: Sequence[Component], output: Path, stage: Stage) -> None:
    """All programs into one folder, each under its own name."""
    programs = [(component, *item) for component in group for item in component.programs.items()]
    tests = [program for program in programs if program[1].endswith(".test")]
    packages = [package for program in programs if program not in tests for package in program[2:]]
    first = group[0]
    counted = Counted(stage)
    _run(cache, first, "list", ["go", "list", "-deps", "-mod=readonly", "-tags", first.tags, *packages], heard=counted.count)
    flags = [f"-ldflags={package}={_linker_flags(component)}" for component, _, package in programs]
    _run(cache, first, "build", [*_build_command(first), "-v", *flags, "-o", f"{output}/", *packages], heard=counted.built)
    for _, program, package in programs:
        built = output / package.rpartition("/")[2]
        if built.name != program and package in packages:
            built.rename(output / program)
    for component, program, package in tests:
        command = [*_build_command(component, "test", "-c", "-vet=off"), "-o", str(output / program), package]
        _run(cache, component, program, [*command, "-ldflags", _linker_flags(component)])


@dataclass
class Counted:
    """Tells a stage how many packages Go has compiled, of how many. It does not compile again what it has from before."""

    stage: Stage
    total: int = 0
    done: int = 0

    def count(self, line: str) -> None:
        """A line of `go list`: a package, or a module that is downloaded."""
        self.total += not self._tell_download(line)

    def built(self, line: str) -> None:
        """A line of `go build -v`: the same."""
        if not self._tell_download(line):
            self.done += 1
            self.stage.detail = f"{self.done} of {self.total} packages"

    def _tell_download(self, line: str) -> bool:
        if not line.startswith("go: "):
            return False
        self.stage.detail = line.removeprefix("go: ").strip()
        return True


def _build_command(component: Component, *verb: str) -> list[str]:
    patience = ["nice", "-n", str(component.niceness)] if component.niceness else []
    return [*patience, "go", *(verb or ("build",)), *FLAGS, "-buildvcs=false", "-tags", component.tags]


def _run(
    cache: Cache, component: Component, name: str, command: list[str],
    *, heard: Callable[[str], None] | None = None, env: Mapping[str, str] | None = None,
) -> None:  # fmt: skip
    log = cache.log / f"go-{component.module}-{name}.log"
    commands.run(command, log, cwd=MODULES / component.module, env=_env(cache, component) | dict(env or {}), heard=heard)


def _linker_flags(component: Component) -> str:
    return components.linker_flags(component, _go_mod(component))


def _env(cache: Cache, component: Component) -> dict[str, str]:
    # The compiler's life is short: with its garbage collected only near a limit, it works 7 % less than with GOGC=400.
    env = {"CGO_ENABLED": "1" if component.cgo else "0", "GOFLAGS": "", "GOWORK": "off", "GOGC": "off", "GOMEMLIMIT": "2GiB"}
    if component.cgo:
        sqlite = cache.deb / debian.SQLITE
        env |= {"CGO_CFLAGS": f"-O2 -I{sqlite}/usr/include", "CGO_LDFLAGS": f"-L{sqlite}/usr/lib/x86_64-linux-gnu -lm"}
    return env


def _link(cache: Cache, component: Component) -> None:
    for program in component.programs:
        link(cache.bin / program, folder(cache, component) / program)


def _forget_old(cache: Cache, component: Component) -> None:
    current = folder(cache, component)
    for other in cache.go.glob(f"{component.name}-{'[0-9a-f]' * keys.LENGTH}"):
        if other != current and other.stat().st_mtime < time.time() - KEEP_SECONDS:
            shutil.rmtree(other)


def _go_mod(component: Component) -> str:
    return (MODULES / component.module / "go.mod").read_text()
