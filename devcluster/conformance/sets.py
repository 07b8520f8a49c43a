"""The sets of tests, which are run and shown apart. Pure."""

import re
from collections.abc import Iterable, Mapping

import yaml

CONFORMANCE, POLICIES = "conformance", "netpol"
SETS = (CONFORMANCE, POLICIES)
"""As `TESTS` of `make conformance` names them."""
_OF_POLICIES = "[sig-network] Netpol "
"""What the names of the tests of NetworkPolicies begin with. No conformance test has such a name."""
_LISTED = re.compile(r"^\s+\S+:\d+: (?P<name>.+)$", re.MULTILINE)
"""A test in the suite's list of all its tests, after the place of its source."""


def set_of(name: str) -> str:
    """The set that a test belongs to."""
    return POLICIES if name.startswith(_OF_POLICIES) else CONFORMANCE


def only(which: str, names: Iterable[str]) -> list[str]:
    """The names of one set's tests."""
    return [name for name in names if set_of(name) == which]


def parse(conformance: str, everything: str) -> dict[str, list[str]]:
    """The names of each set, from what the suite says about its conformance tests, and from its list of all tests."""
    listed = (found["name"].rstrip() for found in _LISTED.finditer(everything))
    return {
        CONFORMANCE: sorted({item["codename"] for item in yaml.safe_load(conformance)}),
        POLICIES: sorted({name for name in listed if set_of(name) == POLICIES}),
    }


def choose(names: Mapping[str, list[str]], which: str, pattern: str) -> list[str]:
    """The names of a set that a regular expression finds. Raises `ValueError` for a bad one, and if it finds none."""
    if which not in names:
        raise ValueError(f"TESTS must be {' or '.join(names)}, not '{which}'")
    try:
        wanted = re.compile(pattern)
    except re.error as error:
        raise ValueError(f"FOCUS must be a regular expression: {error}") from error
    found = [name for name in names[which] if wanted.search(name)]
    if not found:
        raise ValueError(f"FOCUS '{pattern}' finds none of the {len(names[which])} tests of TESTS={which}")
    return found
