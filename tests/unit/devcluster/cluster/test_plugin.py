"""The interLink plugin as a part of the embedded cluster: apart from the nodes, and nothing of it is overlooked."""

import pytest

from devcluster import __main__


@pytest.mark.parametrize(
    ("text", "expected"), [("hold=true", ("hold", True)), ('faults=[{"kind": "drop"}]', ("faults", [{"kind": "drop"}]))]
)
def test_switches_on_the_command_line(text: str, expected: tuple[str, object]) -> None:
    assert __main__._read_switch(text) == expected
