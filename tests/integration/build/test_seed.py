"""A cluster from a seed is a fresh one: two stand-ins side by side, and every object of theirs."""

import json
import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

import nestor.syncer.seed
from devcluster import seed
from nestor.api.contracts.syncer import SEEDS
from nestor.syncer.seed.plant import plant
from tests.waiting import comes_true

pytestmark = pytest.mark.slow

OWN = re.compile(
    r"-----BEGIN[^-]+-----[^-]+-----END[^-]+-----(\\n)?|LS0tLS1CRUdJTi[A-Za-z0-9+/=]+|SHA1=[0-9A-F]+|\d{4}-\d\d-\d\dT[\d:.]+Z|10\.9\.0\.\d+"
)
"""Certificates, keys and dates of the one cluster."""


def list_objects(server: seed.Server) -> dict[str, Any]:
    """All objects of all kinds, without what each cluster has of its own."""
    groups = [item["preferredVersion"]["groupVersion"] for item in server.get("/apis").get("groups", [])]
    found = {}
    for base in ("/api/v1", *(f"/apis/{group}" for group in groups)):
        for kind in server.get(base).get("resources", []):
            if "/" not in kind["name"] and "list" in kind["verbs"]:
                for item in server.get(f"{base}/{kind['name']}").get("items", []):
                    metadata = item["metadata"]
                    metadata.pop("resourceVersion", None), metadata.pop("uid", None)
                    name = f"{base}/{kind['name']} {metadata.get('namespace', '')}/{metadata['name']}"
                    found[name] = json.loads(OWN.sub("…", json.dumps(seed.without_dates(item))))
    return {name: item for name, item in found.items() if "/events " not in name and "/leases " not in name}


async def test_a_seeded_cluster_differs_from_a_fresh_one_in_dates_and_identities_alone(tmp_path: Path) -> None:
    (tmp_path / "fresh").mkdir()
    (tmp_path / "seeded/data/server/db").mkdir(parents=True)
    plant(SEEDS[-1], tmp_path / "seeded/data/server/db/state.db")
    with ExitStack() as stack, ThreadPoolExecutor() as pool:
        both = list(pool.map(lambda name: stack.enter_context(seed.serving(tmp_path / name)), ("fresh", "seeded")))
        lines = (Path(nestor.syncer.seed.__file__).parent / f"{SEEDS[-1]}.txt").read_text().splitlines()
        await comes_true(lambda: [seed.read(server) for server in both] == [lines, lines])
        await comes_true(lambda: list_objects(both[0]) == list_objects(both[1]))
        assert len(list_objects(both[0])) > len(lines)
