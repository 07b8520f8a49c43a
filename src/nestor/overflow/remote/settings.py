"""Which cluster a backend is, and how it is reached. The caller has read all Secrets."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from nestor.api.objects import Object
from nestor.kube import Api, ApiError

MANAGER = "nestor-vnode"
CALL_SECONDS = 30.0
"""For one answer, from the first byte of the request to the last of the answer."""
_ANSWER_BYTES = 64 * 1024 * 1024
"""For any answer but logs; lists come in pages."""


@dataclass(frozen=True)
class Access:
    """A kubeconfig of checked fields, and where the token comes from if it is not in there."""

    kubeconfig: Object = field(repr=False)
    token: Callable[[], str] | None = None
    """Reads the bearer token for each request. It must not wait, and may raise `ApiError`."""

    async def connect(self) -> Api:
        """A client that does not trust the server. Raises `ValueError` for credentials that cannot be used."""
        try:
            api = await Api.from_kubeconfig(self.kubeconfig, manager=MANAGER, timeout=CALL_SECONDS, token=self.token)
        except ApiError as error:
            raise ValueError(f"the credentials cannot be used: {error.message}") from None
        return api.with_limit(_ANSWER_BYTES)

    def list_secrets(self) -> list[str]:
        """The tokens that no text for users may repeat."""
        found = [str(item["user"].get("token", "")) for item in self.kubeconfig["users"]]
        return [*found, self.token()] if self.token is not None else found


@dataclass(frozen=True)
class Settings:
    access: Access
    backend: str
    uid: str
    """Its UID: several backends, also of several host clusters, may share a namespace."""
    namespace: str
    node_selector: Mapping[str, str] = field(default_factory=dict)
    shape_labels: Sequence[str] = ()
    own_shapes: Mapping[str, Mapping[str, str]] | None = None
    """The labels of shapes that the admin has written; None if they are discovered."""
