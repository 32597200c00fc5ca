from __future__ import annotations

import hashlib

import pytest

from tests.store.rows import NOW, SECOND, replace_runs, run_record
from tracescore.bridge import run_sync
from tracescore.errors import InputError
from tracescore.store import NewToken, Store, TokenKind, TokenRow, is_secret_of, public_id


def create(store: Store, project: str = "shop", kind: TokenKind = "ingest", *, now_ns: int = NOW) -> NewToken:
    return run_sync(store.tokens.create(project, kind, name="Ada\x00", now_ns=now_ns))


def test_a_token_is_kept_without_its_secret(store: Store) -> None:
    made = create(store)
    prefix, token_id, secret = made.token.split("_")

    assert (prefix, len(bytes.fromhex(token_id)), len(bytes.fromhex(secret))) == ("ts", 8, 32)
    assert run_sync(store.tokens.list()) == [made.row]
    assert made.row == TokenRow(
        project="shop",
        token_id=token_id,
        kind="ingest",
        name="Ada\ufffd",
        secret_hash=hashlib.sha256(bytes.fromhex(secret)).digest(),
        created_ns=NOW,
        last_used_ns=None,
        revoked_ns=None,
    )
    assert secret not in repr(made)
    assert "secret" not in repr(made.row)


def test_only_its_own_secret_fits_a_token(store: Store) -> None:
    one, other = create(store), create(store)

    assert is_secret_of(one.token, one.row.secret_hash)
    assert not is_secret_of(other.token, one.row.secret_hash)
    assert [public_id(text) for text in (one.token, one.token[:-1], one.token.upper(), "", "ts__")] == [
        one.row.token_id,
        None,
        None,
        None,
        None,
    ]


def test_tokens_are_listed_by_project_oldest_first(store: Store) -> None:
    second, first = create(store, now_ns=NOW + 1), create(store, "bank", "read", now_ns=NOW)

    assert run_sync(store.tokens.list()) == [first.row, second.row]
    assert run_sync(store.tokens.list("shop")) == [second.row]
    assert run_sync(store.tokens.list("other")) == []


def test_a_token_is_revoked_once_and_for_good(store: Store) -> None:
    made = create(store)

    assert run_sync(store.tokens.revoke(made.row.token_id, now_ns=NOW + 1))
    assert run_sync(store.tokens.revoke(made.row.token_id, now_ns=NOW + 2))
    assert [row.revoked_ns for row in run_sync(store.tokens.list())] == [NOW + 1]
    assert not run_sync(store.tokens.revoke("0" * 16))
    assert not run_sync(store.tokens.revoke("no id"))


def test_the_last_use_is_coarse(store: Store) -> None:
    made = create(store)
    for after in (0, 5, 11):
        run_sync(store.tokens.used([made.row.token_id], now_ns=NOW + after * SECOND, coarse_ns=10 * SECOND))
        (row,) = run_sync(store.tokens.list())

        assert row.last_used_ns == NOW + (11 if after == 11 else 0) * SECOND


@pytest.mark.parametrize("project", ["", " ", "a b", "a,b", "-a", "ä", "a" * 65, "a\n"])
def test_a_project_has_a_plain_name(store: Store, project: str) -> None:
    with pytest.raises(InputError, match="cannot be a project's name"):
        create(store, project)


def test_projects_are_those_with_tokens_or_runs(store: Store) -> None:
    assert run_sync(store.control.projects()) == []

    create(store, "shop")
    create(store, "shop", "read")
    create(store, "default")
    run_sync(store.runs.replace_runs("bank", "0" * 32, 1, [run_record()], now_ns=NOW))
    replace_runs(store, run_record())

    assert run_sync(store.control.projects()) == ["bank", "default", "shop"]
