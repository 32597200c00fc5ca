"""Benchmarks: each prints JSON lines with its figure beside a limit measured in the same run."""
