"""The definitions of VolumeSnapshots, as hosts with a snapshot controller have them."""

import asyncio
import json
from pathlib import Path

import yaml

from nestor.api.objects import Object
from nestor.kube import Api, kinds
from tests.waiting import has, wait_for

MODULE = "github.com/kubernetes-csi/external-snapshotter/client/v8"
FOLDER = Path(__file__).parents[2] / "devcluster/go/snapshots"
KINDS = (kinds.VOLUME_SNAPSHOT, kinds.VOLUME_SNAPSHOT_CLASS, kinds.VOLUME_SNAPSHOT_CONTENT)


async def read_definitions() -> dict[str, Object]:
    """The definitions, from the Go module that has them."""
    command = ["go", "-C", str(FOLDER), "mod", "download", "-json", MODULE]
    process = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    output, _ = await process.communicate()
    folder = Path(json.loads(output)["Dir"]) / "config/crd"
    return {kind.plural: yaml.safe_load((folder / f"{kind.group}_{kind.plural}.yaml").read_text()) for kind in KINDS}


async def define_snapshots(api: Api) -> dict[str, Object]:
    """A cluster has snapshots from here on."""
    found = await read_definitions()
    for body in found.values():
        await api.apply(kinds.CRD, body)
        await wait_for(api, kinds.CRD, body["metadata"]["name"], "", has("Established", "True"))
    return found
