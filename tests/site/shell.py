"""The commands in a piece of shell: enough of its syntax for what documentation says. Pure."""

import re
import shlex
from collections.abc import Iterator

_KEYWORDS = ("if", "then", "elif", "else", "fi", "while", "do", "done", "export", "!")
_SUBSTITUTION = re.compile(r"\$\(((?:[^()]|\([^()]*\))*)\)")
_ASSIGNMENT = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=")
_SUBSTITUTED = "SUBSTITUTED"
_DUPLICATED = re.compile(r"\s[0-9]?>&[0-9-]")
_PROMPT = "$ "


def read_commands(text: str, language: str) -> list[list[str]]:
    """The words of each simple command, in order; what stands in `$(…)` comes before the command that it is in."""
    lines = list(_read_session(text)) if language == "console" else [text]
    return [words for line in lines for words in _read_script(line)]


def _read_session(text: str) -> Iterator[str]:
    """What was typed, each with the lines that go on after a backslash; the rest is output."""
    typed = ""
    for line in text.splitlines():
        if typed or line.startswith(_PROMPT):
            typed += line.removeprefix(_PROMPT if not typed else "> ") + "\n"
            if line.endswith("\\"):
                continue
            yield typed
            typed = ""


def _read_script(script: str) -> Iterator[list[str]]:
    for line in script.replace("\\\n", " ").splitlines():
        inner: list[str] = []

        def keep(found: re.Match[str], kept: list[str] = inner) -> str:
            kept.append(found[1])
            return _SUBSTITUTED

        plain = _SUBSTITUTION.sub(keep, _DUPLICATED.sub("", _cut_comment(line)))
        for part in inner:
            yield from _read_script(part)
        for words in _split(plain):
            command = _strip(words)
            if command:
                yield command


def _cut_comment(line: str) -> str:
    quote = ""
    for index, char in enumerate(line):
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char == "#" and (index == 0 or line[index - 1].isspace()):
            return line[:index]
    return line


def _split(line: str) -> Iterator[list[str]]:
    """At pipes, `&&`, `;` and the like; redirections go."""
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>")
    lexer.whitespace_split = True
    lexer.commenters = ""
    words: list[str] = []
    is_target = False
    for word in lexer:
        if word and set(word) <= set("|&;"):
            yield words
            words = []
        elif word and set(word) <= set("<>"):
            is_target = True
        elif is_target:
            is_target = False
        else:
            words.append(word)
    yield words


def _strip(words: list[str]) -> list[str]:
    """Without keywords and assignments before the program. What a loop goes through is none."""
    if words[:1] == ["for"]:
        return []
    while words and (words[0] in _KEYWORDS or _ASSIGNMENT.match(words[0])):
        words = words[1:]
    return words
