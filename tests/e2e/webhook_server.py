"""Runs in a pod of a nested cluster: two admission webhooks, a conversion webhook and an aggregated API, over TLS.

It needs nothing but Python's own library. What it was asked for is said in its log, and by `/apis/…/greetings/asked`.
"""

import base64
import json
import ssl
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Object = dict[str, Any]
"""As Nestor has it, which is not there where this runs."""

GROUP, VERSION = "hello.example.com", "v1"
ROOT = f"/apis/{GROUP}/{VERSION}"


def check(request: Object) -> Object:
    """Refuses what has the key `bad`."""
    if "bad" in (request["object"].get("data") or {}):
        return {"allowed": False, "status": {"code": 403, "message": "this has a bad key"}}
    return {"allowed": True, "warnings": ["looked at"]}


def sign(request: Object) -> Object:
    """Adds an annotation."""
    patch = [{"op": "add", "path": "/metadata/annotations", "value": {"signed-by": request["userInfo"]["username"]}}]
    return {"allowed": True, "patchType": "JSONPatch", "patch": base64.b64encode(json.dumps(patch).encode()).decode()}


def convert(request: Object) -> Object:
    """Between `spec.size` as a number (v1) and as a text with a unit (v2)."""
    found = []
    for item in request["objects"]:
        size = str(item["spec"]["size"]).removesuffix("m")
        spec = {"size": f"{size}m"} if request["desiredAPIVersion"].endswith("/v2") else {"size": int(size)}
        found.append({**item, "apiVersion": request["desiredAPIVersion"], "spec": spec})
    return {"result": {"status": "Success"}, "convertedObjects": found}


HOOKS: dict[str, Callable[[Object], Object]] = {"/check": check, "/sign": sign, "/convert": convert}


def greet(name: str, user: str) -> Object:
    """An object of the aggregated API, which says who asks."""
    meta = {"name": name, "namespace": "default", "uid": name, "creationTimestamp": "2026-01-01T00:00:00Z"}
    return {"apiVersion": f"{GROUP}/{VERSION}", "kind": "Greeting", "metadata": meta, "spec": {"text": f"hello {user}"}}


class Handler(BaseHTTPRequestHandler):
    """One request."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        """A review."""
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        request = review["request"]
        response = {"uid": request["uid"], **HOOKS[self.path.partition("?")[0]](request)}
        self._answer({"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response})

    def do_GET(self) -> None:
        """The aggregated API, or a probe."""
        path = self.path.partition("?")[0].rstrip("/")
        user = self.headers.get("X-Remote-User", "nobody")
        verbs = {
            "name": "greetings",
            "singularName": "greeting",
            "namespaced": True,
            "kind": "Greeting",
            "verbs": ["get", "list"],
        }
        if path == ROOT:
            self._answer(
                {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": f"{GROUP}/{VERSION}", "resources": [verbs]}
            )
        elif path.startswith(f"{ROOT}/namespaces/default/greetings/"):
            self._answer(greet(path.rpartition("/")[2], user))
        elif path == f"{ROOT}/namespaces/default/greetings":
            self._answer(
                {"kind": "GreetingList", "apiVersion": f"{GROUP}/{VERSION}", "metadata": {}, "items": [greet("you", user)]}
            )
        elif path in ("", "/healthz"):
            self._answer({})
        else:
            status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}
            self._answer(status, 404)

    def _answer(self, content: Object, status: int = 200) -> None:
        body = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def main() -> None:
    """Serve until killed. The handshake is the thread's that answers: whoever never ends it must not hold up all others."""
    server = ThreadingHTTPServer(("", 8443), Handler)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain("/tls/tls.crt", "/tls/tls.key")
    server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    server.serve_forever()


if __name__ == "__main__":
    main()
