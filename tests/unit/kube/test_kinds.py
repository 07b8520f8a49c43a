"""Paths in the API: a name is one part of it, whatever its characters."""

import pytest
from yarl import URL

from nestor.kube import NotFound, kinds


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (kinds.POD.path(), "/api/v1/pods"),
        (kinds.POD.path("n", "web-1", "log"), "/api/v1/namespaces/n/pods/web-1/log"),
        (kinds.NODE.path("ignored", "a.b"), "/api/v1/nodes/a.b"),
        (kinds.POD.path("", "web-1"), "/api/v1/pods/web-1"),
        (kinds.INGRESS.path("n"), "/apis/networking.k8s.io/v1/namespaces/n/ingresses"),
        # RBAC's names have colons.
        (kinds.CLUSTER_ROLE.path(None, "system:node"), "/apis/rbac.authorization.k8s.io/v1/clusterroles/system:node"),
        (kinds.SECRET.path("n", "a?watch"), "/api/v1/namespaces/n/secrets/a%3Fwatch"),
        (kinds.SECRET.path("n", "a#b c"), "/api/v1/namespaces/n/secrets/a%23b%20c"),
        (kinds.SECRET.path("n", "ä\n"), "/api/v1/namespaces/n/secrets/%C3%A4%0A"),
        (kinds.SECRET.path("a\\b", "..."), "/api/v1/namespaces/a%5Cb/secrets/..."),
    ],
)
def test_paths(path: str, expected: str) -> None:
    assert path == expected
    assert URL("https://h" + path).raw_path == expected


def test_an_empty_name_is_not_the_whole_collection() -> None:
    """A DELETE of it would delete everything."""
    with pytest.raises(NotFound, match="no object can have the name ''"):
        kinds.SECRET.path("n", "")
