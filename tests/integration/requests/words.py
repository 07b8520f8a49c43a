"""Words for what differs between runs: UIDs and digests of them, addresses, versions, times, tokens, generated names.

What stands for what is learned from the answers of the API servers, so that a UID in a request reads as the object that it is of.
"""

import base64
import hashlib
import json
import re
from dataclasses import dataclass, field
from typing import Any

from nestor.api import labels
from nestor.api.objects import Object

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_HEX = re.compile(r"(?<![0-9a-zA-Z])(?:[0-9a-f]{16}|[0-9a-f]{8})(?![0-9a-zA-Z])")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+00:00)")
_ADDRESS = re.compile(r"(?<![\d.])10\.43\.\d+\.\d+(?![\d.])")
_CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----.*-----END CERTIFICATE-----\s*", re.DOTALL)
_GENERATED = re.compile(r"(?<=kube-api-access-)[a-z0-9]{5}(?![a-z0-9])")
_RANDOM_LENGTH = 5
_TOKEN = re.compile(r"^(?:ZXlKa|eyJ)[A-Za-z0-9._=+/-]{200,}$")
"""A signed token, plain or in base64."""


@dataclass
class Words:
    """What a scenario adds: `literal` are words by what they replace, `fields` by key."""

    literal: dict[str, str] = field(default_factory=dict)
    fields: dict[str, str] = field(default_factory=lambda: {"resourceVersion": "<version>", "ranSeconds": "<seconds>"})
    _uids: dict[str, str] = field(default_factory=dict)
    _digests: dict[str, str] = field(default_factory=dict)
    _addresses: dict[str, str] = field(default_factory=dict)
    _count: dict[str, int] = field(default_factory=dict)

    def learn(self, side: str, answer: Object) -> str:
        """Note the objects of an answer of one API server; returns its resource version."""
        for item in answer.get("items") or [answer] if isinstance(answer, dict) else []:
            kind = item.get("kind") or str(answer.get("kind", "")).removesuffix("List")
            if kind != "PartialObjectMetadata":  # a watch of the whole object names it
                self._learn(f"{side} {kind}", item.get("metadata") or {}, item.get("spec") or {})
        return str((answer.get("metadata") or {}).get("resourceVersion", ""))

    def _learn(self, kind: str, meta: Object, spec: Object) -> None:
        name, namespace, uid = meta.get("name", ""), meta.get("namespace", ""), meta.get("uid", "")
        about = f"{namespace}/{name}" if namespace else name
        if uid and uid not in self._uids:
            self._uids[uid] = self._number(f"{kind} {about}")
            for parts in ((uid,), (name, namespace, uid), (namespace, name, uid)):
                found = hashlib.sha256("\0".join(parts).encode()).hexdigest()
                self._digests |= {found[:length]: self._uids[uid] for length in (8, 16)}
            prefix = meta.get("generateName")
            if prefix and len(name) == len(prefix) + _RANDOM_LENGTH:  # not those of a StatefulSet, which are numbered
                self.literal[name] = f"{prefix}<random>"
                found = hashlib.sha256("\0".join((namespace, name)).encode()).hexdigest()
                self._digests[found[:8]] = "its name"
        job = {key: (meta.get("labels") or {}).get(key) for key in (labels.JOB_NAMESPACE, labels.JOB)}
        if kind.endswith(" Namespace") and all(job.values()):
            self.literal[name] = f"<home of {'/'.join(map(str, job.values()))}>"
        address = spec.get("clusterIP") if kind.endswith(" Service") else None
        if address and address not in self._addresses:
            self._addresses[address] = self._number(f"address of {about}")

    def _number(self, word: str) -> str:
        """A word of its own for each successor of the same name."""
        self._count[word] = self._count.get(word, 0) + 1
        return word if self._count[word] == 1 else f"{word}, {self._count[word]}"

    def replace(self, value: Any) -> Any:
        """The value, in words; JSON in strings is laid open, as what its text looks like is nobody's business."""
        if isinstance(value, dict):
            if "digest" in value and any("controller-uid" in key for key in value.get("labels") or ()):
                value = value | {"digest": "<digest with a UID>"}  # of a pod's labels, among which a Job's UID is
            return {self._text(str(key)): self._field(str(key), item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.replace(item) for item in value]
        return self._open(value) if isinstance(value, str) else value

    def _field(self, key: str, value: Any) -> Any:
        if key == "plan.json" and isinstance(value, str):
            value = base64.b64decode(value).decode()  # in a Secret
        return self.fields.get(key) or self.replace(value)

    def _open(self, text: str) -> Any:
        if text.startswith(("{", "[")) and len(text) > 2:
            try:
                return {"JSON": self.replace(json.loads(text))}
            except ValueError:
                pass
        return self._text(text)

    def _text(self, text: str) -> str:
        for word, meaning in self.literal.items():
            text = text.replace(word, meaning)
        if _TOKEN.match(text):
            return "<token>"
        text = _CERTIFICATE.sub("<certificate>", text)
        text = _TIME.sub("<time>", text)
        text = _UUID.sub(lambda found: self._uid(found[0]), text)
        text = _HEX.sub(lambda found: self._digest(found[0]), text)
        text = _ADDRESS.sub(lambda found: self._address(found[0]), text)
        return _GENERATED.sub("<random>", text)

    def _uid(self, uid: str) -> str:
        return f"<uid of {self._text(self._uids[uid])}>" if uid in self._uids else "<uid>"

    def _digest(self, digest: str) -> str:
        return f"<digest of {self._text(self._digests[digest])}>" if digest in self._digests else digest

    def _address(self, address: str) -> str:
        """Those that a test chose itself, at the range's beginning, stay."""
        if address.startswith("10.43.0."):
            return address
        return f"<{self._text(self._addresses[address])}>" if address in self._addresses else "<address>"
