"""Options of programs that are not ours: what each takes, so that words can be told from values. Pure."""

from collections.abc import Collection
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Options:
    """The options that a subcommand has, of those that the documentation may use: with a value, and without one."""

    values: Collection[str] = ()
    flags: Collection[str] = ()


@dataclass
class Parsed:
    """The words of a command line."""

    words: list[str] = field(default_factory=list)
    values: dict[str, list[str]] = field(default_factory=dict)
    after: list[str] = field(default_factory=list)
    """What stands behind `--`."""
    unknown: list[str] = field(default_factory=list)

    def get(self, *names: str) -> list[str]:
        """The values of an option by all its names."""
        return [value for name in names for value in self.values.get(name, [])]


def parse(arguments: list[str], options: Options) -> Parsed:
    """Options may stand anywhere before `--`."""
    found = Parsed()
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        name, has_value, value = word.partition("=")
        if word == "--":
            found.after = rest
            break
        if word == "-" or not word.startswith("-"):
            found.words.append(word)
        elif name in options.values:
            found.values.setdefault(name, []).append(value if has_value else rest.pop(0) if rest else "")
        elif name not in options.flags:
            found.unknown.append(name)
    return found
