"""Run every benchmark, each in a process of its own, and print what they print."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def main() -> int:
    """Run the benchmarks named on the command line, or all of them; give the number that failed."""
    folder = Path(__file__).parent
    names = sys.argv[1:] or sorted(path.stem.removeprefix("bench_") for path in folder.glob("bench_*.py"))
    failed = 0
    for name in names:
        failed += bool(subprocess.run([sys.executable, "-m", f"benchmarks.bench_{name}"], cwd=folder.parent).returncode)
    return failed


if __name__ == "__main__":
    sys.exit(main())
