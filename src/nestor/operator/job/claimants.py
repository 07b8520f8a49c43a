"""Which jobs may claim a host, so that nobody looks at all jobs for it."""

from __future__ import annotations

from collections.abc import Iterable


class Claimants:
    """The UIDs of jobs by marks: hosts, and first labels of hosts."""

    def __init__(self) -> None:
        self._uids: dict[str, set[str]] = {}
        self._marks: dict[str, frozenset[str]] = {}

    def put(self, uid: str, marks: frozenset[str]) -> None:
        """These are the marks of a job now; without any, it is forgotten."""
        before = self._marks.pop(uid, frozenset())
        for mark in before - marks:
            self._uids[mark].discard(uid)
            if not self._uids[mark]:
                del self._uids[mark]
        for mark in marks - before:
            self._uids.setdefault(mark, set()).add(uid)
        if marks:
            self._marks[uid] = marks

    def find(self, hosts: Iterable[str]) -> list[str]:
        """The jobs that may claim one of these hosts."""
        marks = {mark for host in hosts for mark in (host, host.partition(".")[0])}
        return sorted({uid for mark in marks for uid in self._uids.get(mark, ())})
