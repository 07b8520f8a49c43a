from __future__ import annotations

import pytest
import yaml

from devcluster.demo import install, page


def test_the_text_of_a_page_is_what_a_reader_sees() -> None:
    head = "<head><title>T</title><style>p {}</style></head>"
    body = "<body><h1>Hello &amp;\n you</h1><p>It <b>works</b>.</p></body>"
    assert page.to_text(f"<html>{head}{body}</html>") == "Hello & you\nIt works."


def test_the_examples_page_reads_well() -> None:
    file = install.ROOT / "examples" / "01-hello-world" / "templates" / "web.yml"
    config_map = next(yaml.safe_load_all(file.read_text()))
    assert page.to_text(config_map["data"]["index.html"]).splitlines()[0] == "Hello from a nested cluster"


@pytest.mark.parametrize(
    ("url", "connect_to", "host"),
    [
        ("http://hello-default.nestor.localhost:8080/", "http://127.0.0.1:8080/", "hello-default.nestor.localhost:8080"),
        ("http://hello-default.nestor.localhost/a?b=c", "http://127.0.0.1/a?b=c", "hello-default.nestor.localhost"),
        ("https://hello-default.apps.example.com/", "https://hello-default.apps.example.com/", None),
    ],
)
def test_localhost_names_lead_to_this_machine(url: str, connect_to: str, host: str | None) -> None:
    assert page.locate(url) == page.Address(connect_to, host)
