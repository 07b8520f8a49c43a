"""Another cluster: a namespace of a real API server, with the rights that the documentation asks for; its kubelets are played."""

import asyncio
import contextlib
import uuid
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from nestor.api import labels
from nestor.api.objects import Object, labels_of, spec_of
from nestor.kube import Api, ApiError, Kind, kinds, kubeconfig
from nestor.overflow.remote.provider import RemoteProvider
from nestor.overflow.remote.settings import Access, Settings
from tests.fakes.cluster import build_ended, build_running
from tests.integration.apiserver import ControlPlane
from tests.unit.overflow.remote.documents import read_documents
from tests.waiting import eventually

NODE = "far-node"
_NAMESPACED = (kinds.SERVICE_ACCOUNT, kinds.ROLE, kinds.ROLE_BINDING, kinds.NETWORK_POLICY)
_WIDE = (kinds.NAMESPACE, kinds.CLUSTER_ROLE, kinds.CLUSTER_ROLE_BINDING)
_KINDS: dict[str, Kind] = {item.name: item for item in (*_NAMESPACED, *_WIDE)}


@dataclass
class Far:
    """One namespace of the other cluster. `api` has the admin's rights there."""

    api: Api
    plane: ControlPlane
    space: str
    token: str = ""
    starts: Counter[str] = field(default_factory=Counter)
    made: list[RemoteProvider] = field(default_factory=list)

    async def set_up(self) -> None:
        """What the documentation tells the admin to do."""
        for document in read_documents():
            await self.api.apply(_KINDS[document["kind"]], self._place(document))
        await eventually(lambda: self.api.find(kinds.SERVICE_ACCOUNT, "default", self.space))
        body = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "metadata": {"namespace": self.space},
            "spec": {},
        }
        made = await self.api.create(kinds.SERVICE_ACCOUNT, body, subresource="token", name="nestor")
        self.token = made["status"]["token"]
        await self.api.apply(kinds.NODE, {"metadata": {"name": NODE}})
        await self.until_may("patch", "secrets")
        await self.until_may("list", "nodes", is_wide=True)

    async def until_may(self, verb: str, resource: str, *, is_allowed: bool = True, is_wide: bool = False) -> None:
        """Await that the API server knows the account's rights."""
        wanted = {"verb": verb, "resource": resource} | ({} if is_wide else {"namespace": self.space})
        spec = {"user": f"system:serviceaccount:{self.space}:nestor", "resourceAttributes": wanted}
        body = {"apiVersion": kinds.SUBJECT_REVIEW.api_version, "kind": kinds.SUBJECT_REVIEW.name, "metadata": {}, "spec": spec}

        async def look() -> bool:
            return bool((await self.api.create(kinds.SUBJECT_REVIEW, body))["status"]["allowed"]) is is_allowed

        await eventually(look)

    def _place(self, document: Object) -> Object:
        """A documented object, for this namespace alone."""
        meta = document["metadata"]
        if document["kind"] == "Namespace":
            meta["name"] = self.space
        elif "namespace" in meta:
            meta["namespace"] = self.space
        else:
            meta["name"] += f"-{self.space}"
            if "roleRef" in document:
                document["roleRef"]["name"] = meta["name"]
        for subject in document.get("subjects", ()):
            subject["namespace"] = self.space
        return document

    async def connect(self, **others: Any) -> RemoteProvider:
        """A provider that knows nothing yet."""
        authority = (self.plane.folder / "ca.crt").read_text()
        content = kubeconfig.build_with_token(self.plane._server, authority)
        plain = {
            "access": Access(content, lambda: self.token),
            "backend": "big",
            "uid": f"uid-{self.space}",
            "namespace": self.space,
        }
        settings = Settings(**{**plain, **others})
        api = await settings.access.connect()
        provider = RemoteProvider(settings, api)
        self.made.append(provider)
        create = api.create

        async def counted(kind: Kind, body: Object, **options: Any) -> Object:
            answer = await create(kind, body, **options)
            self.starts[labels_of(body).get(labels.HOST_UID, "")] += 1
            return answer

        api.create = counted  # type: ignore[method-assign]
        return provider

    async def close(self) -> None:
        """All of it."""
        for item in self.made:
            await item.close()

    async def of(self, uid: str) -> Object:
        """The pod that runs for a host pod."""
        (found,) = await self.api.list(kinds.POD, self.space, labels=f"{labels.HOST_UID}={uid}")
        return found

    async def run(self, uid: str) -> None:
        """Scheduler and kubelet start the pod."""
        pod = await self.of(uid)
        meta = pod["metadata"]
        target = {"apiVersion": "v1", "kind": "Node", "name": NODE}
        body: Object = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": meta["name"], "namespace": self.space}}
        await self.api.create(kinds.POD, body | {"target": target}, subresource="binding", name=meta["name"])
        await self.tell(pod, build_running(pod))

    async def end(self, uid: str, code: int) -> None:
        """The kubelet has run the pod."""
        pod = await self.of(uid)
        await self.tell(pod, build_ended(pod, code))

    async def tell(self, pod: Object, status: Object) -> None:
        """The kubelet writes a status."""
        own = {key: value for key, value in status.items() if key not in ("qosClass", "podIP", "hostIP")}
        name = pod["metadata"]["name"]
        await self.api.patch(kinds.POD, name, self.space, {"status": own}, subresource="status", how="strategic")

    async def remove(self, uid: str) -> None:
        """The kubelet's last request."""
        for pod in await self.api.list(kinds.POD, self.space, labels=f"{labels.HOST_UID}={uid}"):
            await self.api.delete(kinds.POD, pod["metadata"]["name"], self.space, grace_seconds=0)

    async def names(self, kind: Kind) -> list[str]:
        """All copies of a kind."""
        return [item["metadata"]["name"] for item in await self.api.list(kind, self.space, labels=labels.HOST_UID)]

    async def play_kubelet(self) -> None:
        """End pods that have a second to end."""
        while True:
            with contextlib.suppress(ApiError):
                for pod in await self.api.list(kinds.POD, self.space):
                    grace = pod["metadata"].get("deletionGracePeriodSeconds")
                    if spec_of(pod).get("nodeName") and grace is not None and grace <= 1:
                        await self.api.delete(kinds.POD, pod["metadata"]["name"], self.space, grace_seconds=0)
            await asyncio.sleep(0.1)


@contextlib.asynccontextmanager
async def opened(api: Api, plane: ControlPlane) -> AsyncIterator[Far]:
    """A fresh one."""
    far = Far(api, plane, f"far-{uuid.uuid4().hex[:8]}")
    await far.set_up()
    kubelet = asyncio.create_task(far.play_kubelet())
    try:
        yield far
    finally:
        kubelet.cancel()
        await asyncio.gather(kubelet, return_exceptions=True)
        await far.close()
