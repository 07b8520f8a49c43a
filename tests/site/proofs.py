"""How it is known of each command of the documentation that it works: the rows of `proofs.txt`, whose head explains them."""

import re
import shlex
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Proof:
    """One row."""

    how: str
    pages: str
    pattern: str
    what: str
    """The test, or the reason."""

    def speaks_of(self, page: str, words: list[str]) -> bool:
        """Whether the row is about that command."""
        return bool(re.fullmatch(self.pages, page) and re.fullmatch(self.pattern, shlex.join(words)))


OFFLINE = "tests/unit/test_docs_commands.py::test_what_needs_no_cluster_works_as_the_page_says"
USERS = "tests/e2e/test_docs_commands.py::test_the_users_page_works_from_top_to_bottom"
ADMINS = "tests/e2e/test_docs_commands.py::test_what_admins_only_look_at_is_there"
_LINES = Path(__file__).with_name("proofs.txt").read_text().splitlines()
PROOFS = tuple(Proof(*re.split("  +", line)) for line in _LINES if line and not line.startswith("#"))
