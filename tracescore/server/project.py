"""The project that a request belongs to, as its token says."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from fastapi import Depends, Request


async def project_of(request: Request) -> str:
    """Give the project that the guard let the request in for."""
    project: str = request.state.project
    return project


Project: TypeAlias = Annotated[str, Depends(project_of)]
