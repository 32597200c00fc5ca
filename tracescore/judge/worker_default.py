"""What workers ask judges with where nobody says otherwise."""

from __future__ import annotations

from tracescore.judge.options import Judge
from tracescore.judge.retrying import StreamErrorRetryProcessor, doubling

WORKER_RETRIES = 2


def with_worker_retries(judge: Judge | None) -> Judge:
    """Give an app's judge with the retries of workers beneath it: any level that gives error processors replaces them.

    ``Judge.retries`` says in words what holds.
    """
    retrying = Judge(error_processors=[StreamErrorRetryProcessor(max_retries=WORKER_RETRIES, delay=doubling)])
    return retrying if judge is None else judge.over(retrying)
