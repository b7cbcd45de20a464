"""Files over HTTP on the loopback interface, with byte ranges, and with connections that break."""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from urllib.parse import unquote


class FileServer:
    """The server; it runs between `with FileServer(files) as server:` and the end of that block.

    Args:
        files: Name -> content, served at `<url>/<name>`.
        ranges: Whether it answers requests for a part of a file.

    Attributes:
        url: Where it answers, without a slash at the end.
        break_after: Bytes of an answer after which the connection breaks; None: never.
        requests: Name and range (or "") of each request.
    """

    def __init__(self, files: Mapping[str, bytes], *, ranges: bool = True) -> None:
        self.files = dict(files)
        self.ranges = ranges
        self.break_after: int | None = None
        self.requests: list[tuple[str, str]] = []
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler_for(self))
        self._http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._http.server_port}"
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)

    def __enter__(self) -> FileServer:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


def _handler_for(server: FileServer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            name, wanted = unquote(self.path.lstrip("/")), self.headers.get("Range", "")
            server.requests.append((name, wanted))
            if name not in server.files:
                self.send_error(404)
                return
            content, start = server.files[name], 0
            match = re.fullmatch(r"bytes=(\d+)-", wanted) if server.ranges else None
            if match:
                start = int(match[1])
                if start >= len(content):
                    self.send_error(416)
                    return
            self.send_response(206 if match else 200)
            if match:
                self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
            self.send_header("Content-Length", str(len(content) - start))
            self.end_headers()
            self.wfile.write(content[start:][: server.break_after])

        def log_message(self, *_: object) -> None:
            pass

    return Handler
