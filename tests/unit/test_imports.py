"""What the processes import, which is most of their start and of their memory: nothing that is only for others, or for later."""

import os
import re
import ssl
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from nestor.__main__ import PROCESSES, starting

ROOT = Path(__file__).parents[2]
HEAVY = {"kubernetes", "requests", "urllib3", "jinja2", "cel", "numpy", "schemathesis", "pytest", "asyncio.windows_events"}
"""What no process imports when it starts."""
COMMANDS = {"typer", "rich", "click", "nestor.clients.cli"}
MODELS = {
    f"nestor.api.{name}" for name in ("nestedclass", "class_parts", "nestedappjob", "nestedapp", "crd", "expose", "job_status")
}
"""Models of what users write, and all that they import."""
BACKENDS = {"nestor.api.overflowbackend", "nestor.api.backend_kinds"}
"""Models of OverflowBackends."""
NOT_FOR = {
    "operator": HEAVY | {"typer", "rich", "nestor.clients.cli", "nestor.syncer", "nestor.overflow.vnode"},  # kopf imports click
    "syncer": HEAVY
    | COMMANDS
    | MODELS
    | BACKENDS
    | {"kopf", "cryptography", "pydantic", "yaml", "aiohttp.web", "nestor.operator", "importlib.metadata", "prometheus_client"},
    "vnode": HEAVY
    | COMMANDS
    | MODELS
    | {"kopf", "yaml", "nestor.overflow.interlink", "nestor.overflow.remote", "nestor.syncer", "importlib.metadata"},
    "runner": HEAVY | COMMANDS | MODELS | {"kopf", "cryptography", "aiohttp.web", "nestor.syncer", "importlib.metadata"},
    "reader": HEAVY | COMMANDS | MODELS | {"kopf", "cryptography", "aiohttp", "yaml"},
    "probe": HEAVY | COMMANDS | MODELS | {"kopf", "cryptography", "aiohttp", "pydantic", "yaml"},
    "portal": (HEAVY - {"jinja2"})
    | MODELS
    | {"typer", "rich", "click", "kopf", "cryptography", "nestor.operator", "nestor.syncer"},
    "activator": HEAVY | COMMANDS | MODELS | {"kopf", "cryptography", "pydantic", "yaml", "nestor.operator", "nestor.syncer"},
    "status": HEAVY | MODELS | {"kopf", "cryptography", "aiohttp.web", "pydantic", "nestor.apps.steps", "nestor.pods.translate"},
}
"""By process, or command: `status` stands for all of a user's."""
IN_IMAGE = """
import sys
# Of these, the image has none, but the environment of the tests does; kopf imports `kubernetes` where it finds it.
sys.modules.update(dict.fromkeys({missing}))
"""
IMPORTS = """
from nestor.__main__ import PROCESSES, _import_process, starting
with starting():
    if {name!r} in PROCESSES:
        _import_process({name!r})
    else:
        from nestor.__main__ import add_pages
        add_pages()
print(*(name for name, module in sys.modules.items() if module))
"""


def list_imports(name: str) -> set[str]:
    """What a process or command has imported when it begins to work."""
    missing = ["kubernetes"] if name in PROCESSES else []
    code = IN_IMAGE.format(missing=missing) + IMPORTS.format(name=name)
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_every_process_is_in_the_table() -> None:
    assert NOT_FOR.keys() == {*PROCESSES, "status"}


@pytest.mark.parametrize("name", NOT_FOR)
def test_a_process_imports_nothing_that_is_for_others(name: str) -> None:
    found = list_imports(name)
    assert PROCESSES.get(name, "nestor.clients.cli.main") in found
    assert not found & NOT_FOR[name]
    assert not [item for item in found if item.startswith("_sysconfigdata")]


def test_the_image_has_nothing_of_the_command_line() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    only_commands = {re.split(r"[>=<]", item)[0] for item in project["optional-dependencies"]["cli"]}
    locked = set(re.findall(r"(?m)^([\w.-]+)==", (ROOT / "requirements/runtime.txt").read_text()))
    assert "kubernetes" in only_commands
    assert "aiohttp" in locked
    assert not only_commands & locked


def test_the_authorities_of_the_machine_are_hidden_only_while_importing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "mine.pem"))
    with starting():
        assert not ssl.create_default_context().get_ca_certs()
    assert os.environ["SSL_CERT_FILE"] == str(tmp_path / "mine.pem")
    monkeypatch.delenv("SSL_CERT_FILE")
    with starting():
        pass
    assert "SSL_CERT_FILE" not in os.environ


@pytest.mark.parametrize("own", ["", "/own"])
def test_time_zones_are_found_where_python_looks_for_them(own: str) -> None:
    """And nothing of it is left for the programs that a process starts."""
    say = "import os, zoneinfo\nprint(zoneinfo.TZPATH, os.environ.get('PYTHONTZPATH'))"
    ours = f"from nestor.__main__ import starting\nwith starting(): import zoneinfo\n{say}"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")} | ({"PYTHONTZPATH": own} if own else {})
    told = [
        subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True).stdout
        for code in (say, ours)
    ]
    assert told[0] == told[1]
