"""What is refused, by the name of its field; and what is not."""

from typing import Any

import pytest

from nestor.api.allowances import Storage
from nestor.api.objects import Object
from nestor.api.policy import Policy
from nestor.pods.translate import refusals
from tests.unit.pods.translate.builders import BASELINE, PRIVILEGED, build_pod


def context(**fields: Any) -> Object:
    return build_pod(container={"securityContext": fields})


def volume(**kind: Any) -> Object:
    return build_pod(volumes=[{"name": "v", **kind}])


# What the level `baseline` refuses, each field of it.
AT_BASELINE = [
    (build_pod(hostNetwork=True), "`spec.hostNetwork`"),
    (build_pod(hostPID=True), "`spec.hostPID`"),
    (build_pod(hostIPC=True), "`spec.hostIPC`"),
    (build_pod(securityContext={"sysctls": [{"name": "kernel.msgmax", "value": "1"}]}), "`spec.securityContext.sysctls`"),
    (build_pod(securityContext={"seccompProfile": {"type": "Unconfined"}}), "`spec.securityContext.seccompProfile.type`"),
    (build_pod(securityContext={"appArmorProfile": {"type": "Unconfined"}}), "`spec.securityContext.appArmorProfile.type`"),
    (build_pod(securityContext={"windowsOptions": {"hostProcess": True}}), "`spec.securityContext.windowsOptions.hostProcess`"),
    (build_pod(securityContext={"seLinuxOptions": {"type": "spc_t"}}), "`spec.securityContext.seLinuxOptions.type`"),
    (build_pod(securityContext={"seLinuxOptions": {"user": "root"}}), "`spec.securityContext.seLinuxOptions.user`"),
    (volume(hostPath={"path": "/"}), "`spec.volumes[0].hostPath`"),
    (context(privileged=True), "`spec.containers[0].securityContext.privileged`"),
    (context(procMount="Unmasked"), "`spec.containers[0].securityContext.procMount`"),
    (context(capabilities={"add": ["NET_ADMIN"]}), "`spec.containers[0].securityContext.capabilities.add`"),
    (context(capabilities={"add": ["CAP_SYS_ADMIN"]}), "'CAP_SYS_ADMIN'"),
    (context(capabilities={"add": ["ALL"]}), "'ALL'"),
    (context(seccompProfile={"type": "Unconfined"}), "`spec.containers[0].securityContext.seccompProfile.type`"),
    (build_pod(container={"ports": [{"containerPort": 80, "hostPort": 80}]}), "`spec.containers[0].ports[0].hostPort`"),
    (build_pod(container={"ports": [{"containerPort": 80, "hostIP": "127.0.0.1"}]}), "`spec.containers[0].ports[0].hostIP`"),
    (
        build_pod(container={"livenessProbe": {"httpGet": {"host": "169.254.169.254", "port": 80}}}),
        "`spec.containers[0].livenessProbe.httpGet.host`",
    ),
    (
        build_pod(container={"lifecycle": {"preStop": {"tcpSocket": {"host": "10.0.0.1", "port": 80}}}}),
        "`spec.containers[0].lifecycle.preStop.tcpSocket.host`",
    ),
    (
        build_pod(initContainers=[{"name": "i", "image": "i", "securityContext": {"privileged": True}}]),
        "`spec.initContainers[0].securityContext.privileged`",
    ),
    (
        build_pod(
            ephemeralContainers=[{"name": "e", "image": "e", "securityContext": {"capabilities": {"add": ["SYS_PTRACE"]}}}]
        ),
        "`spec.ephemeralContainers[0].securityContext.capabilities.add`",
    ),
]

# What the level has nothing to do with.
ALWAYS = [
    (build_pod(runtimeClassName="kata"), "`spec.runtimeClassName`"),
    (build_pod(resourceClaims=[{"name": "gpu"}]), "`spec.resourceClaims`"),
    (volume(gitRepo={"repository": "x"}), "`spec.volumes[0].gitRepo`"),
    (volume(nfs={"server": "x"}), "`spec.volumes[0].nfs`"),
    (volume(csi={"driver": "x"}), "`spec.volumes[0].csi`"),
    (volume(anythingNew={}), "`spec.volumes[0].anythingNew`"),
    (volume(persistentVolumeClaim={"claimName": "x"}), "`spec.volumes[0].persistentVolumeClaim`"),
    (volume(ephemeral={"volumeClaimTemplate": {}}), "`spec.volumes[0].ephemeral` may not be set: the class allows no"),
    (
        volume(projected={"sources": [{"clusterTrustBundle": {"name": "x"}}]}),
        "`spec.volumes[0].projected.sources[0].clusterTrustBundle`",
    ),
    (build_pod(container={"volumeDevices": [{"name": "v", "devicePath": "/dev/x"}]}), "`spec.containers[0].volumeDevices`"),
    (build_pod(container={"resources": {"claims": [{"name": "gpu"}]}}), "`spec.containers[0].resources.claims`"),
]


@pytest.mark.parametrize(
    ("pod", "field", "is_always"), [*((*row, False) for row in AT_BASELINE), *((*row, True) for row in ALWAYS)]
)
def test_refused_at_baseline_and_some_of_it_to_the_privileged_too(pod: Object, field: str, is_always: bool) -> None:
    (message,) = refusals.find_refusals(pod, BASELINE)
    assert field in message
    assert [field in text for text in refusals.find_refusals(pod, PRIVILEGED)] == [True] * is_always


STORAGE = Storage(classes=["fast"])
DEVICE = {"volumeDevices": [{"name": "v", "devicePath": "/dev/x"}]}


@pytest.mark.parametrize(
    ("pod", "storage", "is_refused"),
    [
        (volume(persistentVolumeClaim={"claimName": "x"}), STORAGE, False),
        (volume(ephemeral={"volumeClaimTemplate": {}}), STORAGE, False),
        (build_pod(container=DEVICE), STORAGE, True),
        (build_pod(container=DEVICE), Storage(classes=["fast"], block_volumes=True), False),
        (build_pod(container=DEVICE), Storage(block_volumes=True), True),
    ],
)
def test_claims_are_allowed_where_the_class_has_storage(pod: Object, storage: Storage, is_refused: bool) -> None:
    assert bool(refusals.find_refusals(pod, Policy(storage=storage))) == is_refused


@pytest.mark.parametrize(
    "pod",
    [
        build_pod(),
        build_pod(hostNetwork=False, hostUsers=False),
        build_pod(
            securityContext={
                "fsGroup": 1000,
                "seccompProfile": {"type": "RuntimeDefault"},
                "sysctls": [{"name": "net.ipv4.ip_unprivileged_port_start", "value": "0"}],
            }
        ),
        context(
            capabilities={"add": ["NET_BIND_SERVICE", "CAP_CHOWN"], "drop": ["ALL"]}, runAsUser=0, allowPrivilegeEscalation=True
        ),
        context(seLinuxOptions={"type": "container_t", "level": "s0"}, appArmorProfile={"type": "RuntimeDefault"}),
        volume(emptyDir={}),
        volume(image={"reference": "x"}),
        volume(projected={"sources": [{"serviceAccountToken": {"path": "token"}}, {"configMap": {"name": "x"}}]}),
        volume(),  # a volume without a kind is an emptyDir
        build_pod(container={"readinessProbe": {"httpGet": {"path": "/", "port": 80}}}),
        build_pod(container={"ports": [{"containerPort": 80, "hostPort": 0}]}),
    ],
)
def test_allowed(pod: Object) -> None:
    assert refusals.find_refusals(pod, BASELINE) == []
    assert refusals.find_refusals(pod, PRIVILEGED) == []


def test_a_debug_container_is_refused_for_itself_not_for_a_pod_that_ran_before_its_class_changed() -> None:
    plain: Object = {"name": "plain", "image": "i"}
    root: Object = {"name": "root", "image": "i", "securityContext": {"privileged": True}}
    pod = context(privileged=True)
    pod["spec"]["ephemeralContainers"] = [plain]
    assert refusals.find_debug_refusals(pod, BASELINE) == []
    pod["spec"]["ephemeralContainers"] = [plain, root]
    assert refusals.find_debug_refusals(pod, BASELINE) == [
        "`spec.ephemeralContainers[1].securityContext.privileged` may not be true"
    ]
    assert refusals.find_debug_refusals(pod, PRIVILEGED) == []


OURS = Policy(allowed_images=["ghcr.io/a"])
INSIDE, OUTSIDE = {"name": "c", "image": "ghcr.io/a/x:1"}, {"name": "c", "image": "nginx"}


@pytest.mark.parametrize(
    ("pod", "field"),
    [
        (build_pod(container=INSIDE), None),
        (build_pod(container=OUTSIDE), "spec.containers[0].image"),
        (build_pod(container=INSIDE, initContainers=[OUTSIDE]), "spec.initContainers[0].image"),
        (build_pod(container=INSIDE, ephemeralContainers=[OUTSIDE]), "spec.ephemeralContainers[0].image"),
        (
            build_pod(container=INSIDE, volumes=[{"name": "v", "image": {"reference": "nginx"}}]),
            "spec.volumes[0].image.reference",
        ),
        (build_pod(container=INSIDE, volumes=[{"name": "v", "image": {"reference": "ghcr.io/a"}}]), None),
    ],
)
def test_only_images_that_the_class_allows_are_used(pod: Object, field: str | None) -> None:
    said = f"`{field}` 'nginx' ('docker.io/library/nginx') is not allowed; allowed: ghcr.io/a (`images.allowed`)"
    assert refusals.find_refusals(pod, OURS) == ([said] if field else [])
    assert refusals.find_refusals(pod, Policy()) == []


def test_only_new_images_of_a_running_pod_are_looked_at() -> None:
    pod = build_pod(container=OUTSIDE, initContainers=[{"name": "i", "image": "busybox"}])
    assert refusals.find_image_refusals(pod, {"c": "nginx", "i": "busybox"}, OURS) == []
    assert refusals.find_image_refusals(pod, {}, OURS) == []
    found = refusals.find_image_refusals(pod, {"c": "ghcr.io/a/x", "i": "busybox"}, OURS)
    assert [text.split("` ")[0] for text in found] == ["`spec.containers[0].image"]
