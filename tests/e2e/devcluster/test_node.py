"""Pods, Services, DNS, images: what a node is for."""

from __future__ import annotations

import pytest

from tests.e2e.devcluster.conftest import BUSYBOX, Kubectl, page
from tests.e2e.devcluster.web import wait_until

WEB = f"""
apiVersion: v1
kind: Pod
metadata: {{name: web, labels: {{app: web}}}}
spec:
  terminationGracePeriodSeconds: 0
  containers:
    - name: web
      image: {BUSYBOX}
      command: [sh, -c, "mkdir /www; echo hello from web > /www/index.html; exec httpd -f -p 8080 -h /www"]
      readinessProbe: {{httpGet: {{path: /, port: 8080}}, periodSeconds: 1}}
---
apiVersion: v1
kind: Service
metadata: {{name: web}}
spec: {{selector: {{app: web}}, ports: [{{name: http, port: 80, targetPort: 8080}}]}}
"""
IMAGE_VOLUME = f"""
apiVersion: v1
kind: Pod
metadata: {{name: reader}}
spec:
  restartPolicy: Never
  containers:
    - name: reader
      image: {BUSYBOX}
      command: [/app/bin/busybox, ls, /app/bin]
      volumeMounts: [{{name: app, mountPath: /app}}]
  volumes: [{{name: app, image: {{reference: "{BUSYBOX}"}}}}]
"""


def test_a_pod_runs_and_its_output_can_be_read(kubectl: Kubectl) -> None:
    assert kubectl.run("hello", "echo hello; id -u").split() == ["hello", "0"]


def test_a_command_can_be_run_in_a_pod(kubectl: Kubectl) -> None:
    kubectl.apply(WEB)
    kubectl("wait", "pod/web", "--for=condition=Ready", "--timeout=60s")
    assert kubectl("exec", "-i", "web", "--", "cat", stdin="through the API server\n") == "through the API server\n"


def test_a_service_is_found_by_name_and_reaches_its_pod(kubectl: Kubectl) -> None:
    kubectl.apply(WEB)
    kubectl("wait", "pod/web", "--for=condition=Ready", "--timeout=60s")
    url = f"http://web.{kubectl.namespace}.svc.cluster.local/"
    assert "hello from web" in kubectl.run("client", f"for i in 1 2 3 4 5; do wget -qO- {url} && exit; sleep 1; done")


def test_a_pod_reaches_itself_through_its_own_service(kubectl: Kubectl) -> None:
    kubectl.apply(WEB)
    kubectl("wait", "pod/web", "--for=condition=Ready", "--timeout=60s")
    # By its full name: the pod's own name, "web", is its own address in /etc/hosts.
    script = f"for i in 1 2 3 4 5; do wget -qO- http://web.{kubectl.namespace}.svc/ && exit; sleep 1; done"
    assert "hello from web" in kubectl("exec", "web", "--", "sh", "-c", script)


def test_unknown_names_are_refused_at_once(kubectl: Kubectl) -> None:
    assert "NXDOMAIN" in kubectl.run("lost", "nslookup example.com 2>&1; true")


def test_pods_have_no_way_out(kubectl: Kubectl) -> None:
    # 192.0.2.0/24 is reserved for documentation: nobody is there even if a packet left the machine.
    assert "unreachable" in kubectl.run("out", "nc -w 3 192.0.2.77 80 2>&1; true").lower()


def test_an_image_can_be_a_volume(kubectl: Kubectl) -> None:
    kubectl.apply(IMAGE_VOLUME)
    kubectl("wait", "pod/reader", "--for=jsonpath={.status.phase}=Succeeded", "--timeout=60s")
    assert "busybox" in kubectl("logs", "reader").split()


def test_pod_security_is_enforced(kubectl: Kubectl) -> None:
    kubectl("label", "namespace", kubectl.namespace, "pod-security.kubernetes.io/enforce=restricted")
    with pytest.raises(AssertionError, match='violates PodSecurity "restricted'):
        kubectl("run", "loose", f"--image={BUSYBOX}")


def test_pods_and_services_can_be_reached_from_the_machine(kubectl: Kubectl) -> None:
    kubectl.apply(WEB)
    kubectl("wait", "pod/web", "--for=condition=Ready", "--timeout=60s")
    pod = kubectl("get", "pod", "web", "-o", "jsonpath={.status.podIP}")
    service = kubectl("get", "service", "web", "-o", "jsonpath={.spec.clusterIP}")
    for place in (f"{pod}:8080", f"{service}:80"):
        wait_until(lambda place=place: "hello from web" in page(place), f"http://{place} answers")  # type: ignore[misc]
