"""Tells the owners of objects whose kinds Nestor does not carry to the host cluster. Their content is never read."""

from nestor.api.objects import Object
from nestor.api.policy import Policy
from nestor.kube import Api, Change, Informer, Kind, WorkQueue, kinds
from nestor.kube.informer import Key
from nestor.kube.tasks import together
from nestor.pods.translate.device_claims import NO_DEVICES
from nestor.pods.translate.volumes import NO_SNAPSHOTS
from nestor.syncer.view.caches import OPTIONAL
from nestor.syncer.view.context import RETRY_LIMIT, Context
from nestor.syncer.view.watches import Selection, Watches

REASON = "NotCarried"
_ROUTES = (
    "Nestor does not carry it to the host cluster: it has an effect only if a controller in this nested cluster acts on it. From "
    "outside, Services of type NodePort or LoadBalancer are reached if the class allows them (`services`), and the targets of a "
    "job's AppDef"
)
_SNAPSHOTS = f"Nestor does not carry it to the host cluster, whose volumes these are: {NO_SNAPSHOTS}, so that none is made"
_CLAIMS = f"Nestor does not carry it to the host cluster, which has the devices: {NO_DEVICES}; pods that refer to it are refused"

_BUILT_IN = {kinds.INGRESS: _ROUTES, kinds.RESOURCE_CLAIM: _CLAIMS}
"""Kinds that API servers have from some version on."""
_DEFINED = {
    "gateways.gateway.networking.k8s.io": _ROUTES,
    "grpcroutes.gateway.networking.k8s.io": _ROUTES,
    "httproutes.gateway.networking.k8s.io": _ROUTES,
    "tcproutes.gateway.networking.k8s.io": _ROUTES,
    "tlsroutes.gateway.networking.k8s.io": _ROUTES,
    "udproutes.gateway.networking.k8s.io": _ROUTES,
    "volumesnapshots.snapshot.storage.k8s.io": _SNAPSHOTS,
}
"""Kinds that somebody may define, by the name of their CustomResourceDefinition."""

_ANSWER_BYTES = 4 * 2**20
_MOST = 10_000
"""Objects of a kind. An admin may have some kinds served by a server of his own, which may say that there are millions."""

_Item = tuple[Selection, Key, str]
"""One object: its kind, its key and its UID."""


class NotCarried:
    """One event per object. A kind that nobody has defined in the nested cluster costs nothing."""

    def __init__(self, context: Context) -> None:
        self._api = context.nested
        self._recorder = context.recorder
        self._caches = context.caches
        self._notes = {Selection(kind.api_version, kind.name): note for kind, note in _BUILT_IN.items()}
        self._defined: dict[str, Selection] = {}
        """The kinds that somebody has defined, by the names of their definitions."""
        self._definitions = _build_informer(context.nested, kinds.CRD)
        self._definitions.on_change(self._on_definition)
        self.watches = Watches(context.nested, self._on_change, _build_informer)
        self.watches.want(self._notes)
        self.queue: WorkQueue[_Item] = WorkQueue(self._tell, workers=1, name="not-carried", max_delay=RETRY_LIMIT)
        self.definitions: WorkQueue[str] = WorkQueue(self._look_up, workers=1, name="not-carried-kinds", max_delay=RETRY_LIMIT)

    async def run(self) -> None:
        """Follow the kinds that there are, until cancelled."""
        await together(self._definitions.run(), self.definitions.run(), self.watches.run())

    def _on_definition(self, change: Change) -> None:
        if change.key[1] in _DEFINED:
            self.definitions.add(change.key[1])

    async def _look_up(self, name: str) -> None:
        if self._definitions.get(name) is None:
            self._defined.pop(name, None)
        else:
            spec = (await self._api.get(kinds.CRD, name))["spec"]
            version = next(item["name"] for item in spec["versions"] if item["storage"])
            selection = self._defined[name] = Selection(f"{spec['group']}/{version}", spec["names"]["kind"])
            self._notes[selection] = _DEFINED[name]
        self.watches.want([*self._defined.values(), *(Selection(kind.api_version, kind.name) for kind in _BUILT_IN)])

    def _on_change(self, selection: Selection, change: Change | None) -> None:
        if change is not None and change.old is None:
            self.queue.add((selection, change.key, change.latest["metadata"]["uid"]))

    async def _tell(self, item: _Item) -> None:
        selection, (namespace, name), uid = item
        if not is_carried(selection, self._caches.policy):
            meta = {"namespace": namespace, "name": name, "uid": uid}
            about = {"apiVersion": selection.api_version, "kind": selection.kind, "metadata": meta}
            await self._recorder.post_once(about, "Warning", REASON, self._notes[selection])


def is_carried(selection: Selection, policy: Policy) -> bool:
    """Whether the class has Nestor carry this kind, so that a row says what is to be said."""
    group = selection.api_version.rpartition("/")[0]
    return any((group, selection.kind) == (item.group, item.name) and asks(policy) for item, asks in OPTIONAL.items())


def _build_informer(api: Api, kind: Kind, _: Selection | None = None) -> Informer:
    return Informer(api.with_metadata_only().with_limit(_ANSWER_BYTES), kind, trim=_trim, most=_MOST)


def _trim(item: Object) -> Object:
    kept = ("name", "namespace", "uid", "resourceVersion")
    return {"metadata": {key: value for key, value in item["metadata"].items() if key in kept}}
