"""From a judge's settings to the object that is asked."""

from __future__ import annotations

import os

from tracescore.errors import ConfigurationError
from tracescore.judge.options import UNSET, Judge
from tracescore.judge.protocol import JudgeModel
from tracescore.judge.providers import endpoint_of


def resolve_model(judge: Judge) -> JudgeModel:
    """Give the model of a judge: the user's own object, or the endpoint that its name leads to.

    Keys and base URLs are read from the environment here, at the call, since a scorer may run without any app.

    Raises:
        ConfigurationError: no model, or a name that leads nowhere.
    """
    if judge.model is UNSET:
        raise ConfigurationError("the judge has no model")
    if not isinstance(judge.model, str):
        return judge.model
    # Imported at the first call: the OpenAI package takes a second to load, and code scorers never need it.
    from tracescore.judge.chat import ChatModel

    return ChatModel(judge=judge, endpoint=endpoint_of(judge, os.environ), environ=os.environ)


def check_model(judge: Judge) -> None:
    """Refuse a model name that leads nowhere, without asking anything or reading a key.

    Raises:
        ConfigurationError: as ``resolve_model``.
    """
    if isinstance(judge.model, str):
        endpoint_of(judge, os.environ)
