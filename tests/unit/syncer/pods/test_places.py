"""Where the pods of nested Jobs run, as their syncer has it."""

from collections import Counter
from typing import Any

from nestor.api import labels
from nestor.api.objects import annotations_of
from nestor.kube import kinds
from tests.unit.pods.translate.builders import build_pod
from tests.unit.syncer.pods.scene import Scene

BACKENDS = [{"name": "hpc"}]


class Cluster(Scene):
    def allow(self, **overflow: Any) -> None:
        self.write_rules({"overflow": {"backends": BACKENDS} | overflow})

    def start(self, job: str, pods: int, completions: int | None) -> None:
        spec = {} if completions is None else {"completions": completions}
        self.nested.put(kinds.JOB, {"metadata": {"name": job, "namespace": "shop", "uid": f"uid-{job}"}, "spec": spec})
        owner = {"apiVersion": "batch/v1", "kind": "Job", "name": job, "uid": f"uid-{job}", "controller": True}
        for number in range(pods):
            pod = build_pod()
            pod["metadata"] |= {"name": f"{job}-{number}", "uid": f"uid-{job}-{number}", "ownerReferences": [owner]}
            self.nested.put(kinds.POD, pod)

    def places(self) -> dict[str, int]:
        live = [pod for pod in self.host_pods() if (pod.get("status") or {}).get("phase") != "Succeeded"]
        return dict(Counter(annotations_of(pod)[labels.PLACE] for pod in live))

    def change(self, place: str, **parts: Any) -> None:
        """Change the first host pod of a place that still runs."""
        live = [item for item in self.host_pods() if (item.get("status") or {}).get("phase") != "Succeeded"]
        pod = next(item for item in live if annotations_of(item)[labels.PLACE] == place and not item["spec"].get("nodeName"))
        self.api.put(kinds.POD, pod | {"spec": pod["spec"] | parts.pop("spec", {})} | parts)


async def test_all_pods_of_a_large_job_go_out_and_the_job_is_not_asked_for() -> None:
    scene = Cluster()
    scene.allow()
    async with scene.running():
        scene.start("large", 10, 10)
        await scene.until(lambda: scene.places() == {"Backend": 10})
        assert "GET jobs shop/large" not in scene.nested.asked


async def test_pods_of_jobs_without_completions_and_of_no_job_are_not_counted() -> None:
    scene = Cluster()
    scene.allow(localParallelism=1, backendParallelism=1)
    async with scene.running():
        scene.start("queue", 5, None)
        scene.add(5)
        await scene.until(lambda: scene.places() == {"HostFirst": 10})


async def test_so_many_pods_of_a_job_run_in_each_place_and_the_others_wait_for_them() -> None:
    scene = Cluster()
    scene.allow(completionsTrigger=0, localParallelism=2, backendParallelism=3)
    async with scene.running():
        scene.start("wide", 12, 12)
        await scene.until(lambda: scene.places() == {"HostFirst": 2, "Backend": 3})
        await scene.calm()
        assert scene.places() == {"HostFirst": 2, "Backend": 3}
        told = [item["message"] for item in scene.nested.every("events")]
        assert len(told) == 7
        assert all("the limit is 2" in text and "the limit is 3" in text for text in told)
        # One of each ends, and one of each follows.
        for place in ("HostFirst", "Backend"):
            scene.change(place, status={"phase": "Succeeded"})
        await scene.until(lambda: scene.places() == {"HostFirst": 2, "Backend": 3} and len(scene.host_pods()) == 7)
        await scene.calm()
        assert len(scene.host_pods()) == 7


async def test_jobs_do_not_wait_for_each_other() -> None:
    scene = Cluster()
    scene.allow(completionsTrigger=0, localParallelism=1, backendParallelism=1)
    async with scene.running():
        scene.start("one", 3, 3)
        scene.start("two", 3, 3)
        await scene.until(lambda: scene.places() == {"HostFirst": 2, "Backend": 2})


async def test_a_pod_counts_where_the_scheduler_has_put_it() -> None:
    scene = Cluster()
    scene.allow(completionsTrigger=0, localParallelism=2, backendParallelism=2)
    async with scene.running():
        node = {"metadata": {"name": "hpc", "labels": {labels.BACKEND: "hpc"}}, "spec": {}, "status": {}}
        scene.api.put(kinds.NODE, node)
        scene.caches.host_nodes.want(["hpc"])
        await scene.until(lambda: scene.caches.host_nodes.get("hpc") is not None)
        scene.start("job", 2, 9)
        await scene.until(lambda: scene.places() == {"HostFirst": 2})
        for _ in range(2):
            scene.change("HostFirst", spec={"nodeName": "hpc"})
            await scene.calm()
        # Both have overflowed, so two more may begin here, and none there.
        scene.start("job", 6, 9)
        await scene.until(lambda: scene.places() == {"HostFirst": 2, "Host": 2})
        await scene.calm()
        assert scene.places() == {"HostFirst": 2, "Host": 2}
