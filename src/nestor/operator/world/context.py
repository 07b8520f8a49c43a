"""`Context`: what every part of the operator needs, assembled once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from nestor.cluster.provision import Provisioner
from nestor.cluster.shape import Host
from nestor.kube import Api, Kind
from nestor.kube.applier import Applier
from nestor.kube.events import EventRecorder
from nestor.operator.meters import Meters
from nestor.operator.settings import Settings
from nestor.operator.world.cache import Cache
from nestor.operator.world.classes import Classes


@dataclass
class Context:
    """One operator's clients, caches and settings. State that only one part needs is not here."""

    api: Api
    settings: Settings
    cache: Cache
    classes: Classes
    host: Host
    events: EventRecorder
    applier: Applier
    provisioner: Provisioner
    meters: Meters = field(default_factory=Meters)
    """What it counts."""
    wake: Callable[[Kind, str, str], None] = lambda kind, name, namespace: None
    """Has a pass made over one of our objects."""

    @classmethod
    def create(cls, api: Api, settings: Settings, cache: Cache, host: Host) -> Context:
        """Assemble the parts."""
        applier = Applier(api, cache.informers)
        events = EventRecorder(api, "nestor-operator")
        classes = Classes(cache.classes, settings.k3s_versions)
        return cls(api, settings, cache, classes, host, events, applier, Provisioner(applier, settings.lifetimes))
