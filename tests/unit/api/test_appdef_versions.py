"""The Kubernetes version that an AppDef gets of those that a class has."""

import pytest

from nestor.api.appdef_versions import Offer, find_offer

CHART = ["v1.33", "v1.34", "v1.35", "v1.36"]


@pytest.mark.parametrize(
    ("wanted", "offered", "version"),
    [
        ("v1.34", CHART, "v1.34"),
        ("v1.30", CHART, "v1.33"),
        ("v1.30", CHART[::-1], "v1.33"),
        ("v1.9", ["v1.10", "v1.36"], "v1.10"),
        ("v1.34", ["v1.33", "v1.36", "v1.35"], "v1.35"),
        ("v1.36", ["v1.35", "v2.0"], "v2.0"),
        ("v2.0", ["v1.99", "v2.1"], "v2.1"),
        ("v1.37", CHART, None),
        ("v1.99", CHART, None),
        ("v1.30", [], None),
        ("latest", CHART, None),
        ("v1.30", ["latest", "v1.33"], "v1.33"),
        ("latest", ["latest"], "latest"),
    ],
)
def test_the_version_itself_is_taken_or_the_nearest_newer_one(wanted: str, offered: list[str], version: str | None) -> None:
    offer = find_offer(wanted, offered)
    assert (offer and offer.version) == version
    if offer is not None and offer.version == wanted:
        assert offer == Offer(wanted, "")
    elif offer is not None:
        assert offer.note == (
            f"the AppDef's Kubernetes version '{wanted}' is not offered; {version}, the nearest newer one, is taken"
        )
