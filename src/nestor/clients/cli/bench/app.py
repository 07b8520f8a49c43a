"""The app that is measured: a web server of one pod, for jobs and for the floor, without metadata. Pure."""

import json

from nestor.api.objects import Object

IMAGE = "docker.io/library/busybox:1.35"
PORT = 8080
TEMPLATE = "web.yaml"
# As process 1, httpd would ignore SIGTERM; a shell that waits for it does not.
_SCRIPT = f"trap 'exit 0' TERM; mkdir /tmp/www; echo hello > /tmp/www/index.html; httpd -f -p {PORT} -h /tmp/www & wait"
_NESTED: Object = {
    "targets": [{"service_name": "web", "service_port": PORT, "service_namespace": "default"}],
    "templates": [{"name": "web", "type": "kubectl", "path": TEMPLATE}],
}
_COMMAND: Object = {"path": "/usr/bin/true", "name": "Run", "parameters": {}, "nested_kubernetes": _NESTED}
APPDEF: Object = {"name": "Benchmark", "appdefversion": 2, "appkind": "kns", "commands": {"Run": _COMMAND}}


def build_templates(image: str) -> Object:
    """The ConfigMap that jobs are installed from."""
    app = {"Deployment": build_deployment("web", image) | {"apiVersion": "apps/v1"}}
    app["Service"] = build_service("web") | {"apiVersion": "v1"}
    items = [body | {"kind": kind, "metadata": {"name": "web", "namespace": "default"}} for kind, body in app.items()]
    return {"data": {TEMPLATE: json.dumps({"apiVersion": "v1", "kind": "List", "items": items})}}


def build_deployment(name: str, image: str) -> Object:
    container = {
        "name": "web",
        "image": image,
        "command": ["sh", "-c", _SCRIPT],
        "readinessProbe": {"httpGet": {"path": "/", "port": PORT}, "periodSeconds": 1},
        "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}, "limits": {"memory": "64Mi"}},
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }
    user = {"runAsNonRoot": True, "runAsUser": 65534, "seccompProfile": {"type": "RuntimeDefault"}}
    pod = {"terminationGracePeriodSeconds": 5, "securityContext": user, "containers": [container]}
    labels = {"app": name}
    return {"spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": pod}}}


def build_service(name: str) -> Object:
    return {"spec": {"selector": {"app": name}, "ports": [{"name": "http", "port": PORT, "targetPort": PORT}]}}


def build_ingress(name: str, class_name: str | None) -> Object:
    backend = {"service": {"name": name, "port": {"number": PORT}}}
    rule = {"host": find_host(name), "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]}}
    return {"spec": {"rules": [rule]} | ({"ingressClassName": class_name} if class_name else {})}


def find_host(name: str) -> str:
    """The floor's hosts are none of those that only jobs may have."""
    return f"{name}.invalid"
