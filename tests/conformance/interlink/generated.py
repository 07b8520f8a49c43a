"""Messages of the interLink protocol that schemathesis makes from its description: requests, and answers to them."""

import json
from typing import Any

import schemathesis
from hypothesis import HealthCheck, Phase, settings
from hypothesis.strategies import SearchStrategy
from schemathesis import Case, GenerationMode

from nestor.api.backend_kinds import Hop
from nestor.api.objects import Object
from tests.conformance.interlink.description import load

OPERATIONS: list[tuple[Hop, str, str]] = [
    (hop, path, method) for hop in ("Server", "Plugin") for path, methods in load(hop)["paths"].items() for method in methods
]
"""All of them, as hop, path and method."""

QUICK = settings(
    max_examples=12,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
"""The same examples in every run, and in seconds."""


def requests(hop: Hop, path: str, method: str, *, valid: bool = True) -> SearchStrategy[Case[Any]]:
    """Requests as described; or such as are not, in one place or more."""
    mode = GenerationMode.POSITIVE if valid else GenerationMode.NEGATIVE
    found: SearchStrategy[Case[Any]] = _operation(_limit(load(hop)), path, method).as_strategy(generation_mode=mode)
    return found


def answers(hop: Hop, path: str, method: str, *, valid: bool = True) -> SearchStrategy[bytes]:
    """JSON bodies of answers with status 200, as described or not. They are made as the bodies of requests, as schemathesis makes
    nothing else.
    """
    document = _limit(load(hop))
    content = document["paths"][path][method]["responses"]["200"]["content"]
    body = {"required": True, "content": {"application/json": content["application/json"]}}
    document["paths"] = {"/answer": {"post": {"requestBody": body, "responses": {"200": {"description": "Any."}}}}}
    mode = GenerationMode.POSITIVE if valid else GenerationMode.NEGATIVE
    cases: SearchStrategy[Case[Any]] = _operation(document, "/answer", "post").as_strategy(generation_mode=mode)
    return cases.map(lambda case: json.dumps(case.body, default=str).encode())


def _limit(part: Any) -> Any:
    """With short lists only: long ones take seconds each, and find no more."""
    if isinstance(part, list):
        return [_limit(item) for item in part]
    if isinstance(part, dict):
        return {key: _limit(item) for key, item in part.items()} | ({"maxItems": 2} if "array" in str(part.get("type")) else {})
    return part


def _operation(document: Object, path: str, method: str) -> Any:
    return schemathesis.openapi.from_dict(document)[path][method.upper()]
