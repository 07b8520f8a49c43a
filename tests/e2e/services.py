"""A nested cluster with Services of many kinds, which the tests of several files use. The conftest makes the fixtures known."""

from __future__ import annotations

import json
import uuid
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from nestor.api import conditions
from nestor.kube import Api, kinds
from nestor.objects import Object
from tests.e2e.conftest import apply, fresh_namespace, inline_job, kubectl, nested_kubeconfig
from tests.waiting import job_with

PODS = """
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: web, namespace: default}
spec:
  replicas: 2
  podManagementPolicy: Parallel
  serviceName: each
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 0
      containers:
      - name: main
        image: docker.io/library/busybox:1.35
        command: [sh, -ec]
        args:
        - |
          mkdir -p /tmp/www/cgi-bin
          hostname > /tmp/www/index.html
          answer='printf "Content-Type: text/plain\\r\\n\\r\\n"; echo "$(hostname) $REMOTE_ADDR"'
          printf '%s\\n' '#!/bin/sh' "$answer" > /tmp/www/cgi-bin/who
          chmod +x /tmp/www/cgi-bin/who
          exec httpd -f -p 8080 -h /tmp/www
        readinessProbe: {httpGet: {path: /, port: 8080}, periodSeconds: 1}
---
apiVersion: v1
kind: Pod
metadata: {name: client, namespace: default}
spec:
  terminationGracePeriodSeconds: 0
  containers:
  - {name: main, image: 'docker.io/library/busybox:1.35', command: [sleep, '3600']}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: names, namespace: default}
data:
  Corefile: |
    .:1053 {
      hosts {
        192.0.2.7 answer.example
      }
    }
---
apiVersion: v1
kind: Pod
metadata: {name: names, namespace: default, labels: {app: names}}
spec:
  terminationGracePeriodSeconds: 0
  containers:
  - name: main
    image: docker.io/coredns/coredns:1.15.0
    args: [-conf, /etc/coredns/Corefile]
    volumeMounts: [{name: names, mountPath: /etc/coredns}]
  volumes: [{name: names, configMap: {name: names}}]
"""
SERVICES = """
apiVersion: v1
kind: Service
metadata: {name: each, namespace: default}
spec: {clusterIP: None, selector: {app: web}, ports: [{port: 8080}]}
---
apiVersion: v1
kind: Service
metadata: {name: sticky, namespace: default}
spec: {sessionAffinity: ClientIP, selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}
---
apiVersion: v1
kind: Service
metadata: {name: outside, namespace: default}
spec: {type: NodePort, selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}
---
apiVersion: v1
kind: Service
metadata: {name: one, namespace: default}
spec: {type: NodePort, selector: {statefulset.kubernetes.io/pod-name: web-0}, ports: [{port: 80, targetPort: 8080}]}
---
apiVersion: v1
kind: Service
metadata: {name: udp, namespace: default}
spec: {selector: {app: names}, ports: [{port: 53, targetPort: 1053, protocol: UDP}]}
---
apiVersion: v1
kind: Service
metadata: {name: manual, namespace: default}
spec: {ports: [{port: 80, targetPort: 8080}]}
---
apiVersion: v1
kind: Service
metadata: {name: forged, namespace: default}
spec: {ports: [{port: 80}]}
"""


@dataclass
class Inside:
    """The nested cluster of these tests."""

    kubeconfig: Path
    home: str
    class_name: str
    """No other job has this class."""

    async def shell(self, command: str) -> str:
        """What a command says in the client pod."""
        return await kubectl(self.kubeconfig, "exec", "client", "--", "sh", "-c", command)

    async def reach(self, host: str) -> str:
        """The page of a web server, asked for until it answers: rules follow a new Service a moment later."""
        command = f"for i in $(seq 100); do timeout 3 wget -q -O - http://{host}/ && exit 0; sleep 0.2; done; exit 1"
        return (await self.shell(command)).strip()

    async def get(self, *what: str) -> Object:
        """One object."""
        found: Object = json.loads(await kubectl(self.kubeconfig, "get", *what, "-o", "json"))
        return found


@pytest.fixture(scope="session")
async def open_class(api: Api) -> AsyncIterator[str]:
    """A class whose jobs may have node ports."""
    spec: Object = (await api.get(kinds.NESTED_CLASS, "default"))["spec"]
    name = f"services-{uuid.uuid4().hex[:6]}"
    await api.apply(kinds.NESTED_CLASS, {"metadata": {"name": name}, "spec": spec | {"services": {"nodePorts": True}}})
    yield name
    await api.delete(kinds.NESTED_CLASS, name)


@pytest.fixture(scope="session")
async def inside(
    api: Api, used_namespaces: list[str], open_class: str, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Inside]:
    """Two web servers, a name server, a client, and Services of many kinds."""
    async with fresh_namespace(api, used_namespaces) as namespace:
        documents = inline_job("services", namespace, {"services.yaml": SERVICES})
        documents[-1]["spec"]["className"] = open_class
        await apply(api, documents)
        await job_with(api, "services", namespace, conditions.STEPS_APPLIED, "True")
        job = await job_with(api, "services", namespace, conditions.CLUSTER_READY, "True")
        kubeconfig = await nested_kubeconfig(api, job, tmp_path_factory.mktemp("services"))
        await kubectl(kubeconfig, "wait", "--for=create", "serviceaccount/default", "--timeout=60s", limit=90)
        await kubectl(kubeconfig, "apply", "-f", "-", stdin=PODS)
        await kubectl(kubeconfig, "rollout", "status", "statefulset/web", "--timeout=90s", limit=120)
        await kubectl(kubeconfig, "wait", "--for=condition=Ready", "pod/client", "pod/names", "--timeout=60s", limit=90)
        yield Inside(kubeconfig, job["status"]["namespace"], open_class)
