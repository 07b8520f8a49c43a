"""The Secret with which nodes pull Nestor's own images in the namespaces of jobs.

A pod's pull Secrets are for all of its images, and some of Nestor's pods mount an app image that a tenant names. So this one has
credentials for Nestor's images only, whatever else the Secrets of the operator's namespace give access to.
"""

import base64
import json
import logging
import re
import time
from collections.abc import Collection, Mapping
from fnmatch import fnmatchcase

from nestor.api.images import PULL_TYPES, complete
from nestor.api.objects import Object
from nestor.kube import Api, kinds
from nestor.kube.applier import RESYNC_SECONDS

log = logging.getLogger(__name__)

MISSING_SECONDS = 10
"""How soon to look again for a Secret that is missing."""
_KEY = ".dockerconfigjson"
_SCHEME, _VERSION = re.compile("^https?://"), re.compile("^v[12](/|$)")


class OwnPulls:
    """The content of that Secret, from the Secrets with these names, which are read again from time to time."""

    def __init__(self, api: Api, namespace: str = "", secrets: Collection[str] = (), images: Collection[str] = ()) -> None:
        self._api = api
        self._namespace = namespace
        self._secrets = secrets
        self._images = images
        self._due = 0.0
        self._auths: Object = {}

    async def build(self, metadata: Object) -> Object | None:
        """The Secret; None if there is nothing to put into it."""
        if self._secrets and time.monotonic() >= self._due:
            found = {name: read_auths(await self._api.find(kinds.SECRET, name, self._namespace)) for name in self._secrets}
            self._auths = narrow([auths for auths in found.values() if auths], self._images)
            missing = ", ".join(name for name, auths in found.items() if not auths)
            if missing:
                log.warning("no Secret of type %s in namespace %s: %s", PULL_TYPES[0], self._namespace, missing)
            self._due = time.monotonic() + (MISSING_SECONDS if missing else RESYNC_SECONDS)
        if not self._auths:
            return None
        data = base64.b64encode(json.dumps({"auths": self._auths}).encode()).decode()
        return {"metadata": metadata, "type": PULL_TYPES[0], "data": {_KEY: data}}


def read_auths(secret: Object | None) -> dict[str, Object]:
    """The credentials by registry or path; empty if it is no Secret of that type."""
    try:
        return dict(json.loads(base64.b64decode((secret or {})["data"][_KEY]))["auths"])
    except (KeyError, TypeError, ValueError):
        return {}


def narrow(found: Collection[Mapping[str, Object]], images: Collection[str]) -> dict[str, Object]:
    """For each image's repository, the credentials that kubelets would find for it: those of the longest path, and of
    the last Secret that has some for it.
    """
    result = {}
    for repository in sorted({_cut_tag(complete(image)) for image in images if image}):
        fit = [(_read_place(place), auth) for auths in found for place, auth in auths.items()]
        fit = [item for item in fit if _covers(item[0], repository)]
        if fit:
            result[repository] = max(reversed(fit), key=lambda item: len(item[0][1]))[1]
    return result


def _cut_tag(image: str) -> str:
    path, slash, last = image.partition("@")[0].rpartition("/")
    return path + slash + last.partition(":")[0]


def _read_place(key: str) -> tuple[str, str]:
    """The registry and the path of a key such as `https://index.docker.io/v1/`."""
    host, _, path = _SCHEME.sub("", key, count=1).partition("/")
    return "docker.io" if host == "index.docker.io" else host, _VERSION.sub("", path, count=1).rstrip("/")


def _covers(place: tuple[str, str], repository: str) -> bool:
    registry, _, path = repository.partition("/")
    return fnmatchcase(registry, place[0]) and path.startswith(place[1])
