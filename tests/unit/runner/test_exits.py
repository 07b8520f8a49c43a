from __future__ import annotations

import pytest

from nestor.runner import exits


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (1, "exited with code 1"),
        (127, "could not find a program (exit code 127)"),
        (137, "was killed (exit code 137): out of memory?"),
        (143, "was terminated by SIGTERM (exit code 143)"),
        (139, "was terminated by SIGSEGV (exit code 139)"),
        (255, "exited with code 255"),
    ],
)
def test_codes_that_mean_something_are_told_in_words(code: int, words: str) -> None:
    assert exits.describe(code) == words


def test_a_process_that_a_signal_ended_has_the_shells_code() -> None:
    assert (exits.normalize(-9), exits.normalize(137), exits.normalize(0)) == (137, 137, 0)
