"""Who the API server takes the user for: what `nestor run` and the page write on a job."""

from __future__ import annotations

from typing import Any, cast

import pytest

from nestor.clients.cli.session import ask_name
from nestor.kube import Api, ApiError, Forbidden, Kind, NotFound, kinds


class Server:
    """Answers with a status, or an error."""

    def __init__(self, answer: Any) -> None:
        self._answer = answer

    async def create(self, kind: Kind, body: Any) -> Any:
        assert (kind, body["kind"]) == (kinds.SELF_REVIEW, "SelfSubjectReview")
        if isinstance(self._answer, ApiError):
            raise self._answer
        return {"status": self._answer}


@pytest.mark.parametrize(
    ("answer", "name"),
    [
        ({"userInfo": {"username": "oidc:jane", "groups": ["a"]}}, "oidc:jane"),
        ({"userInfo": {}}, ""),
        ({}, ""),
        (Forbidden(403, "Forbidden", "no"), ""),
        (NotFound(404, "NotFound", "older servers do not know it"), ""),
    ],
)
async def test_a_name_is_what_the_api_server_says_and_nothing_else(answer: Any, name: str) -> None:
    assert await ask_name(cast(Api, Server(answer))) == name
