"""`python -m tests.suite TARGET...`: run targets of the Makefile one after the other; all of them, even if one fails."""

import sys

from devcluster.build import cache
from tests.suite import phases


def main() -> int:
    """0 if all targets succeeded."""
    root, done = cache.root(), []
    try:
        for target in sys.argv[1:]:
            done.append(phases.run_phase(target, root / "reports"))
    except KeyboardInterrupt:
        return 130
    finally:
        print("\n".join(["", *phases.describe(done, phases.remember(done, root / "runs.jsonl"))]))
    failed = [phase.target for phase in done if phase.code]
    print(f"failed: {', '.join(failed)}" if failed else "all targets succeeded")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
