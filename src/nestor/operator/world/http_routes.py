"""The HTTPRoutes of jobs, as the API server has them. They are not watched: not every host cluster has the kind."""

from __future__ import annotations

from nestor.api import labels
from nestor.kube import Api, NotFound, kinds
from nestor.objects import Object


async def list_http_routes(api: Api, home: str, uid: str) -> list[Object]:
    """Those of a job, in its namespace. Raises `NotFound` if the host has no such kind."""
    own = f"{labels.JOB_UID}={uid},{labels.COMPONENT}={labels.COMPONENT_EXPOSURE}"
    return await api.list(kinds.HTTP_ROUTE, home, labels=own)


async def find_http_routes(api: Api, home: str, uid: str) -> list[Object]:
    """Those of a job, in its namespace; an empty list if the host has no such kind."""
    try:
        return await list_http_routes(api, home, uid)
    except NotFound:
        return []
