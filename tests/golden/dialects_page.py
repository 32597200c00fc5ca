"""The generated part of docs/dialects.md: ``python -m tests.golden.dialects_page`` writes it anew."""

from __future__ import annotations

import csv
from pathlib import Path

from tests.golden.conformance import PARTS, RECORDED

PAGE = Path(__file__).parents[2] / "docs" / "dialects.md"
LIBRARIES = Path(__file__).with_name("libraries.tsv")
BEGIN, END = "<!-- generated: recorded -->\n", "<!-- end of what is generated -->\n"
_RANK = {"yes": 2, "own": 1, "no": 0}
_SHOWN = {"yes": "✓", "own": "own", "no": "–"}


def table() -> str:
    """Give, by library, the best that any of its recorded files holds of each part of a run."""
    best: dict[str, dict[str, str]] = {}
    files: dict[str, int] = {}
    for row in _rows(RECORDED):
        folder = row["file"].partition("/")[0]
        known = best.setdefault(folder, dict.fromkeys(PARTS, "no"))
        files[folder] = files.get(folder, 0) + 1
        for part in PARTS:
            known[part] = max(known[part], row[part], key=_RANK.__getitem__)
    names = {row["folder"]: row for row in _rows(LIBRARIES)}
    heads = ["library", "recorded with", *(part.replace("_", " ") for part in PARTS), "files"]
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    for folder in sorted(best, key=lambda folder: names[folder]["library"].lower()):
        row = names[folder]
        cells = [row["library"], row["recorded with"], *(_SHOWN[best[folder][part]] for part in PARTS)]
        lines.append(f"| {' | '.join(cells)} | {files[folder]} |")
    return "\n".join(lines) + "\n"


def generated() -> str:
    """Give the page as it should be: the written part as it is, the table anew."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    return f"{before}{BEGIN}\n{table()}\n{END}{rest.partition(END)[2]}"


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines, delimiter="\t"))


if __name__ == "__main__":
    PAGE.write_text(generated(), encoding="utf-8")
