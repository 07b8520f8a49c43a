"""What the syncer writes for a new cluster, and what its files may hold."""

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import nestor.syncer.seed
from nestor import __main__ as main_module
from nestor.api.contracts.syncer import SEED_VARIABLE, SEEDS
from nestor.api.objects import Object
from nestor.syncer.seed.plant import plant

FOLDER = Path(nestor.syncer.seed.__file__).parent
VERSION = SEEDS[-1]


def read(database: Path) -> dict[str, Object]:
    with closing(sqlite3.connect(database)) as opened:
        rows = opened.execute("SELECT name, value FROM kine WHERE created = 1 AND deleted = 0 AND create_revision = 0").fetchall()
    return {name: json.loads(value) for name, value in rows if value}


def test_each_cluster_has_identities_of_its_own(tmp_path: Path) -> None:
    for name in ("one", "two"):
        plant(VERSION, tmp_path / name)
    one, two = read(tmp_path / "one"), read(tmp_path / "two")
    assert one.keys() == two.keys()
    uids = [item["metadata"]["uid"] for item in (*one.values(), *two.values())]
    assert len(set(uids)) == len(uids) == 2 * len((FOLDER / f"{VERSION}.txt").read_text().splitlines())
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", one["/registry/namespaces/default"]["metadata"]["creationTimestamp"])


def test_nothing_is_written_twice(tmp_path: Path) -> None:
    target = tmp_path / "state.db"
    target.write_text("in use")
    plant(VERSION, target)
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("state.db", "in use")]


@pytest.mark.parametrize("version", ["", "v0.0.0"])
def test_the_syncer_starts_without_a_seed_that_is_not_wanted_or_cannot_be_written(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], version: str
) -> None:
    monkeypatch.setenv(SEED_VARIABLE, version)
    monkeypatch.setattr(main_module, "_import_process", lambda name: lambda arguments: 7)
    assert main_module._run_process("syncer", []) == 7
    assert capsys.readouterr().err.startswith("the cluster begins without a seed: ") is bool(version)


def test_a_part_that_an_earlier_process_left_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "state.part").write_text("half")
    plant(VERSION, tmp_path / "state.db")
    assert [path.name for path in tmp_path.iterdir()] == ["state.db"]
    assert read(tmp_path / "state.db")


def test_there_is_a_file_for_each_version_and_no_other() -> None:
    assert sorted(path.stem for path in FOLDER.glob("*.txt")) == sorted(SEEDS)


@pytest.mark.parametrize("version", SEEDS)
def test_no_cluster_s_keys_names_addresses_or_dates_are_in_a_file(version: str) -> None:
    for line in (FOLDER / f"{version}.txt").read_text().splitlines():
        key, value = line.split(" ", 1)
        metadata = json.loads(value)["metadata"]
        assert key.endswith("/".join(["", *filter(None, [metadata.get("namespace")]), metadata["name"]]))
        assert (metadata["uid"], metadata["creationTimestamp"], "resourceVersion" in metadata) == ("<uid>", "<now>", False)
        assert not re.search(r"CERTIFICATE|PRIVATE|\d{4}-\d\d-\d\dT|\d+\.\d+\.\d+\.\d+|[0-9a-f]{8}-[0-9a-f]{4}-", value), key
        assert key.split("/")[2] not in {"secrets", "configmaps", "services", "leases", "events"}
