"""The chart has the version of the package, and its values for the default class are those of a NestedClass."""

import base64
import json
import re
import tomllib
from pathlib import Path

import jsonschema_rs
import pytest
import yaml

from nestor import IMAGE, __version__
from nestor.api import labels
from nestor.api.contracts import vnode
from nestor.api.nestedappjob import NestedAppJobSpec
from nestor.operator.backends.process import account_of
from nestor.operator.backends.requests import MARGIN_SECONDS
from tests.reference import values

ROOT = Path(__file__).parents[2]


def test_the_chart_takes_every_field_of_a_class_and_no_others() -> None:
    crd = yaml.safe_load(values.CRD.read_text())
    assert values.SCHEMA.read_text() == values.fill_schema(values.SCHEMA.read_text(), crd), "run `python -m tests.reference`"
    faults = list(jsonschema_rs.iter_errors(json.loads(values.SCHEMA.read_text()), {"defaultClass": {"expose": {"prt": 80}}}))
    assert any("prt" in fault.message for fault in faults)


def test_the_chart_has_the_version_of_the_package() -> None:
    chart = yaml.safe_load((ROOT / "charts/nestor/Chart.yaml").read_text())
    assert (chart["version"], chart["appVersion"]) == (__version__, __version__)


def test_every_value_says_what_it_is() -> None:
    text = values.VALUES.read_text()
    found = values.read_values(text)
    described = {item.path for item in found}
    for path in values.list_paths(yaml.safe_load(text)):
        parents = {path.rsplit(".", count)[0] for count in range(max(1, path.count(".")))}
        assert parents & described, f"{path} has no comment"
    assert all(item.says for item in found)


def test_the_schema_knows_every_value_and_no_others() -> None:
    schema = json.loads((ROOT / "charts/nestor/values.schema.json").read_text())
    given = yaml.safe_load(values.VALUES.read_text())
    assert schema["properties"].keys() - {"global"} == given.keys()
    for section in ("image", "crds", "operator", "vnodes", "uninstall", "catalog", "portal"):
        known = schema["properties"][section]
        assert known["additionalProperties"] is False
        assert known["properties"].keys() == given[section].keys()


def test_artifact_hub_is_told_of_the_resources_as_they_are() -> None:
    chart = yaml.safe_load((ROOT / "charts/nestor/Chart.yaml").read_text())
    notes = chart["annotations"]
    crds = [yaml.safe_load(file.read_text()) for file in (ROOT / "crds").glob("*.yaml")]
    told = {(item["kind"], item["name"], item["version"]) for item in yaml.safe_load(notes["artifacthub.io/crds"])}
    assert told == {(crd["spec"]["names"]["kind"], crd["metadata"]["name"], crd["spec"]["versions"][0]["name"]) for crd in crds}
    given = yaml.safe_load(values.VALUES.read_text())
    own = f"{IMAGE}:{__version__}"
    images = [item["image"] for item in yaml.safe_load(notes["artifacthub.io/images"])]
    assert images == [own, *sorted(item["image"] for item in given["k3s"]["versions"])[-1:], given["k3s"]["coreDNSImage"]]
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]
    assert (chart["home"], chart["sources"]) == (urls["Homepage"], [urls["Source"]])
    assert {urls["Documentation"], urls["Changelog"]} <= {item["url"] for item in yaml.safe_load(notes["artifacthub.io/links"])}
    for example in yaml.safe_load(notes["artifacthub.io/crdsExamples"]):
        NestedAppJobSpec.model_validate(example["spec"])
    head, _, content = chart["icon"].partition(",")
    assert head == "data:image/svg+xml;base64"
    assert base64.b64decode(content) == (ROOT / "src/nestor/clients/ui/static/icon.svg").read_bytes()


def test_package_chart_and_image_name_the_same_license() -> None:
    name = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["license"]
    chart = yaml.safe_load((ROOT / "charts/nestor/Chart.yaml").read_text())
    assert chart["annotations"]["artifacthub.io/license"] == name
    assert f'org.opencontainers.image.licenses="{name}"' in (ROOT / "Dockerfile").read_text()
    assert (ROOT / "charts/nestor/LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_commands_of_its_readme_are_those_of_the_pages_that_say_more() -> None:
    files = ("README.md", *(f"docs/{page}.md" for page in ("install", "upgrade", "uninstall")))
    pages = " ".join("".join((ROOT / file).read_text() for file in files).replace("\\\n", " ").split())
    blocks = re.findall(r"^```bash\n(.*?)^```$", (ROOT / "charts/nestor/README.md").read_text(), re.MULTILINE | re.DOTALL)
    commands = [" ".join(line.split()) for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    assert len(commands) == 8
    assert [command for command in commands if command not in pages] == []


def test_only_a_backends_own_process_reports_about_it() -> None:
    """The policy names accounts as the operator does."""
    text = (ROOT / "charts/nestor/templates/vnode-policy.yaml").read_text()
    account = account_of("NAME", "{{ .Release.Namespace }}").removesuffix("NAME")
    assert f"startsWith('{account}')" in text
    assert f"request.userInfo.username == '{account}' + object.metadata.name" in text


def test_the_policies_of_virtual_nodes_say_what_the_operator_does() -> None:
    text = (ROOT / "charts/nestor/templates/vnode-policy.yaml").read_text()
    assert f"size(object.spec.request) <= {vnode.REQUEST_LIMIT * 3 // 4}" in text
    assert f"['{vnode.CLIENT_SIGNER}', '{vnode.SERVING_SIGNER}']" in text
    assert f"'{labels.BACKEND}' in oldObject.metadata.labels" in text
    assert f"startsWith('{vnode.NODE_USER_PREFIX}')" in text
    assert f"username.substring({len(vnode.NODE_USER_PREFIX)}) in params.data" in text
    assert f"    name: {vnode.RESERVED_CONFIG_MAP}\n    namespace: {{{{ .Release.Namespace }}}}" in text
    assert f"less than {(vnode.CERTIFICATE_SECONDS + MARGIN_SECONDS) / 3600:.0f} hours ago" in text


@pytest.mark.parametrize("page", ["README.md", "devcluster/README.md"])
def test_commands_in_the_readmes_use_the_tag_that_the_chart_expects(page: str) -> None:
    assert set(re.findall(r"/nestor:(\d[\w.-]*)", (ROOT / page).read_text())) == {__version__}
