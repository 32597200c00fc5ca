"""Where traces come from, other than the receiver."""

from tracescore.sources.files import FileProblem, FileRead, read_files, with_companions
from tracescore.sources.packed import Opened, opened
from tracescore.sources.requests import ExportRequest, requests_in
from tracescore.sources.units import HEAD, Unit, units_in

__all__ = [
    "HEAD",
    "ExportRequest",
    "FileProblem",
    "FileRead",
    "Opened",
    "Unit",
    "opened",
    "read_files",
    "requests_in",
    "units_in",
    "with_companions",
]
