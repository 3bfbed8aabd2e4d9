# SPDX-License-Identifier: Apache-2.0
"""One HTTPS server for the site and for the relying parties of all cases, each with a name of its own."""
import json
import ssl
from http.server import BaseHTTPRequestHandler
from pathlib import Path

from harness.page_server import LocalServer

SITE = "www.shop.example"
PAGE = Path(__file__).parents[1] / "chromium" / "page.html"


def host(number):
    """Returns the relying party ID of a case; their parent domain for None."""
    return "party.example" if number is None else f"case{number}.party.example"


class Server(LocalServer):
    def __init__(self, certificates, cases):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificates.relay, certificates.relay_key)
        cases = {host(number): case["response"] for number, case in enumerate(cases)}
        handler = type("CaseHandler", (Handler,), {"cases": cases})
        super().__init__(handler, context=context)


class Handler(BaseHTTPRequestHandler):
    cases = {}

    def do_GET(self):
        name = self.headers["Host"]
        if name == SITE:
            return self._send(200, "text/html; charset=utf-8", PAGE.read_bytes())
        case = self.cases.get(name)
        if case is None or "Cookie" in self.headers or "Referer" in self.headers:
            return self._send(500, "text/plain", b"")
        targets = [target.format(host=name) for target in case.get("redirect", [])]
        step = 0 if self.path == "/.well-known/webauthn" else 1 + targets.index(self.path)
        if step < len(targets):
            self.send_response(302)
            self.send_header("Location", targets[step])
            self.send_header("Content-Length", "0")
            self.end_headers()
            return None
        body = case["text"] if "text" in case else json.dumps(case["json"])
        return self._send(case.get("status", 200), case.get("type", "application/json"),
                          b" " * case.get("padding", 0) + body.encode())

    def _send(self, status, content_type, body):
        self.send_response(status)
        if content_type:
            self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format, *arguments):
        pass
