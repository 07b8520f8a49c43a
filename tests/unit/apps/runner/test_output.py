import pytest

from nestor.apps.runner import output
from nestor.apps.runner.output import Output


def shown(*chunks: bytes) -> tuple[list[str], Output]:
    lines: list[str] = []
    taken = Output(lines.append)
    for chunk in chunks:
        taken.feed(chunk)
    taken.close()
    return lines, taken


def test_lines_are_shown_whole_whatever_the_chunks() -> None:
    lines, taken = shown(b"on", b"e\ntwo\n\nth", b"ree")
    assert lines == ["one", "two", "", "three"]
    assert taken.tail() == "one\ntwo\nthree"


def test_a_line_is_shown_as_soon_as_it_ends() -> None:
    lines: list[str] = []
    Output(lines.append).feed(b"now\nlater")
    assert lines == ["now"]


def test_only_the_last_lines_are_kept() -> None:
    _, taken = shown(b"".join(b"line %d\n" % number for number in range(100)))
    assert taken.tail().splitlines() == [f"line {number}" for number in range(80, 100)]


def test_the_tail_is_limited_in_bytes_without_breaking_a_character() -> None:
    _, taken = shown(("ä" * 1000 + "\n").encode() * 10)
    assert len(taken.tail().encode()) <= output.TAIL_LIMIT
    assert taken.tail().endswith("ää")


def test_an_endless_line_is_cut() -> None:
    lines, _ = shown(b"x" * 5000, b"x" * 5000, b"\nnext\n")
    assert lines == ["x" * output.LINE_LIMIT + " …", "next"]


LONG = b"x" * 999 + b"\n"


@pytest.mark.parametrize(
    ("chunks", "end"),
    [
        ([*[LONG] * 1500, b"the end\n"], "the end"),
        ([*[LONG] * 1001, *[b"%d\n" % number for number in range(5000)]], "\n".join(map(str, range(4980, 5000)))),
        ([LONG * 1100 + b"the\nend\n"], "x\nthe\nend"),
    ],
    ids=["lines", "lines that count no more", "the rest of a chunk"],
)
def test_too_much_output_ends_with_a_note_but_the_tail_is_the_last_of_it(chunks: list[bytes], end: str) -> None:
    lines, taken = shown(*chunks)
    assert len(lines) == 1001
    assert lines[-1] == "… more than 1 MB of output, the rest is not shown"
    assert taken.tail().endswith(end)


def test_control_characters_and_broken_text_do_no_harm() -> None:
    lines, _ = shown(b"\x1b[31mred\x1b[0m\ttab\r\n\xff\x07\n")
    assert lines == ["red\ttab", "\ufffd"]


def test_of_a_line_that_overwrites_itself_the_last_state_is_shown() -> None:
    assert shown(b"10%\r20%\r100%\r\nnext\n")[0] == ["100%", "next"]
    assert shown(b"10%\r", b"20", b"%\r", b"30%", b"\n")[0] == ["30%"]
    assert shown(b"x" * 3000 + b"\r", b"end\n")[0] == ["end"]
    assert shown(b"windows\r", b"\nlines\r\n")[0] == ["windows", "lines"]
