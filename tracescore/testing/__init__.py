"""Tools for tests of scorers: judges without a model."""

from tracescore.judge import MemoryReplies
from tracescore.testing.judges import FunctionJudge
from tracescore.testing.minimal import minimal_value
from tracescore.testing.replies import ModelCall, ModelReply
from tracescore.testing.stand_in import ModelServer

__all__ = ["FunctionJudge", "MemoryReplies", "ModelCall", "ModelReply", "ModelServer", "minimal_value"]
