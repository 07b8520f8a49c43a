"""What a measure has to reach. A run that misses one of its goals fails."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Goal:
    """`found` may be as much as `limit`, in the same unit; what could not be measured (nan) is missed."""

    what: str
    found: float
    limit: float
    unit: str = ""

    @property
    def is_met(self) -> bool:
        """Whether it is reached."""
        return self.found <= self.limit

    def __str__(self) -> str:
        unit = f" {self.unit}" if self.unit else ""
        ratio = f", ratio {self.found / self.limit:.2f}" if self.limit else ""
        return f"{'met   ' if self.is_met else 'MISSED'}  {self.what}: {self.found:.2f}{unit} of {self.limit:g}{unit}{ratio}"


def report(goals: Iterable[Goal]) -> int:
    """Print them; how many were missed."""
    found = list(goals)
    for goal in found:
        print(f"  {goal}")
    return sum(not goal.is_met for goal in found)
