"""Which images a class allows, by a list of registries and paths, and with which Secret an app image is pulled. Pure."""

from collections.abc import Collection
from typing import NamedTuple

from nestor.api.objects import Object

DEFAULT_REGISTRY = "docker.io"
DEFAULT_OWNER = "library"


def find_fault(image: str, allowed: Collection[str] | None) -> str | None:
    """Why the image is not allowed, to follow what names it; None if it is. `allowed` None: all are."""
    if allowed is None:
        return None
    whole = complete(image)
    if any(_is_below(whole, item.rstrip("/")) for item in allowed):
        return None
    shown = f"'{image}'" if whole == image else f"'{image}' ('{whole}')"
    return f"{shown} is not allowed; allowed: {', '.join(sorted(allowed)) or 'none'} (`images.allowed`)"


def is_allowed(image: str, allowed: Collection[str] | None) -> bool:
    return find_fault(image, allowed) is None


def name_on_host(image: str, allowed: Collection[str] | None) -> str:
    """The image as pods on the host name it: where a list is to hold, by the whole name that was compared with it. A node may
    complete a short name otherwise, or find an image of its own by it.
    """
    return complete(image) if image and allowed is not None else image


def complete(image: str) -> str:
    """The image's name with its registry and owner, as container runtimes complete it."""
    first, slash, rest = image.partition("/")
    # A host may be upper-case, a path may not.
    if slash and ("." in first or ":" in first or first == "localhost" or first != first.lower()):
        registry, path = first, rest
    else:
        registry, path = DEFAULT_REGISTRY, image
    if registry in ("index.docker.io", "registry-1.docker.io"):
        registry = DEFAULT_REGISTRY
    if registry == DEFAULT_REGISTRY and "/" not in path:
        path = f"{DEFAULT_OWNER}/{path}"
    return f"{registry}/{path}"


def _is_below(whole: str, item: str) -> bool:
    """Whether the image is the listed one, or its path goes on after it."""
    rest = whole.removeprefix(item)
    # What follows a registry's name after ':' is a port, and another registry.
    return rest != whole and (not rest or rest[0] in ("/:@" if "/" in item else "/"))


PULL_TYPES = ("kubernetes.io/dockerconfigjson", "kubernetes.io/dockercfg")


class PullSecret(NamedTuple):
    """A Secret to be copied to where the image is pulled, and the field that names it."""

    name: str
    namespace: str
    field: str


def choose_pull_secret(
    jobs: str | None, job_namespace: str, entry_secret: str | None, operator_namespace: str, *, entry: str = ""
) -> PullSecret | None:
    """`jobs`: the job's `app.imagePullSecretName`, in its namespace. `entry_secret`: the NestedApp `entry`'s, in the operator's.

    An entry's Secret is nowhere else: whoever may write entries must not have Secrets used that he may not read himself.
    """
    if entry:
        return (
            PullSecret(entry_secret, operator_namespace, f"NestedApp '{entry}': `imagePullSecretName`") if entry_secret else None
        )
    return PullSecret(jobs, job_namespace, "`app.imagePullSecretName`") if jobs else None


def find_pull_secret_fault(wanted: PullSecret, found: Object | None) -> str | None:
    """Why the Secret cannot be used, in a sentence that names the field; None if it can. `found`: the Secret, if there is one."""
    where = f"Secret '{wanted.name}' in namespace '{wanted.namespace}'"
    if found is None:
        return f"{wanted.field}: no {where}"
    if found.get("type") not in PULL_TYPES:
        return f"{wanted.field}: {where} has type '{found.get('type')}'; it must be one of {', '.join(PULL_TYPES)}"
    return None
