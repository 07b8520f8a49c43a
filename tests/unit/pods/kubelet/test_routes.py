"""The kubelet API's paths and queries, as the host API server's."""

import pytest

from nestor.pods.kubelet import routes
from nestor.pods.kubelet.routes import Route


@pytest.mark.parametrize(
    ("method", "path", "route"),
    [
        ("GET", "containerLogs/shop/web/app", Route("log", "shop", "web", None, "app")),
        ("POST", "exec/shop/web/app", Route("exec", "shop", "web", None, "app")),
        ("GET", "exec/shop/web/uid-1/app", Route("exec", "shop", "web", "uid-1", "app")),
        ("POST", "attach/shop/web/app", Route("attach", "shop", "web", None, "app")),
        ("POST", "portForward/shop/web", Route("portforward", "shop", "web", None, None)),
        ("POST", "portForward/shop/web/uid-1", Route("portforward", "shop", "web", "uid-1", None)),
        ("POST", "containerLogs/shop/web/app", None),
        ("DELETE", "exec/shop/web/app", None),
        ("GET", "containerLogs/shop/web", None),
        ("GET", "containerLogs/shop/web/uid-1/app", None),
        ("POST", "exec/shop/web", None),
        ("POST", "exec/shop/web/a/b/c", None),
        ("POST", "portForward/shop", None),
        ("GET", "pods", None),
        ("GET", "runningpods", None),
        ("GET", "run/shop/web/app", None),
        ("GET", "", None),
    ],
)
def test_route(method: str, path: str, route: Route | None) -> None:
    assert routes.find_route(method, [part for part in path.split("/") if part]) == route


@pytest.mark.parametrize(
    ("path", "query", "expected"),
    [
        (
            "containerLogs/shop/web/app",
            {"follow": ["true"], "tailLines": ["5"], "container": ["other"], "x": ["y"]},
            [("container", "app"), ("follow", "true"), ("tailLines", "5")],
        ),
        (
            "exec/shop/web/app",
            {"command": ["sh", "-c", "a b"], "input": ["1"], "output": ["1"], "tty": ["1"], "error": ["0"]},
            [
                ("container", "app"),
                ("stdin", "true"),
                ("stdout", "true"),
                ("tty", "true"),
                ("command", "sh"),
                ("command", "-c"),
                ("command", "a b"),
            ],
        ),
        (
            "attach/shop/web/app",
            {"command": ["sh"], "output": ["1"], "error": ["1"]},
            [("container", "app"), ("stdout", "true"), ("stderr", "true")],
        ),
        ("portForward/shop/web", {"port": ["80", "81"]}, [("ports", "80"), ("ports", "81")]),
        ("portForward/shop/web", {}, []),
    ],
)
def test_query(path: str, query: dict[str, list[str]], expected: list[tuple[str, str]]) -> None:
    method = "GET" if path.startswith("containerLogs") else "POST"
    route = routes.find_route(method, path.split("/"))
    assert route is not None
    assert routes.build_query(route, query) == expected
