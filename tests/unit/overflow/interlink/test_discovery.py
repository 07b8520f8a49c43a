"""What backends tell about their machines becomes shapes, or is refused."""

import json
from dataclasses import replace
from typing import Any

import pytest

from nestor.api.objects import Object
from nestor.overflow.interlink.questions import read_peers, read_ping
from nestor.overflow.interlink.shapes import name_gpu
from nestor.overflow.interlink.wire import PeerGpu
from nestor.pods.providers.base import Shape
from nestor.pods.providers.errors import Unreachable
from tests.unit.overflow.interlink.conftest import Backend

# The three peers of NuNet's page, as far as it prints them. Its own consolidation (see the last test) contradicts them: it counts
# the absent peer's GPUs and a fifth RTX 3080, and takes CPU and memory of the largest peer instead of sums.
P100 = {"name": "Tesla P100-PCIE-16GB", "tot_vram": 16384, "free_vram": 15972}
RTX_3080 = {"name": "NVIDIA GeForce RTX 3080", "tot_vram": 10240, "free_vram": 9995}
RTX_3090 = {"name": "NVIDIA GeForce RTX 3090", "tot_vram": 24576, "free_vram": 24048}
PEERS: list[Object] = [
    {
        "peer_id": "1", "is_available": True, "has_gpu": False, "gpu_info": None, "services": [],
        "available_resources": {"id": 1, "tot_cpu_hz": 4000, "ram": 4000, "vcpu": 1, "disk": 0, "ntx_price": 0},
    },
    {
        "peer_id": "2", "is_available": False, "has_gpu": True, "gpu_info": [P100] * 3, "services": None,
        "available_resources": {"tot_cpu_hz": 0, "ram": 0, "vcpu": 0},
    },
    {
        "peer_id": "3", "is_available": True, "has_gpu": True, "gpu_info": [RTX_3080] * 4 + [RTX_3090] * 2, "services": [{}],
        "available_resources": {"tot_cpu_hz": 114299, "ram": 113855, "vcpu": 17},
    },
]  # fmt: skip


def read_all(value: Any) -> list[Shape]:
    return read_peers(json.dumps(value).encode(), "/resources")


def test_peers_become_a_shape_for_each_kind_of_hardware() -> None:
    cpu, gpus = read_all(PEERS)
    assert cpu == Shape("cpu", {"cpu": "1", "memory": "4000Mi", "nunet.io/cpu-mhz": "4000"}, machines=1)
    assert gpus == Shape(
        "nvidia-rtx-3080-10gb-nvidia-rtx-3090-24gb"[:31] + "-" + gpus.name[-8:],
        {
            "cpu": "17",
            "memory": "113855Mi",
            "nunet.io/cpu-mhz": "114299",
            "nunet.io/gpu-nvidia-rtx-3080-10gb": "4",
            "nunet.io/gpu-nvidia-rtx-3090-24gb": "2",
        },
        machines=1,
    )
    assert len(gpus.name) <= 40


def test_resources_of_available_peers_of_one_kind_are_summed() -> None:
    twins = [PEERS[2] | {"gpu_info": [RTX_3090]}, PEERS[2] | {"gpu_info": [RTX_3090] * 2}, PEERS[2] | {"is_available": False}]
    (shape,) = read_all(twins)
    assert shape.name == "nvidia-rtx-3090-24gb"
    assert (shape.machines, shape.capacity["cpu"], shape.capacity["memory"]) == (2, "34", "227710Mi")
    assert shape.capacity["nunet.io/gpu-nvidia-rtx-3090-24gb"] == "3"


def test_a_map_of_sums_becomes_the_only_shape() -> None:
    told = {
        "nunet.gpu.nvidia.tesla.p100.16gb": 3,
        "nunet.gpu.nvidia.rtx.3080.10gb": 5,
        "nunet.gpu.nvidia.rtx.3090.24gb": 2,
        "nunet.cpu.cores": 17,
        "nunet.cpu.mhz": 114299,
        "nunet.ram.gb": 113855,
    }
    assert read_all(told) == [
        Shape(
            "default",
            {
                "nunet.io/gpu-nvidia-tesla-p100-16gb": "3",
                "nunet.io/gpu-nvidia-rtx-3080-10gb": "5",
                "nunet.io/gpu-nvidia-rtx-3090-24gb": "2",
                "cpu": "17",
                "nunet.io/cpu-mhz": "114299",
                "memory": "113855Mi",
            },
        )
    ]


@pytest.mark.parametrize(
    ("name", "vram", "expected"),
    [
        ("Tesla P100-PCIE-16GB", 16384, "gpu-nvidia-tesla-p100-16gb"),
        ("NVIDIA GeForce RTX 3080", 10240, "gpu-nvidia-rtx-3080-10gb"),
        ("GeForce RTX 3090", 24576, "gpu-nvidia-rtx-3090-24gb"),
        ("V100", 40960, "gpu-nvidia-v100-40gb"),
        ("NVIDIA A100-SXM4-80GB", 81920, "gpu-nvidia-a100-80gb"),
        ("NVIDIA H100 PCIe", 81559, "gpu-nvidia-h100-80gb"),
        ("Quadro RTX 6000", 24576, "gpu-nvidia-quadro-rtx-6000-24gb"),
        ("AMD Radeon RX 6900 XT", 16384, "gpu-amd-radeon-rx-6900-xt-16gb"),
        ("AMD Instinct MI250X", 65536, "gpu-amd-instinct-mi250x-64gb"),
        ("Intel(R) Arc(TM) A770 Graphics", 16384, "gpu-intel-arc-a770-16gb"),
        ("Voodoo 2", 12, "gpu-other-voodoo-2-0gb"),
        ("", 8192, "gpu-other-unknown-8gb"),
        ("x" * 200, 8192, "gpu-other-" + "x" * 53),
    ],
)
def test_gpus_are_named_by_brand_family_model_and_memory(name: str, vram: float, expected: str) -> None:
    assert name_gpu(PeerGpu(name=name, total_vram=vram)) == expected


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ("text", "neither peers nor resources"),
        ([7], "1 of 1 peers are malformed"),
        ([PEERS[1], PEERS[0] | {"available_resources": {"vcpu": -1}}], "first is peer 2, `available_resources.vcpu`"),
        ({"nunet.cpu.cores": "many"}, "each resource must be a number"),
        ({"nunet.cpu.cores": -1}, "must be a quantity"),
    ],
)
def test_peers_that_no_node_may_have_are_refused(told: Any, words: str) -> None:
    with pytest.raises(Unreachable) as caught:
        read_all(told)
    assert words in caught.value.message


@pytest.mark.parametrize(
    "bad",
    [
        7,
        PEERS[2] | {"is_available": "?"},
        PEERS[2] | {"gpu_info": [{"name": "a"}]},
        PEERS[2] | {"gpu_info": [RTX_3080 | {"tot_vram": float("inf")}]},
        *(PEERS[2] | {"available_resources": {"vcpu": cores}} for cores in (-1, 1e300, float("nan"), 2**63 - 1)),
    ],
)
def test_a_bad_peer_costs_the_others_nothing(bad: Any) -> None:
    twins = [PEERS[0], PEERS[0]]
    (shape,) = read_all([PEERS[0], bad, PEERS[0]])
    assert "1 of 3 peers are malformed, and do not count: the first is peer 2" in shape.faults
    assert [replace(shape, faults="")] == read_all(twins)


def test_too_many_peers_are_cut_and_too_many_kinds_of_them_change_nothing() -> None:
    odd = [PEERS[0] | {"gpu_info": [{"name": f"gpu {index}", "tot_vram": 1}]} for index in range(65)]
    with pytest.raises(Unreachable, match="65 kinds of hardware: at most 64"):
        read_all(odd)
    (shape,) = read_all([PEERS[0]] * 10_001)
    assert shape.machines == 10_000
    assert "10001 peers: only the first 10000 count" in shape.faults


@pytest.mark.parametrize(
    ("told", "shape"),
    [
        ("0", None),
        ("", None),
        ("<html>", None),
        ("[]", None),
        ("{}", None),
        ('{"status": "ok"}', None),
        ('{"taints": []}', Shape("default", {}, taints=[])),
        ('{"resources": {"cpu": "8"}}', Shape("default", {"cpu": "8"})),
        ('{"resources": {"cpu": null, "pods": "1e3", "accelerators": null}}', Shape("default", {"pods": "1000"})),
        # Numbers and quantities are understood as interLink's own client does.
        (
            '{"resources": {"cpu": 8, "accelerators": [{"resourceType": "a.b/c", "available": "1k"},'
            '{"resourceType": "a.b/c", "available": "3.0"}]}, "taints": [{"key": "slow"}]}',
            Shape("default", {"cpu": "8", "a.b/c": "1003"}, taints=[{"key": "slow", "value": "", "effect": "NoSchedule"}]),
        ),
        (
            '{"status": "ok", "resources": {"cpu": "7500m", "memory": "32Gi", "pods": "100", "accelerators": ['
            '{"resourceType": "nvidia.com/gpu", "available": 2}, {"resourceType": "nvidia.com/gpu", "available": 1},'
            '{"resourceType": "FPGA U55C", "available": 1}]},'
            '"taints": [{"key": "example.org/slow", "value": "yes", "effect": "NoSchedule"}]}',
            Shape(
                "default",
                {"cpu": "7500m", "memory": "32Gi", "pods": "100", "nvidia.com/gpu": "3", "nestor.dev/fpga-u55c": "1"},
                taints=[{"key": "example.org/slow", "value": "yes", "effect": "NoSchedule"}],
            ),
        ),
    ],
)
def test_a_ping_tells_resources_and_taints_or_nothing(told: str, shape: Shape | None) -> None:
    assert read_ping(told.encode()) == shape


FINE: Object = {"resourceType": "a.b/good", "available": 1}
OK: Object = {"key": "ok", "value": "", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("part", "value", "words"),
    [
        ("memory", "many", "'many' for `resources.memory`"),
        ("memory", "-1", "must be a quantity"),
        ("memory", "1e999999999", "must be a quantity"),
        ("memory", [8], "'[8]' for `resources.memory`"),
        ("accelerators", [FINE | {"available": -3}, FINE], "must be a quantity"),
        ("accelerators", [FINE | {"available": 2**63}, FINE], "must be a quantity"),
        ("accelerators", [FINE | {"available": None}, FINE], "`resources.accelerators.0` is malformed"),
        *(
            ("accelerators", [FINE | {"resourceType": name}, FINE], "no name of an extended")
            for name in ("kubernetes.io/gpu", "requests.a/gpu", "///", "a.b/" + "c" * 64)
        ),
        ("accelerators", "none", "`resources.accelerators` is malformed"),
        ("taints", [{"key": "node.kubernetes.io/unreachable", "effect": "NoExecute"}, OK], "no backend may set"),
        *(
            ("taints", [OK | wrong, OK], "no backend may set")
            for wrong in ({"effect": "Sometimes"}, {"key": "a b"}, {"value": "b c"})
        ),
        ("taints", [7, OK], "`taints.0` is malformed"),
        ("taints", [OK | {"effect": "noschedule"}], "no backend may set"),  # and not none at all
        ("taints", "none", "`taints` is malformed"),
    ],
)
def test_what_no_node_may_have_is_named_and_the_rest_of_a_ping_counts(part: str, value: Any, words: str) -> None:
    told: Object = {"resources": {"cpu": "8", "accelerators": [FINE]}, "taints": [OK]}
    (told if part == "taints" else told["resources"])[part] = value
    shape = read_ping(json.dumps(told).encode())
    assert shape is not None
    assert words in shape.faults
    assert shape.capacity == {"cpu": "8"} | ({"a.b/good": "1"} if FINE in list(told["resources"]["accelerators"]) else {})
    assert shape.taints == ([OK] if OK in list(told["taints"]) else None)


def test_of_too_many_resources_or_taints_the_first_ones_count() -> None:
    devices = [FINE | {"resourceType": f"a.b/c{index}"} for index in range(65)]
    told = {"resources": {"accelerators": devices}, "taints": [{"key": f"a{index}"} for index in range(33)]}
    shape = read_ping(json.dumps(told).encode())
    assert shape is not None
    assert (len(shape.capacity), len(shape.taints or ())) == (64, 32)
    assert "the first 64 count" in shape.faults
    assert "the first 32 count" in shape.faults


async def test_shapes_are_discovered_where_the_settings_say(backend: Backend) -> None:
    backend.fake.ping = {"resources": {"cpu": "8"}}
    assert await backend.connect().discover() == [Shape("default", {"cpu": "8"})]
    assert await backend.connect(discovery="None").discover() is None
    backend.fake.ping = PEERS
    found = await backend.connect(discovery="Peers").discover()
    assert [shape.name for shape in found or []] == [shape.name for shape in read_all(PEERS)]
    backend.fake.ping = "0"
    if backend.fake.hop == "Server":
        assert await backend.connect().discover() is None
    with pytest.raises(Unreachable, match="/peers is not there"):
        await backend.connect(discovery="Peers", peers_path="/peers").discover()
