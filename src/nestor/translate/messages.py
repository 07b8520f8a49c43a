"""Sentences of the host, in the nested cluster's words."""

from __future__ import annotations

from nestor import names
from nestor.objects import Object
from nestor.translate import env, references, volumes
from nestor.translate.target import Target


def build_words(pod: Object, target: Target, host: Object | None = None) -> dict[str, str]:
    """Host words that may turn up in messages about `pod`, with the nested word for each."""
    meta = pod["metadata"]
    namespace = meta["namespace"]
    words = {names.host_name(item.name, namespace): item.name for item in references.find_references(pod)}
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
    """`text` with every host word replaced; longer ones first, so that no word is torn by one that it contains."""
    for word in sorted(words, key=len, reverse=True):
        text = text.replace(word, words[word])
    return text
