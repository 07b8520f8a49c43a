"""Replaces host names in messages by the nested names that the tenant knows."""

from nestor.api import names
from nestor.api.objects import Object
from nestor.pods.translate import config, device_claims, env, volumes
from nestor.pods.translate.target import Target
from nestor.pods.translate.volumes import find_claims


def build_words(pod: Object, target: Target, host: Object | None = None) -> dict[str, str]:
    """Maps host names and UIDs that may appear in messages about `pod` to what the tenant calls them."""
    meta = pod["metadata"]
    namespace = meta["namespace"]
    words = {names.host_name(item.name, namespace): item.name for item in config.find_references(pod)}
    words |= {names.host_name(name, namespace): name for name in (*find_claims(pod), *device_claims.find_names(pod))}
    words |= {
        names.host_name(meta["name"], namespace): meta["name"],
        volumes.token_secret_name(pod): "service account token",
        env.links_name(namespace): "service links",
        target.namespace: namespace,
    }
    if host is not None:
        words[host["metadata"]["uid"]] = meta["uid"]
    return words


def translate(text: str, words: dict[str, str]) -> str:
    """`text` with every key of `words` replaced by its value; longest first, because one key may contain another."""
    for word in sorted(words, key=len, reverse=True):
        text = text.replace(word, words[word])
    return text
