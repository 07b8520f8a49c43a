"""What callers learn from a refused request."""

import pytest

from nestor.kube import errors


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (404, errors.NotFound),
        (409, errors.Conflict),
        (403, errors.Forbidden),
        (410, errors.Gone),
        (422, errors.Invalid),
        (400, errors.Invalid),
        (500, errors.ApiError),
        (418, errors.ApiError),
    ],
)
def test_the_status_chooses_the_class(status: int, kind: type[errors.ApiError]) -> None:
    assert type(errors.from_response(status, b"no")) is kind


@pytest.mark.parametrize(("status", "transient"), [(429, True), (500, True), (503, True), (404, False), (409, False)])
def test_overload_and_outage_are_transient(status: int, transient: bool) -> None:
    assert errors.from_response(status, b"").is_transient is transient
    assert errors.Unreachable("refused").is_transient
