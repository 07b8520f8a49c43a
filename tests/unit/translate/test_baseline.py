"""What is refused, by the name of its field; and what is not."""

from typing import Any

import pytest

from nestor.translate import baseline
from tests.unit.translate.builders import build_pod

Object = dict[str, Any]


def context(**fields: Any) -> Object:
    """A pod whose container has this security context."""
    return build_pod(container={"securityContext": fields})


def volume(**kind: Any) -> Object:
    """A pod with one volume."""
    return build_pod(volumes=[{"name": "v", **kind}])


@pytest.mark.parametrize(
    ("pod", "field"),
    [
        (build_pod(hostNetwork=True), "`spec.hostNetwork`"),
        (build_pod(hostPID=True), "`spec.hostPID`"),
        (build_pod(hostIPC=True), "`spec.hostIPC`"),
        (build_pod(runtimeClassName="kata"), "`spec.runtimeClassName`"),
        (build_pod(resourceClaims=[{"name": "gpu"}]), "`spec.resourceClaims`"),
        (build_pod(securityContext={"sysctls": [{"name": "kernel.msgmax", "value": "1"}]}), "`spec.securityContext.sysctls`"),
        (build_pod(securityContext={"seccompProfile": {"type": "Unconfined"}}), "`spec.securityContext.seccompProfile.type`"),
        (build_pod(securityContext={"appArmorProfile": {"type": "Unconfined"}}), "`spec.securityContext.appArmorProfile.type`"),
        (
            build_pod(securityContext={"windowsOptions": {"hostProcess": True}}),
            "`spec.securityContext.windowsOptions.hostProcess`",
        ),
        (build_pod(securityContext={"seLinuxOptions": {"type": "spc_t"}}), "`spec.securityContext.seLinuxOptions.type`"),
        (build_pod(securityContext={"seLinuxOptions": {"user": "root"}}), "`spec.securityContext.seLinuxOptions.user`"),
        (volume(hostPath={"path": "/"}), "`spec.volumes[0].hostPath`"),
        (volume(gitRepo={"repository": "x"}), "`spec.volumes[0].gitRepo`"),
        (volume(nfs={"server": "x"}), "`spec.volumes[0].nfs`"),
        (volume(csi={"driver": "x"}), "`spec.volumes[0].csi`"),
        (volume(anythingNew={}), "`spec.volumes[0].anythingNew`"),
        (volume(persistentVolumeClaim={"claimName": "x"}), "`spec.volumes[0].persistentVolumeClaim`"),
        (volume(ephemeral={"volumeClaimTemplate": {}}), "`spec.volumes[0].ephemeral` may not be set: persistent volumes are not"),
        (
            volume(projected={"sources": [{"clusterTrustBundle": {"name": "x"}}]}),
            "`spec.volumes[0].projected.sources[0].clusterTrustBundle`",
        ),
        (context(privileged=True), "`spec.containers[0].securityContext.privileged`"),
        (context(procMount="Unmasked"), "`spec.containers[0].securityContext.procMount`"),
        (context(capabilities={"add": ["NET_ADMIN"]}), "`spec.containers[0].securityContext.capabilities.add`"),
        (context(capabilities={"add": ["CAP_SYS_ADMIN"]}), "'CAP_SYS_ADMIN'"),
        (context(capabilities={"add": ["ALL"]}), "'ALL'"),
        (context(seccompProfile={"type": "Unconfined"}), "`spec.containers[0].securityContext.seccompProfile.type`"),
        (build_pod(container={"ports": [{"containerPort": 80, "hostPort": 80}]}), "`spec.containers[0].ports[0].hostPort`"),
        (build_pod(container={"ports": [{"containerPort": 80, "hostIP": "127.0.0.1"}]}), "`spec.containers[0].ports[0].hostIP`"),
        (build_pod(container={"volumeDevices": [{"name": "v", "devicePath": "/dev/x"}]}), "`spec.containers[0].volumeDevices`"),
        (build_pod(container={"resources": {"claims": [{"name": "gpu"}]}}), "`spec.containers[0].resources.claims`"),
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
    ],
)
def test_refused(pod: Object, field: str) -> None:
    (message,) = baseline.find_refusals(pod)
    assert field in message


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
    assert baseline.find_refusals(pod) == []


def test_every_refusal_is_told() -> None:
    pod = build_pod(hostNetwork=True, hostPID=True, volumes=[{"name": "v", "hostPath": {"path": "/"}}])
    assert len(baseline.find_refusals(pod)) == 3
