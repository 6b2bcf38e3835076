"""What is to be done when the app ends."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from fastapi.concurrency import run_in_threadpool

__all__ = ["at_close"]


def at_close(app: FastAPI, close: Callable[[], None]) -> None:
    """Call this when the app ends, after what was added later."""
    within = app.router.lifespan_context

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[Any]:
        async with within(app) as state:
            try:
                yield state
            finally:
                await run_in_threadpool(close)

    app.router.lifespan_context = lifespan
