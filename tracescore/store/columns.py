"""The column types of the schema: ids as bytes, times as integers."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Dialect, Integer, LargeBinary, String
from sqlalchemy.types import TypeDecorator


class HexId(TypeDecorator[str]):
    """An id: lower-case hex in Python, half as many bytes in the database."""

    impl = LargeBinary(16)
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> bytes | None:
        """Give the bytes of an id."""
        return None if value is None else bytes.fromhex(value)

    def process_result_value(self, value: bytes | None, dialect: Dialect) -> str | None:
        """Give the hex of stored bytes."""
        return None if value is None else value.hex()


SERIAL = BigInteger().with_variant(Integer(), "sqlite")  # only INTEGER counts up by itself there


def project() -> Column[str]:
    """Give the column that leads every row: the tenant."""
    return Column("project", String, nullable=False)


def hex_id(name: str) -> Column[str]:
    """Give a column of ids that is always filled."""
    return Column(name, HexId, nullable=False)


def maybe_id(name: str) -> Column[str | None]:
    """Give a column of ids that may be empty."""
    return Column(name, HexId, nullable=True)


def text(name: str) -> Column[str]:
    """Give a text column that is always filled."""
    return Column(name, String, nullable=False)


def maybe_text(name: str) -> Column[str | None]:
    """Give a text column that may be empty."""
    return Column(name, String, nullable=True)


def number(name: str, *, default: int | None = None) -> Column[int]:
    """Give an integer column that is always filled: counts, nanoseconds, revisions."""
    return Column(name, BigInteger, nullable=False, server_default=None if default is None else str(default))


def maybe_number(name: str) -> Column[int | None]:
    """Give an integer column that may be empty."""
    return Column(name, BigInteger, nullable=True)
