# SPDX-License-Identifier: Apache-2.0
"""A page on this machine, for browsers."""
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class LocalServer:
    """Serves requests by a handler, over TLS if there is a context. `port` 0 is one that the system chooses."""

    def __init__(self, handler, port=0, context=None):
        self._server = ThreadingHTTPServer(("127.0.0.1", port), handler)
        if context:
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True, do_handshake_on_connect=False)
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()
        self.port = self._server.server_port

    def stop(self):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
        return []


class PageServer(LocalServer):
    """Serves a file as the only page."""

    def __init__(self, page, port=0, context=None):
        class Handler(PageHandler):
            path_of_page = page

        super().__init__(Handler, port, context)


class PageHandler(BaseHTTPRequestHandler):
    path_of_page = None

    def do_GET(self):
        if self.path != "/":
            self.send_error(404)
            return
        self.send_file(self.path_of_page, "text/html; charset=utf-8")

    def send_file(self, path, content_type):
        content = path.read_bytes()
        self.send_response(200)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format, *arguments):
        pass
