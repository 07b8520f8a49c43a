"""Parameters from a Secret of the user, copied into the job's namespace when the job starts."""

import base64
import binascii
from dataclasses import dataclass, field

from nestor.api import conditions, labels
from nestor.api.names import Part
from nestor.api.objects import Object, annotations_of
from nestor.cluster.home import Home
from nestor.kube import Api, kinds
from nestor.operator.admission.identity import JobIdentity, Refused

RETRY_SECONDS = 5.0
"""How soon to look again for a missing ConfigMap or Secret: those of users are not watched."""
LONGEST_RETRY_SECONDS = 60.0
KEY_LIMIT = 256
"""As many as a command can have parameters."""
SIZE_LIMIT = 256 * 1024
"""Bytes of all keys and values: what a job's spec may have."""
TYPE = "Opaque"
"""Secrets of other types belong to somebody's purpose: tokens of service accounts, releases of helm."""


@dataclass(frozen=True)
class SecretParameters:
    values: dict[str, str] = field(repr=False)
    salt: str = field(repr=False)
    """Keeps hashes, which everybody sees, from telling a value to whoever guesses it: only readers of Secrets know it."""

    @property
    def data(self) -> dict[str, str]:
        """As it is in a Secret."""
        return {key: base64.b64encode(value.encode()).decode() for key, value in self.values.items()}


async def find_parameters(api: Api, known: JobIdentity) -> SecretParameters | None:
    """The copy made when the job started, or else the current original, which comes first for a rerun; None for a job that names
    no Secret. Raises `Refused`.
    """
    if known.spec.parameters_from is None:
        return None
    home, name = known.home, known.spec.parameters_from.secret_ref.name
    copy = await api.find(kinds.SECRET, home.child(Part.PARAMETERS), home.namespace)
    found = await api.find(kinds.SECRET, name, known.namespace) if copy is None or known.is_rerun_due else None
    if copy is not None and found is None:
        return _read(copy, annotations_of(copy).get(labels.SALT) or copy["metadata"]["uid"])
    where = f"Secret '{name}' in namespace '{known.namespace}'"
    if found is None:
        raise _refuse(f"no {where}")
    if found.get("type") != TYPE:
        raise _refuse(f"{where} has type '{found.get('type')}'; it must be {TYPE}")
    _check_size(found, where)
    return _read(found, found["metadata"]["uid"])


def build_copy(home: Home, given: SecretParameters) -> Object:
    metadata = home.metadata(home.child(Part.PARAMETERS), annotations={labels.SALT: given.salt})
    return {"metadata": metadata, "type": TYPE, "data": given.data}


def _check_size(secret: Object, where: str) -> None:
    """Raises `Refused`."""
    data = secret.get("data") or {}
    if len(data) > KEY_LIMIT:
        raise _refuse(f"{where} has {len(data)} keys; at most {KEY_LIMIT} are accepted")
    size = sum(len(key) + len(value or "") * 3 // 4 for key, value in data.items())
    if size > SIZE_LIMIT:
        raise _refuse(f"{where} has {size} bytes; at most {SIZE_LIMIT} are accepted")


def _read(secret: Object, salt: str) -> SecretParameters:
    """Raises `Refused`, which names the key and never shows its value."""
    values = {}
    for key, encoded in (secret.get("data") or {}).items():
        try:
            values[key] = base64.b64decode(encoded or "").decode()
        except (binascii.Error, UnicodeDecodeError):
            meta = secret["metadata"]
            raise _refuse(
                f"key '{key}' of Secret '{meta['name']}' in namespace '{meta['namespace']}' is not UTF-8 text"
            ) from None
    return SecretParameters(values, salt)


def _refuse(message: str) -> Refused:
    return Refused(conditions.PARAMETERS_INVALID, f"`spec.parametersFrom`: {message}", retry_seconds=RETRY_SECONDS)
