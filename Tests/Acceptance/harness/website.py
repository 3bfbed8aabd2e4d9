# SPDX-License-Identifier: Apache-2.0
"""A page at http://localhost:PORT. Browsers treat localhost as a secure context, so it needs no certificate."""
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Website:
    """The server of one page, which is a file."""

    def __init__(self, page):
        handler = type("PageHandler", (Handler,), {"page": page.read_bytes()})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()
        self.origin = f"http://localhost:{self._server.server_port}"

    def stop(self):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        return []


class Handler(BaseHTTPRequestHandler):
    page = b""

    def do_GET(self):
        if self.path != "/":
            self.send_error(404)
            return
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(self.page)))
        self.end_headers()
        self.wfile.write(self.page)

    def log_message(self, format, *arguments):
        pass
