"""The life of pods across both clusters. Scheduler and kubelet of the host are played; the API servers are real."""

import pytest

from nestor.api.objects import Object
from nestor.api.times import timestamp
from nestor.kube import kinds
from nestor.pods.translate.labels import host_key
from nestor.syncer.copies.rows import nodes
from tests.integration.syncer.pods import build_pod, condition, is_ready, start
from tests.integration.syncer.world import NODE, World
from tests.waiting import until


async def test_a_pod_runs_on_the_host_and_is_ready_in_the_nested_cluster(world: World, space: str) -> None:
    nested, host = await start(world, build_pod(space))
    assert nested["spec"]["nodeName"] == NODE
    assert nested["status"]["podIP"] == "10.42.0.7"
    assert nested["status"]["qosClass"] == "BestEffort"
    assert nested["status"]["observedGeneration"] == condition(nested, "Ready")["observedGeneration"] == 1
    labels = host["metadata"]["labels"]
    assert labels[host_key("app", ())] == "web"
    assert "app" not in labels
    assert labels["nestor.dev/cluster"] == "hello"
    assert labels["nestor.dev/nested-namespace"] == space
    assert labels["nestor.dev/job"] == "hello"
    assert host["metadata"]["ownerReferences"][0]["kind"] == "NestedCluster"
    assert host["spec"]["serviceAccountName"] == "default"
    assert host["spec"]["automountServiceAccountToken"] is False


async def test_the_node_is_mirrored_without_what_tells_about_others(world: World, space: str) -> None:
    await start(world, build_pod(space))
    node = await world.nested.get(kinds.NODE, NODE)
    assert {"type": "InternalDNS", "address": "localhost"} in node["status"]["addresses"]
    assert node["status"]["daemonEndpoints"]["kubeletEndpoint"]["Port"] == world.settings.kubelet_port
    assert node["metadata"]["labels"]["zone"] == "a"
    assert "nestor.dev/private" not in node["metadata"]["labels"]
    assert "images" not in node["status"]
    await until(lambda: world.nested.get(kinds.NODE, NODE), lambda found: not found["spec"].get("taints"))


async def test_the_token_is_the_nested_account_s(world: World, space: str) -> None:
    _, host = await start(world, build_pod(space))
    sources = host["spec"]["volumes"][0]["projected"]["sources"]
    secret = await world.host.get(kinds.SECRET, sources[0]["secret"]["name"], world.namespace)
    assert secret["metadata"]["labels"]["nestor.dev/purpose"] == "token"
    assert sources[0]["secret"]["items"] == [{"key": "token-0-0", "path": "token"}]
    config_map = await world.host.get(kinds.CONFIG_MAP, sources[1]["configMap"]["name"], world.namespace)
    nested = await world.nested.get(kinds.CONFIG_MAP, "kube-root-ca.crt", space)
    assert config_map["data"] == nested["data"]


async def test_deletion_ends_the_host_pod_first(world: World, space: str) -> None:
    nested, host = await start(world, build_pod(space, terminationGracePeriodSeconds=7))
    await world.nested.delete(kinds.POD, "web", space)
    ending = await until(
        lambda: world.host.find(kinds.POD, host["metadata"]["name"], world.namespace),
        lambda found: found and found["metadata"].get("deletionTimestamp"),
    )
    assert ending["metadata"]["deletionGracePeriodSeconds"] == 7
    assert await world.nested.find(kinds.POD, "web", space)
    await world.finish(host)
    await world.gone(world.nested, kinds.POD, nested)


async def test_a_host_pod_that_is_taken_away_fails_the_nested_one(world: World, space: str) -> None:
    nested, host = await start(world, build_pod(space))
    await world.finish(host)
    failed = await world.nested_pod(nested, lambda pod: pod["status"]["phase"] == "Failed")
    assert failed["status"]["reason"] == "HostPodDeleted"
    assert not is_ready(failed)
    assert failed["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 137


async def test_a_pod_that_the_host_ends_is_replaced_before_it_is_gone(world: World, space: str) -> None:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": build_pod(space, terminationGracePeriodSeconds=3000)["spec"]}
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    body = {"metadata": {"name": "web", "namespace": space}, "spec": spec}
    await world.nested.create(kinds.DEPLOYMENT, body)

    async def others(*known: Object) -> list[Object]:
        uids = {pod["metadata"]["uid"] for pod in known}
        return [pod for pod in await world.nested.list(kinds.POD, space) if pod["metadata"]["uid"] not in uids]

    (nested,) = await world.eventually(others)
    host = await world.host_pod(nested)
    await world.run(host)
    await world.nested_pod(nested, is_ready)
    why = {"type": "DisruptionTarget", "status": "True", "reason": "DeletionByTaintManager", "lastTransitionTime": timestamp()}
    await world.report(host, conditions=[why])
    await world.host.delete(kinds.POD, host["metadata"]["name"], world.namespace, grace_seconds=1000)  # no kubelet confirms it
    ending = await world.nested_pod(nested, lambda pod: bool(pod["metadata"].get("deletionTimestamp")))
    assert ending["metadata"]["deletionGracePeriodSeconds"] == 1000
    assert ending["status"]["phase"] == "Running"
    assert condition(ending, "DisruptionTarget")["reason"] == "DeletionByTaintManager"
    (successor,) = await world.eventually(lambda: others(nested))
    await world.run(await world.host_pod(successor))
    await world.nested_pod(successor, is_ready)
    still = await world.host.get(kinds.POD, host["metadata"]["name"], world.namespace)
    assert (still["metadata"]["uid"], still["metadata"]["deletionGracePeriodSeconds"]) == (host["metadata"]["uid"], 1000)
    await world.finish(host)
    await world.gone(world.nested, kinds.POD, nested)


async def test_orphans_are_removed_after_a_restart_and_others_stay(world: World, space: str) -> None:
    _, gone_host = await start(world, build_pod(space, "gone"))
    _, kept_host = await start(world, build_pod(space, "kept"))
    lost, lost_host = await start(world, build_pod(space, "lost"))
    await world.stop()
    await world.nested.delete(kinds.POD, "gone", space, grace_seconds=0)
    await world.finish(lost_host)
    await world.start()
    await until(
        lambda: world.host.find(kinds.POD, gone_host["metadata"]["name"], world.namespace),
        lambda found: found is None or "deletionTimestamp" in found["metadata"],
    )
    await world.nested_pod(lost, lambda pod: pod["status"]["phase"] == "Failed")
    still = await world.host.get(kinds.POD, kept_host["metadata"]["name"], world.namespace)
    assert still["metadata"]["uid"] == kept_host["metadata"]["uid"]
    assert "deletionTimestamp" not in still["metadata"]
    assert is_ready(await world.nested.get(kinds.POD, "kept", space))


async def test_changes_of_the_nested_pod_reach_the_host(world: World, space: str) -> None:
    _, host = await start(world, build_pod(space))
    labels, containers = {"app": None, "color": "blue"}, [{"name": "app", "image": "example/web:2"}]
    change = {"metadata": {"labels": labels}, "spec": {"containers": containers}}
    await world.nested.patch(kinds.POD, "web", space, change, how="strategic")
    found = await until(
        lambda: world.host.get(kinds.POD, host["metadata"]["name"], world.namespace),
        lambda found: found["metadata"]["labels"].get(host_key("color", ())) == "blue",
    )
    assert host_key("app", ()) not in found["metadata"]["labels"]
    assert found["spec"]["containers"][0]["image"] == "example/web:2"


async def test_a_condition_goes_when_the_host_s_kubelet_takes_it_away(world: World, space: str) -> None:
    nested, host = await start(world, build_pod(space))
    await world.report(host, conditions=[{"type": "PodResizeInProgress", "status": "True"}])
    await world.nested_pod(nested, lambda pod: bool(condition(pod, "PodResizeInProgress")))
    own = {"conditions": [{"type": "example.org/mine", "status": "True"}]}
    await world.nested.patch(kinds.POD, "web", space, {"status": own}, subresource="status", how="strategic")
    await world.report(host, conditions=[{"type": "PodResizeInProgress", "$patch": "delete"}])
    seen = await world.nested_pod(nested, lambda pod: not condition(pod, "PodResizeInProgress"))
    assert condition(seen, "example.org/mine")
    assert is_ready(seen)


async def test_a_refused_field_is_named(world: World, space: str) -> None:
    volumes = [{"name": "root", "hostPath": {"path": "/"}}, {"name": "db", "persistentVolumeClaim": {"claimName": "db"}}]
    body = build_pod(space, volumes=volumes)
    nested = await world.nested.create(kinds.POD, body)
    refused = await world.nested_pod(nested, lambda pod: condition(pod, "PodScheduled").get("reason") == "PodRefused")
    message = condition(refused, "PodScheduled")["message"]
    assert "`spec.volumes[0].hostPath` may not be set" in message
    assert "`spec.volumes[1].persistentVolumeClaim` may not be set: the class allows no persistent volumes" in message
    assert refused["status"]["phase"] == "Pending"

    async def told() -> list[str]:
        events = await world.nested.list(kinds.EVENT, space, fields="involvedObject.name=web")
        return [item["message"] for item in events if item["reason"] == "PodRefused"]

    assert await world.eventually(told) == [message]


async def allow_no_pods(world: World, name: str) -> None:
    """A quota of the host that leaves no room, and holds."""
    quota = {"metadata": {"name": name, "namespace": world.namespace}, "spec": {"hard": {"pods": "0"}}}
    await world.host.create(kinds.RESOURCE_QUOTA, quota)
    await world.refuses(kinds.POD, {"spec": {"containers": [{"name": "app", "image": "example/web:1"}]}})


async def test_what_waits_for_a_quota_runs_once_it_is_raised(world: World, space: str) -> None:
    await allow_no_pods(world, "small")
    pods = [await world.nested.create(kinds.POD, build_pod(space, f"web-{number}")) for number in range(30)]
    for nested in pods:
        await world.nested_pod(nested, lambda pod: condition(pod, "PodScheduled").get("reason") == "PodRefused")
    tokens = await world.host.list(kinds.SECRET, world.namespace, labels=f"nestor.dev/nested-namespace={space}")
    assert len(tokens) <= 20  # of those under way when the first one was refused
    await world.host.patch(kinds.RESOURCE_QUOTA, "small", world.namespace, {"spec": {"hard": {"pods": "1000"}}})
    for nested in pods:
        await world.host_pod(nested)
    await world.host.delete(kinds.RESOURCE_QUOTA, "small", world.namespace)


async def test_a_missing_service_account_is_told_and_awaited(world: World, space: str) -> None:
    account = {"metadata": {"name": "robot", "namespace": space}}
    await world.nested.create(kinds.SERVICE_ACCOUNT, account)
    gates = [{"name": "example.org/wait"}]
    nested = await world.nested.create(kinds.POD, build_pod(space, serviceAccountName="robot", schedulingGates=gates))
    await world.nested.delete(kinds.SERVICE_ACCOUNT, "robot", space)
    await world.nested.patch(kinds.POD, "web", space, {"spec": {"schedulingGates": None}})
    refused = await world.nested_pod(nested, lambda pod: condition(pod, "PodScheduled").get("reason") == "PodRefused")
    assert '"robot" not found' in condition(refused, "PodScheduled")["message"]
    await world.nested.create(kinds.SERVICE_ACCOUNT, account)
    await world.host_pod(nested)


async def test_waiting_reasons_and_events_arrive_in_nested_words(world: World, space: str) -> None:
    nested = await world.nested.create(kinds.POD, build_pod(space))
    host = await world.host_pod(nested)
    await world.schedule(host)
    name, namespace = host["metadata"]["name"], world.namespace
    waiting = {"reason": "ImagePullBackOff", "message": f'Back-off pulling image for pod "{name}_{world.namespace}"'}
    await world.report(
        host,
        containerStatuses=[
            {
                "name": "app",
                "image": "example/web:1",
                "imageID": "",
                "ready": False,
                "restartCount": 0,
                "state": {"waiting": waiting},
            }
        ],
    )
    about = {"apiVersion": "v1", "kind": "Pod", "name": name, "namespace": namespace, "uid": host["metadata"]["uid"]}
    await world.host.create(
        kinds.EVENT,
        {
            "metadata": {"name": f"{name}.1", "namespace": namespace},
            "involvedObject": about,
            "reason": "Failed",
            "message": f"cannot pull for {name}",
            "type": "Warning",
            "count": 1,
            "source": {"component": "kubelet"},
        },
    )
    seen = await world.nested_pod(nested, lambda pod: bool(pod["status"].get("containerStatuses")))
    assert seen["status"]["containerStatuses"][0]["state"]["waiting"] == {
        "reason": "ImagePullBackOff",
        "message": f'Back-off pulling image for pod "web_{space}"',
    }

    async def told() -> list[str]:
        events = await world.nested.list(kinds.EVENT, space, fields="involvedObject.name=web,reason=Failed")
        return [item["message"] for item in events]

    assert await world.eventually(told) == ["cannot pull for web"]


async def test_resources_and_debug_containers_follow(world: World, space: str) -> None:
    resources = {"requests": {"cpu": "100m"}, "limits": {"cpu": "1"}}
    _, host = await start(world, build_pod(space, container={"resources": resources}))
    more = {"spec": {"containers": [{"name": "app", "resources": {"requests": {"cpu": "200m"}}}]}}
    await world.nested.patch(kinds.POD, "web", space, more, subresource="resize", how="strategic")
    debug = {"spec": {"ephemeralContainers": [{"name": "debug", "image": "busybox:1.35", "targetContainerName": "app"}]}}
    await world.nested.patch(kinds.POD, "web", space, debug, subresource="ephemeralcontainers", how="strategic")

    async def followed() -> bool:
        found = await world.host.get(kinds.POD, host["metadata"]["name"], world.namespace)
        resized = found["spec"]["containers"][0]["resources"]["requests"]["cpu"] == "200m"
        return bool(resized and [item["name"] for item in found["spec"].get("ephemeralContainers") or []] == ["debug"])

    await world.eventually(followed)


async def test_readiness_gates_reach_the_kubelet_that_decides(world: World, space: str) -> None:
    gate = "example.org/lb"
    nested, host = await start(world, build_pod(space, readinessGates=[{"conditionType": gate}]))
    gated = {"type": gate, "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}
    await world.nested.patch(kinds.POD, "web", space, {"status": {"conditions": [gated]}}, subresource="status", how="strategic")
    await until(
        lambda: world.host.get(kinds.POD, host["metadata"]["name"], world.namespace),
        lambda found: condition(found, gate).get("status") == "True",
    )
    assert condition(await world.nested.get(kinds.POD, nested["metadata"]["name"], space), gate)["status"] == "True"


async def test_gated_pods_wait_and_bound_ones_go_through_the_scheduler(world: World, space: str) -> None:
    gated = await world.nested.create(kinds.POD, build_pod(space, "gated", schedulingGates=[{"name": "example.org/wait"}]))
    fixed = await world.nested.create(kinds.POD, build_pod(space, "fixed", nodeName=NODE))
    host = await world.host_pod(fixed)
    assert "nodeName" not in host["spec"]
    required = host["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert required["nodeSelectorTerms"][0]["matchFields"][0]["values"] == [NODE]
    await world.run(host)
    await world.nested_pod(fixed, is_ready)
    await world.heard()
    assert await world.host.list(kinds.POD, world.namespace, labels=f"nestor.dev/nested-uid={gated['metadata']['uid']}") == []
    await world.nested.patch(kinds.POD, "gated", space, {"spec": {"schedulingGates": None}})
    await world.host_pod(gated)


async def test_a_token_is_renewed_when_it_is_time(world: World, space: str) -> None:
    _, host = await start(world, build_pod(space))
    name = host["spec"]["volumes"][0]["projected"]["sources"][0]["secret"]["name"]
    before = await world.host.get(kinds.SECRET, name, world.namespace)
    due = {"metadata": {"annotations": {"nestor.dev/renew-after": "2020-01-01T00:00:00Z"}}}
    await world.host.patch(kinds.SECRET, name, world.namespace, due)

    async def renewed() -> bool:
        found = await world.host.get(kinds.SECRET, name, world.namespace)
        later = found["metadata"]["annotations"]["nestor.dev/renew-after"] > "2021"
        return bool(later and found["data"] != before["data"])

    await world.eventually(renewed)


async def test_a_node_goes_after_its_last_pod(world: World, space: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nodes.NodeRow, "linger_seconds", 0.3)
    await world.host.create(kinds.NODE, {"metadata": {"name": "node-2"}})
    nested = await world.nested.create(kinds.POD, build_pod(space))
    host = await world.host_pod(nested)
    await world.schedule(host, "node-2")
    await world.nested_pod(nested, lambda pod: pod["spec"].get("nodeName") == "node-2")
    mirrored = await world.nested.get(kinds.NODE, "node-2")
    await see_a_node_go(world, space)
    assert await world.nested.find(kinds.NODE, "node-2")
    await world.nested.delete(kinds.POD, "web", space, grace_seconds=0)
    await world.finish(host)
    await world.gone(world.nested, kinds.NODE, mirrored)


async def see_a_node_go(world: World, space: str) -> None:
    """A node comes with its first pod and goes after its last one: whatever else had to go by then has gone."""
    await world.host.create(kinds.NODE, {"metadata": {"name": "passing"}})
    nested = await world.nested.create(kinds.POD, build_pod(space, "passing"))
    host = await world.host_pod(nested)
    await world.schedule(host, "passing")
    await world.nested_pod(nested, lambda pod: pod["spec"].get("nodeName") == "passing")
    mirrored = await world.nested.get(kinds.NODE, "passing")
    await world.nested.delete(kinds.POD, "passing", space, grace_seconds=0)
    await world.finish(host)
    await world.gone(world.nested, kinds.NODE, mirrored)
    await world.host.delete(kinds.NODE, "passing")
