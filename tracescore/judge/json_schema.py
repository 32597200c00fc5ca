"""Check values against a JSON Schema dict, with the library that the field uses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tracescore.errors import ConfigurationError


class SchemaCheck:
    """A compiled JSON Schema (draft 2020-12 unless it names another)."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        """Compile a schema.

        Raises:
            ConfigurationError: what is no JSON Schema.
        """
        # Only schemas that are dicts need the library: a scorer without one should not wait for it.
        from jsonschema import SchemaError
        from jsonschema.validators import validator_for

        own = dict(schema)
        kind = validator_for(own)
        try:
            kind.check_schema(own)
        except SchemaError as error:
            raise ConfigurationError(f"output_schema is no JSON Schema: {error.json_path}: {error.message}") from error
        self._validator = kind(own)

    def problem(self, value: Any) -> str | None:
        """Give what is most wrong with a value, with its path, or None."""
        from jsonschema.exceptions import best_match

        error = best_match(self._validator.iter_errors(value))
        if error is None:
            return None
        path = ".".join(map(str, error.absolute_path))
        return f"{path or 'reply'}: {error.message}"[:1000]
