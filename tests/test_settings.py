"""Settings that cannot work are told in one line, before anything starts."""

from __future__ import annotations

import pytest

from tracescore.errors import ConfigurationError
from tracescore.settings import Settings


@pytest.mark.parametrize("name", ["SETTLE_QUIET", "SETTLE_MAX", "LEASE", "DRAIN", "SESSION_IDLE"])
@pytest.mark.parametrize("value", ["inf", "-inf", "nan", "1e999"])
def test_a_time_that_never_ends_is_refused(name: str, value: str) -> None:
    with pytest.raises(ConfigurationError, match=f"TRACESCORE_{name} is .* expected a finite number"):
        Settings.from_env({f"TRACESCORE_{name}": value})


@pytest.mark.parametrize(
    "store",
    ["postgres//u:s3cret@h/db", "postgresql:/u:s3cret@h/db", "postgresql:u:s3cret//@h", "pg//u:s3cret@h/db"],
)
def test_a_mistyped_url_of_a_store_is_no_folder_and_is_not_repeated(store: str) -> None:
    with pytest.raises(ConfigurationError, match="neither a folder nor a database") as refused:
        Settings.from_env({"TRACESCORE_STORE": store})

    assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize(
    "store",
    [
        "data",
        "./a/b",
        "/srv/trace score",
        "postgresql://u:p@h/db",
        "postgresql+psycopg://h/db",
        "postgres-data",
        "postgres/data",
        "a//b",
    ],
)
def test_a_folder_or_a_url_is_taken(store: str) -> None:
    assert Settings.from_env({"TRACESCORE_STORE": store}).store == store


@pytest.mark.parametrize(
    ("broker", "said"),
    [
        ("foo://x", r"BROKER is 'foo://…': expected embedded, none, or a URL such as redis://.*, amqp:// or amqps://"),
        ("rdis://u:s3cret@h", "did you mean redis://"),
        ("amqp", "BROKER is 'amqp': .* did you mean amqp://"),
        ("non", "did you mean none"),
    ],
)
def test_a_broker_that_nothing_speaks_to_is_refused(broker: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said) as refused:
        Settings.from_env({"TRACESCORE_BROKER": broker})

    assert "s3cret" not in str(refused.value)


@pytest.mark.parametrize("broker", ["none", "redis://h:1/0", "amqps://u:p@h//", "valkey+unix:///run/v.sock"])
def test_a_broker_is_taken(broker: str) -> None:
    assert Settings.from_env({"TRACESCORE_BROKER": broker}).broker == broker


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("PROJECT", "shop,a b", "'a b' cannot be a project's name: letters, digits"),
        ("STORE", "mysql://u:s3cret@h/db", "STORE is a URL of 'mysql': give a folder or postgresql://"),
    ],
)
def test_a_name_or_a_database_that_nothing_takes_is_refused(name: str, value: str, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said) as refused:
        Settings.from_env({f"TRACESCORE_{name}": value})

    assert "s3cret" not in str(refused.value)
