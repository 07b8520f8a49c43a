"""Lists and watches of the API server, with the standard library alone: the process starts at once and stays small."""

import http.client
import json
import logging
import ssl
import threading
import time
import urllib.parse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from devcluster.cluster import settings

log = logging.getLogger(__name__)

RETRY_SECONDS = 0.2
WATCH_SECONDS = 600
REQUEST_SECONDS = 5.0
GONE = 410

Object = dict[str, Any]


class Expired(Exception):
    """The API server no longer knows what happened since then."""


@dataclass(frozen=True)
class Client:
    """The enforcers' connection to the API server."""

    ca: Path
    certificate: Path
    key: Path

    def connect(self, seconds: float) -> http.client.HTTPSConnection:
        """A new connection, whose reads fail after some seconds without a byte."""
        context = ssl.create_default_context(cafile=str(self.ca))
        context.load_cert_chain(self.certificate, self.key)
        return http.client.HTTPSConnection(settings.CONTROL_PLANE_IP, 6443, timeout=seconds, context=context)

    def get(self, path: str) -> Object | None:
        """An object or a list, None if it is not there. Raises `OSError` when there is no answer or another one."""
        connection = self.connect(REQUEST_SECONDS)
        try:
            return _get(connection, path)
        finally:
            connection.close()

    def watch(self, path: str, version: str) -> Iterator[tuple[str, Object]]:
        """What happens from `version` on, until the API server ends it. Raises `Expired`, `OSError`."""
        query = {"watch": "1", "resourceVersion": version, "allowWatchBookmarks": "true", "timeoutSeconds": WATCH_SECONDS}
        connection = self.connect(WATCH_SECONDS + REQUEST_SECONDS)
        try:
            connection.request("GET", f"{path}?{urllib.parse.urlencode(query)}")
            answer = connection.getresponse()
            if answer.status == GONE:
                raise Expired(path)
            if answer.status != http.client.OK:
                raise ConnectionError(f"watching {path}: HTTP {answer.status}")
            while line := answer.readline():
                event = json.loads(line)
                if event["type"] == "ERROR":
                    raise Expired(str(event["object"].get("message")))
                yield event["type"], event["object"]
        except (http.client.HTTPException, ValueError) as error:
            raise ConnectionError(f"watching {path}: {error}") from error
        finally:
            connection.close()


def _get(connection: http.client.HTTPSConnection, path: str) -> Object | None:
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        body = answer.read()
        if answer.status == http.client.NOT_FOUND:
            return None
        if answer.status != http.client.OK:
            raise ConnectionError(f"GET {path}: HTTP {answer.status}")
        content: Object = json.loads(body)
        return content
    except (http.client.HTTPException, ValueError) as error:
        raise ConnectionError(f"GET {path}: {error}") from error


@dataclass
class Follower:
    """Follows all objects of one kind for ever, in a thread of its own."""

    client: Client
    path: str
    replace: Callable[[list[Object], int], None]
    """Called with everything that there is, and the version at which it was so."""
    change: Callable[[str, Object], None]
    """Called with the type of an event (`ADDED`, `MODIFIED`, `DELETED`) and the object."""

    def start(self) -> None:
        """Begin."""
        threading.Thread(target=self._run, name=self.path, daemon=True).start()

    def _run(self) -> None:
        version, said = "", ""
        while True:
            try:
                if not version:
                    version = self._list()
                for kind, item in self.client.watch(self.path, version):
                    version = item["metadata"]["resourceVersion"]
                    if kind != "BOOKMARK":
                        self.change(kind, item)
            except Expired:
                version = ""
            except OSError as error:
                if str(error) != said:
                    said = str(error)
                    log.info("will try again: %s", said)
                time.sleep(RETRY_SECONDS)

    def _list(self) -> str:
        found = self.client.get(self.path)
        if found is None:
            raise ConnectionError(f"GET {self.path}: not found")
        version: str = found["metadata"]["resourceVersion"]
        self.replace(found.get("items", []), int(version))
        return version
