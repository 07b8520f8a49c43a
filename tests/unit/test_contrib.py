"""The files for other programs in `contrib`: by the forms that these document, and by Nestor's own commands and fields."""

import re
import shlex
import string
from typing import Any

import jsonschema_rs
import pytest
import yaml

from nestor.api.crd import RESOURCES, build_crd
from tests.site.links import ROOT
from tests.unit.clients.cli.memory import parse

CONTRIB = ROOT / "contrib"
TEXT, FLAG = {"type": "string", "minLength": 1}, {"type": "boolean"}
TEXTS = {"type": "array", "items": TEXT, "minItems": 1}


def form(required: str, **properties: Any) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "properties": properties, "required": required.split()}


def named(**inner: Any) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": inner, "minProperties": 1}


PLUGIN = form(
    "shortCut description scopes command",
    **dict.fromkeys(("shortCut", "description", "command"), TEXT),
    **dict.fromkeys(("scopes", "args"), TEXTS),
    **dict.fromkeys(("override", "confirm", "dangerous", "background", "overwriteOutput"), FLAG),
)
VIEW = form("columns", sortColumn={"type": "string", "pattern": "^[A-Z-]+:(asc|desc)$"}, columns=TEXTS)
SYSTEM = form("os arch", os={"enum": ["linux", "darwin", "windows"]}, arch={"enum": ["amd64", "arm64"]})
PLATFORM = form(
    "selector uri sha256 bin",
    selector=form("matchLabels", matchLabels=SYSTEM),
    uri={"type": "string", "pattern": r"^https://.*\.(tar\.gz|zip)$"},
    sha256={"type": "string", "pattern": "^[0-9a-f]{64}$"},
    bin=TEXT,
)
KREW = form(
    "apiVersion kind metadata spec",
    apiVersion={"const": "krew.googlecontainertools.github.com/v1alpha2"},
    kind={"const": "Plugin"},
    metadata=form("name", name=TEXT),
    spec=form(
        "version homepage shortDescription description platforms",
        version={"type": "string", "pattern": r"^v\d+\.\d+\.\d+$"},
        shortDescription={"type": "string", "maxLength": 50},
        platforms={"type": "array", "items": PLATFORM, "minItems": 1},
        **dict.fromkeys(("homepage", "description", "caveats"), TEXT),
    ),
)
PLUGINS = yaml.safe_load((CONTRIB / "k9s/plugins.yaml").read_text())["plugins"]
VIEWS = yaml.safe_load((CONTRIB / "k9s/views.yaml").read_text())
K9S = {"NAME": "shop", "NAMESPACE": "team-a", "CONTEXT": "here"}
"""What k9s puts in for a variable; it refuses a plugin with any other."""


def test_k9s_has_a_key_of_its_own_for_each_plugin() -> None:
    jsonschema_rs.validate(form("plugins", plugins=named(**PLUGIN)), {"plugins": PLUGINS})
    assert len({plugin["shortCut"] for plugin in PLUGINS.values()}) == len(PLUGINS)
    told = (CONTRIB / "k9s/plugins.yaml").read_text()
    assert not [name for name, plugin in PLUGINS.items() if not re.search(rf"^#   {plugin['shortCut']} ", told, re.MULTILINE)]


@pytest.mark.parametrize("name", PLUGINS)
def test_k9s_calls_nestor_by_right_usage(name: str) -> None:
    plugin = PLUGINS[name]
    assert plugin["scopes"] == ["nestedappjobs"]
    words = [string.Template(item).substitute(K9S) for item in [plugin["command"], *plugin["args"]]]
    if words[0] == "sh":
        words = shlex.split(words[2].partition(" 2>&1 |")[0])
    assert words[0] == "nestor"
    parse(words[1:])


def test_k9s_shows_columns_that_jobs_have() -> None:
    jsonschema_rs.validate(form("views", views=named(**VIEW)), VIEWS)
    ((path, view),) = VIEWS["views"].items()
    (version,) = (crd := build_crd(next(item for item in RESOURCES if item.plural == "nestedappjobs")))["spec"]["versions"]
    assert path == f"{crd['spec']['group']}/{version['name']}/nestedappjobs"
    shown = {"NAMESPACE", "NAME", *(column["name"].upper() for column in version["additionalPrinterColumns"])}
    for title, _, place in (column.partition(":.") for column in view["columns"]):
        schema = version["schema"]["openAPIV3Schema"]
        for key in filter(None, place.split(".")):
            schema = schema["properties"][key]
        assert place or title in shown


def test_a_release_makes_a_manifest_for_krew() -> None:
    text = (CONTRIB / "krew/nestor.yaml").read_text()
    made = {name: "a" * 64 for name in re.findall(r"\$(SHA256_\w+)", text)}
    made |= {"VERSION": "0.2.0", "URL": "https://example.com/v0.2.0", "HOMEPAGE": "https://example.com"}
    body = "".join(line for line in text.splitlines(keepends=True) if not line.startswith("#"))
    manifest = yaml.safe_load(string.Template(body).substitute(made))
    jsonschema_rs.validate(KREW, manifest)
    assert manifest["metadata"]["name"] == "nestor", "as the file, and as kubectl's plugin"
    for platform in manifest["spec"]["platforms"]:
        system = "-".join(platform["selector"]["matchLabels"].values())
        assert platform["uri"].endswith(f"-{system}.tar.gz")
        assert f"SHA256_{system.upper().replace('-', '_')}" in made
