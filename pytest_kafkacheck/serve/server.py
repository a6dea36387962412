"""The pages over HTTP, for this machine only."""

from __future__ import annotations

from errno import EADDRINUSE
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from pytest_kafkacheck.errors import UsageError
from pytest_kafkacheck.serve.pages import Page, page

HOST = "127.0.0.1"
NAMES = (HOST, "localhost")
"""What a browser may call this server. Otherwise a site whose name leads to 127.0.0.1 could read the runs."""


class _Handler(BaseHTTPRequestHandler):
    server_version = "kafkacheck"
    sys_version = ""

    def __init__(self, *arguments: Any, directory: Path) -> None:
        self._directory = directory
        super().__init__(*arguments)

    def do_GET(self) -> None:
        if self.headers.get("Host", "").rpartition(":")[0] not in NAMES:
            self.send_error(HTTPStatus.MISDIRECTED_REQUEST)
            return
        self._send(page(self.path, self._directory))

    def _send(self, found: Page) -> None:
        body = found.html.encode()
        self.send_response(found.status)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Requests are no news."""


class Server(ThreadingHTTPServer):
    """Serves the runs in `directory`. port: 0 for any that is free.

    Raises UsageError where the port cannot be had.
    """

    daemon_threads = True

    def __init__(self, directory: Path, port: int) -> None:
        try:
            super().__init__((HOST, port), partial(_Handler, directory=directory))
        except (OSError, OverflowError) as error:
            taken = isinstance(error, OSError) and error.errno == EADDRINUSE
            why = "is in use" if taken else f"cannot be used ({error})"
            raise UsageError(f"--port {port}: {why}; name another one, or 0 for any that is free") from error

    @property
    def address(self) -> str:
        return f"http://{HOST}:{self.server_port}/"

    def handle_error(self, *_: Any) -> None:
        """A browser that has gone away is no news either."""
