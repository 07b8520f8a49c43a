"""What helm runs before it upgrades the chart: definitions that are missing are made, and later ones left alone."""

import re
from pathlib import Path
from typing import cast

from nestor.api.crd import RESOURCES, build_crd
from nestor.kube import Api, kinds
from nestor.operator.upgrade import upgrade
from tests.fakes.api import MemoryApi

TEMPLATE = Path(__file__).parents[3] / "charts/nestor/templates/upgrade.yaml"


async def test_what_is_missing_is_made_and_a_later_version_is_left_alone() -> None:
    api = MemoryApi()
    later = build_crd(RESOURCES[0])
    later["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["new"] = {"type": "string"}
    api.put(kinds.CRD, later)
    assert await upgrade(cast(Api, api))
    assert sorted(item for item in api.asked if not item.startswith("GET")) == sorted(
        f"APPLY customresourcedefinitions {resource.plural}.nestor.dev" for resource in RESOURCES[1:]
    )


async def test_a_later_version_that_lacks_something_is_told() -> None:
    api = MemoryApi()
    later = build_crd(RESOURCES[0])
    fields = later["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
    fields["new"] = fields.pop("suspend")
    api.put(kinds.CRD, later)
    assert not await upgrade(cast(Api, api))


def test_its_account_may_write_these_definitions_and_no_others() -> None:
    said = re.findall(r"resourceNames: \[(.*)\]", TEMPLATE.read_text())
    assert [sorted(names.split(", ")) for names in said] == [sorted(f"{resource.plural}.nestor.dev" for resource in RESOURCES)]
