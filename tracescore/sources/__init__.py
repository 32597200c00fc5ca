"""Where traces come from, other than the receiver."""

from tracescore.sources.files import FileProblem, FileRead, read_files

__all__ = ["FileProblem", "FileRead", "read_files"]
