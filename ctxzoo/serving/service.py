"""The HTTP service of a checkpoint: `build_service` makes the application, `run_service` its server."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from huggingface_hub.errors import StrictDataclassError

from ctxzoo.data.notices import format_count, format_error_on_one_line
from ctxzoo.data.rows import Row
from ctxzoo.runs.command_line import rewrite_advice_for_command
from ctxzoo.serving.asked_model import AskedModel
from ctxzoo.serving.limits import Limits
from ctxzoo.serving.request_rows import RequestError, parse_rows
from ctxzoo.version import version

if TYPE_CHECKING:
    from fastapi import FastAPI
    from starlette.requests import Request
    from starlette.responses import Response

LINES = "application/x-ndjson"
NOTES = "Ctxzoo-Notes"  # header of an answer in lines
LONGEST_HEADER = 4000  # characters
GRACE = 30  # seconds that what is in flight has when the service stops


class ServiceUnavailableError(ImportError):
    """FastAPI or uvicorn is not installed."""


def check_service_libraries() -> None:
    """Raise an error if the libraries of the service are not installed, before a model is loaded.

    Raises:
        ServiceUnavailableError: one of them is missing; the message says how to install it.
    """
    try:
        import fastapi  # noqa: F401
        import uvicorn  # noqa: F401
    except ImportError as error:
        raise ServiceUnavailableError(
            "ctxzoo serve needs FastAPI and uvicorn, of the extra serve: pip install fastapi uvicorn"
        ) from error


class RequestQueue:
    """Answers requests in threads, as many at once as a limit says, and counts them.

    Args:
        limits: Limits of the service.

    Attributes:
        waiting: Number of requests that are answered or wait for it now.
        served, rows, refused: Number of requests that were answered, of their rows, and of requests that were not.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.waiting = self.served = self.rows = self.refused = 0
        self._threads = ThreadPoolExecutor(max_workers=limits.queue, thread_name_prefix="request")

    def refuse_when_full(self) -> None:
        """Raise RequestError (503) while as many requests wait as may."""
        if self.waiting >= self.limits.queue:
            raise RequestError(503, f"{format_count(self.waiting, 'requests')} wait already; ask again in a second")

    async def answer(self, work: Callable[[], tuple[list[str], list[str]]]) -> tuple[list[str], list[str]]:
        """Return what `work` returns, called in a thread.

        Raises:
            RequestError: the queue is full, or there is no answer in time (503); rows of another form (422); a problem
                without this kind of answer (404); a fault of ours (500), whose kind goes to the standard error.
        """
        self.refuse_when_full()
        self.waiting += 1
        future = asyncio.get_running_loop().run_in_executor(self._threads, work)
        future.add_done_callback(self._count_down)
        try:
            lines, notes = await asyncio.wait_for(asyncio.shield(future), self.limits.timeout)
        except asyncio.TimeoutError as error:
            raise RequestError(503, f"not answered in {self.limits.timeout:g} seconds; send fewer rows") from error
        except NotImplementedError as error:
            raise RequestError(404, str(error)) from error
        except (ValueError, TypeError, StrictDataclassError) as error:
            message = rewrite_advice_for_command(format_error_on_one_line(error), ())
            raise RequestError(422, message) from error
        self.served += 1
        self.rows += len(lines)
        return lines, notes

    def _count_down(self, future: asyncio.Future[Any]) -> None:
        """Count a request that has ended, also one whose client waits no longer."""
        self.waiting -= 1
        future.exception()  # which is seen, wherever it is told


async def read_body(request: Request, limits: Limits) -> bytes:
    """Return the body of a request.

    Raises:
        RequestError: it is too large (413), or does not arrive in time (408).
    """

    async def read_parts(size: int) -> bytes:
        """Return all parts of the body, of which `size` bytes are expected."""
        body = bytearray()
        if size <= limits.max_bytes:
            async for part in request.stream():
                body += part
                size = max(size, len(body))
                if size > limits.max_bytes:
                    break
        if size > limits.max_bytes:
            raise RequestError(
                413, f"the request has {size:,} bytes or more; send {limits.max_bytes:,} at most (--max_bytes)"
            )
        return bytes(body)

    length = request.headers.get("content-length", "")
    try:
        return await asyncio.wait_for(read_parts(int(length) if length.isdecimal() else 0), limits.timeout)
    except asyncio.TimeoutError as error:
        raise RequestError(408, f"the request did not arrive in {limits.timeout:g} seconds; send it again") from error


def build_service(asked: AskedModel, checkpoint: str, limits: Limits | None = None) -> FastAPI:
    """Build the application that answers `POST /predict`, `POST /explain` and `GET /health`.

    Args:
        asked: Checkpoint that is asked.
        checkpoint: Its folder or Hub id, for `/health`.
        limits: What the service takes; default: `Limits()`.

    Raises:
        ServiceUnavailableError: FastAPI is not installed.
    """
    check_service_libraries()
    from fastapi import FastAPI
    from starlette.exceptions import HTTPException
    from starlette.requests import ClientDisconnect
    from starlette.responses import JSONResponse, Response
    from starlette.routing import Route

    limits = limits or Limits()
    queue = RequestQueue(limits)

    async def answer(request: Request, ask: Callable[[Sequence[Row]], tuple[list[str], list[str]]]) -> Response:
        """Return the response to a request, whatever is wrong with it."""
        try:
            queue.refuse_when_full()
            body, kind = await read_body(request, limits), request.headers.get("content-type", "")
            are_lines = kind.partition(";")[0].strip().lower() == LINES
            lines, notes = await queue.answer(lambda: ask(parse_rows(body, limits, are_lines=are_lines)))
        except RequestError as error:
            queue.refused += 1
            return refuse(error.status, str(error))
        except ClientDisconnect:
            return refuse(400, "the client went away")
        except Exception as error:
            queue.refused += 1
            told = f"{type(error).__name__}: {format_error_on_one_line(error)}"
            print(f"ctxzoo: a request failed: {told}", file=sys.stderr, flush=True)
            return refuse(500, "the service failed on this request; its standard error names the fault")
        if are_lines:
            said = json.dumps(notes)
            headers = {NOTES: said} if notes and len(said) <= LONGEST_HEADER else {}
            return Response("".join(f"{line}\n" for line in lines), media_type=LINES, headers=headers)
        content = f'{{"rows": [{", ".join(lines)}], "notes": {json.dumps(notes, ensure_ascii=False)}}}'
        return Response(content, media_type="application/json")

    def refuse(status: int, message: str) -> Response:
        """Return a response with one line of error."""
        headers = {"Retry-After": "1"} if status == 503 else None
        return JSONResponse({"error": message}, status, headers=headers)

    async def refuse_unknown_path(request: Request, error: Any) -> Response:
        """Answer another path or method than those below."""
        ways = "expected POST /predict, POST /explain or GET /health"
        return refuse(error.status_code, f"{request.method} {request.url.path[:60]}: {error.detail}; {ways}")

    async def predict(request: Request) -> Response:
        """Answer rows as `ctxzoo predict` does."""
        return await answer(request, asked.predict)

    async def explain(request: Request) -> Response:
        """Answer rows with what each word of their texts adds to the logit of each label."""
        return await answer(request, asked.explain)

    async def health(request: Request) -> Response:
        """Say that the service is ready, what it serves, and how much it has done."""
        state = {
            "status": "ready",
            "checkpoint": checkpoint,
            "problem": asked.card.name,
            "version": version(),
            "requests": queue.served,
            "rows": queue.rows,
            "refused": queue.refused,
            "queue": queue.waiting,
            "queue_limit": limits.queue,
        }
        return JSONResponse(state)

    routes = [
        Route("/predict", predict, methods=["POST"]),
        Route("/explain", explain, methods=["POST"]),
        Route("/health", health),
    ]
    # No pages that describe the service: they would load scripts from elsewhere.
    app = FastAPI(openapi_url=None, routes=routes, exception_handlers={HTTPException: refuse_unknown_path})
    app.state.queue = queue
    return app


def run_service(app: FastAPI, host: str, port: int) -> None:
    """Serve an application until Ctrl-C or SIGTERM, after which requests in flight are still answered.

    Args:
        app: Application of `build_service`.
        host: Name or number of the address to listen at.
        port: Port, from 1; 0: a free one, which the printed line names.

    Raises:
        OSError: the port is taken, or the address is none of this machine.
    """
    import uvicorn

    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        # asyncio sends at once (TCP_NODELAY) only where the protocol is named; otherwise answers wait for 40 ms.
        listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(2048)
    except OSError as error:
        raise OSError(
            f"cannot listen at {host} port {port} ({os.strerror(error.errno or 0)}); choose another --host or --port"
        ) from error
    config = uvicorn.Config(
        app, log_config=None, access_log=False, timeout_graceful_shutdown=GRACE, server_header=False
    )
    server = uvicorn.Server(config)
    # uvicorn raises the signal that stopped it once more when all is done: then it ends nothing.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    place = f"[{host}]" if ":" in host else host
    print(f"ctxzoo: ready at http://{place}:{listener.getsockname()[1]} (Ctrl-C stops it)", flush=True)
    server.run(sockets=[listener])
    queue: RequestQueue = app.state.queue
    print(f"ctxzoo: stopped after {format_count(queue.served, 'answered requests')}, {queue.refused:,} refused")
