"""The `house` with pods and Services of many kinds, which the tests of two files use. The conftest makes the fixtures known."""

import json
from dataclasses import dataclass

import pytest

from nestor.api.objects import Object
from tests.e2e.conftest import kubectl
from tests.e2e.house import House

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
        readinessProbe: {httpGet: {path: /, port: 8080}, periodSeconds: 1, timeoutSeconds: 10}
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


@dataclass
class Inside(House):
    """The cluster, with its pods."""

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
async def inside(house: House) -> Inside:
    """Two web servers, a name server, a client, and Services of many kinds."""
    found = Inside(house.kubeconfig, house.home, house.class_name)
    await kubectl(found.kubeconfig, "apply", "-f", "-", stdin=PODS)
    await kubectl(found.kubeconfig, "rollout", "status", "statefulset/web")
    await kubectl(found.kubeconfig, "wait", "--for=condition=Ready", "pod/client", "pod/names")
    return found
