"""What the runs of every recorded file show, beside what the file records: the table of `make conformance`.

Every library ran one scenario (see tests/corpus/README.md). A cell says ``yes`` where a run shows that part of the
scenario, ``own`` where it shows something of the library's own there (a rewritten prompt, a call without its result),
``no`` where it shows nothing. `recorded.tsv` says the same of the file, by reading it; both must be equal, cell by
cell. And the runs of every file must be the same bytes in whichever order, number and encoding its spans arrive, and
through whichever door of the receiver.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal, TypeAlias

from tests.golden.doors import DOORS, unlike_by_door
from tests.golden.variants import ARRIVALS, differing
from tracescore.model import AgentRun, ToolInvocationPart
from tracescore.pipeline.assembly import assemble
from tracescore.sources import read_files

Cell: TypeAlias = Literal["yes", "own", "no"]

PARTS = ("system", "remembered", "input", "tool_calls", "output", "usage", "agent", "session")
TESTS = Path(__file__).parent.parent
FOLDERS = (TESTS / "corpus", TESTS.parent / "tracescore" / "cli" / "demo_traces")
RECORDED = TESTS / "golden" / "recorded.tsv"

SYSTEM = "You are WeatherBot. Answer concisely."
REMEMBERED = ("Hi, my name is Ada.", "Hello Ada! How can I help?")
QUESTION = "What is the weather in Paris?"
ARGUMENTS = {"city": "Paris"}
RESULT = "18C and sunny"
ANSWER = "It is 18C and sunny in Paris, Ada."


def recorded_files() -> list[Path]:
    """Find every file of spans, by its place below its folder."""
    found = [path for root in FOLDERS for path in root.rglob("*.json") if not path.name.endswith(".logs.json")]
    return sorted(found, key=named)


def named(path: Path) -> str:
    """Name a file by library and scenario."""
    return f"{path.parent.name}/{path.stem}"


def runs_in(path: Path) -> list[AgentRun]:
    """Assemble a file's runs."""
    read = read_files([path])
    assert read.problems == []
    return [assembled.run for trace in read.traces for assembled in assemble(trace)]


def shown(runs: Sequence[AgentRun]) -> dict[str, Cell]:
    """Tell of each part of the scenario whether the runs show it."""
    outermost = [run for run in runs if run.outermost]
    system = [message.content for run in runs for message in run.input.system_messages]
    remembered = [[message.content for message in run.input.remembered_messages] for run in outermost]
    given = [message.content for run in outermost for message in run.input.input_messages]
    calls = [call for run in runs for call in run.output.tool_calls]
    answers = [run.output.text for run in outermost]
    return {
        "system": _cell(any(SYSTEM in text for text in system), system),
        "remembered": _cell(any(set(REMEMBERED) <= set(texts) for texts in remembered), any(remembered)),
        "input": _cell(any(text.strip() == QUESTION for text in given), given),
        "tool_calls": _cell(any(_is_whole(call) for call in calls), calls),
        "output": _cell(any(text.strip() == ANSWER for text in answers), any(answers)),
        "usage": _cell(any(run.usage.input and run.usage.output for run in runs), False),
        "agent": _cell(any(run.agent_name for run in runs), False),
        "session": _cell(any(run.session_id for run in runs), False),
    }


def _cell(whole: bool, some: object) -> Cell:
    return "yes" if whole else "own" if some else "no"


def _is_whole(call: ToolInvocationPart) -> bool:
    return call.arguments == ARGUMENTS and RESULT in str(call.result)


def recorded() -> dict[str, dict[str, str]]:
    """Read what each file records."""
    with RECORDED.open(encoding="utf-8", newline="") as lines:
        return {row["file"]: row for row in csv.DictReader(lines, delimiter="\t")}


def differences(name: str, cells: dict[str, Cell], expected: dict[str, str] | None) -> list[str]:
    """Say in which cells a file's runs are not what the file records."""
    if expected is None:
        return [f"{name} is not in {RECORDED.name}"]
    return [
        f"{name}: {part} is {cells[part]}, recorded is {expected[part]}"
        for part in PARTS
        if cells[part] != expected[part]
    ]


def print_table(rows: Iterable[tuple[str, dict[str, Cell], list[str]]]) -> int:
    """Print the table and its score; give the number of cells that differ."""
    width = 50
    print("library/scenario".ljust(width) + " ".join(part.ljust(10) for part in PARTS))
    total = wrong = 0
    for name, cells, wrongs in rows:
        marks = (("!" if any(f": {part} is" in line for line in wrongs) else "") + cells[part] for part in PARTS)
        print(name.ljust(width) + " ".join(mark.ljust(10) for mark in marks))
        total += len(PARTS)
        wrong += len(wrongs)
    print(f"\n{total - wrong} of {total} cells as recorded ({(total - wrong) / max(total, 1):.1%})")
    return wrong


def main() -> int:
    """Print the table of all files; fail where any cell is not as recorded."""
    expected = recorded()
    rows: list[tuple[str, dict[str, Cell], list[str]]] = []
    for path in recorded_files():
        cells = shown(runs_in(path))
        rows.append((named(path), cells, differences(named(path), cells, expected.get(named(path)))))
    wrong = print_table(rows)
    for _, _, wrongs in rows:
        for line in wrongs:
            print(line, file=sys.stderr)
    missing = expected.keys() - {name for name, _, _ in rows}
    for name in sorted(missing):
        print(f"{name} is recorded and has no spans", file=sys.stderr)
    return 1 if wrong or missing or print_arrivals() else 0


def print_arrivals() -> int:
    """Print under which ways to arrive, and through which doors of a real server, the runs of all files are the same.

    Byte for byte; gives how many are not.
    """
    files = recorded_files()
    columns = ("in process", *DOORS)
    print(
        f"\n{'runs equal, byte for byte, when the spans arrive'.ljust(50)}{''.join(name.ljust(16) for name in columns)}"
    )
    wrong = 0
    for name, arrival in ARRIVALS.items():
        with TemporaryDirectory() as folder:
            unlike = {
                "in process": [path for path in files if differing(path, [name])],
                **unlike_by_door(files, arrival, Path(folder) / "store"),
            }
        counts = (f"{len(files) - len(unlike[column])} of {len(files)}" for column in columns)
        print(name.ljust(50) + "".join(count.ljust(16) for count in counts), flush=True)
        for column, paths in unlike.items():
            for path in paths:
                print(f"{named(path)} reads otherwise: {name}, {column}", file=sys.stderr)
        wrong += sum(map(len, unlike.values()))
    return wrong


if __name__ == "__main__":
    sys.exit(main())
