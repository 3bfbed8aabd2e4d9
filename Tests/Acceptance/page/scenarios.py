# SPDX-License-Identifier: Apache-2.0
"""Scenarios of the page, one function each. They raise Failed with what was expected and found."""
import http.client
import json
import re
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from harness.phone import Person
from harness.relying_party import Refused
from harness.waiting import Failed, must

VIRTUAL = "VIRTUAL RADIO: no proximity proof"


def scanned(env, page, name):
    """Returns the text of the code on the screen, which zbar reads from a picture."""
    page.front()
    page.wait_for("scan")
    picture = env.folder.path(f"{name}.png")
    return env.waiting.until("a picture of the screen with a readable code", lambda: env.screen.code(picture), 60)


def never_shows(page, options, answer=""):
    secrets = [options["challenge"], *re.findall(r'"(?:clientDataJSON|signature|attestationObject)":"([^"]+)"', answer)]
    for secret in secrets:
        must(secret not in page.source, "expected no part of request or response in the page; found one")


def whole_ceremony(env):
    """Runs a registration: a picture of each stage, dark and light; a reload in between; the response is accepted."""
    options = env.site.creation_options()
    client = env.client(options)
    page = env.window.page()
    codes = set()
    for scheme in ("dark", "light"):
        page.prefer(scheme)
        codes.add(scanned(env, page, f"1-scan-{scheme}"))
    must(page.address.endswith("/") and "open" not in page.address, "expected no token in the address; found "
                                                                    "{page.address}")
    must(VIRTUAL in page.text and "Create a passkey for localhost" in page.text, "expected heading and warning; "
                                                                                 f"found {page.text}")
    roles = page.accessible()
    must(any(role == "image" and name.startswith("QR code") for role, name, _ in roles), "expected an accessible name "
                                                                                         "for the code; found none")
    must(any(role == "status" and '"polite"' in more for role, _, more in roles), "expected a live region for the "
                                                                                  "stage; found none")
    page.reload()
    codes.add(scanned(env, page, "1-scan-reloaded"))
    must(len(codes) == 1, "expected the same code after a reload; found another")
    # Longer than the page may be disconnected, measured by the clock of the reloaded page.
    env.waiting.until("the page to be five seconds old", lambda: (page.value("performance.now()") or 0) > 5000, 60)
    must(client.status is None, f"expected hybrid-client to survive a reload; it ended: {client.said}")

    env.gate.shut()
    env.person_may()
    hold(page, "found")
    phone = env.scan(codes.pop(), Person())
    page.wait_for("found")
    page.picture(env.folder.path("2-found.png"))
    go_on(page)
    page.wait_for("connecting")
    must(page.value("document.getElementById('figure').hidden"), "expected no code on the screen; it is still shown")
    must("M4 4h7" not in page.source and page.value("document.getElementById('modules').getAttribute('d')") is None,
         "expected no code in the page; found it")
    page.picture(env.folder.path("3-connecting.png"))
    page.reload()
    page.wait_for("connecting")
    must("M4 4h7" not in page.source, "expected no code after a reload; found it")
    env.gate.open()
    page.wait_for("done")
    page.picture(env.folder.path("5-done.png"))
    must(client.ended() == 0, f"expected status 0 of hybrid-client; found {client.status}: {client.said}")
    try:
        env.site.verify_creation(json.loads(client.answer), options["challenge"])
    except Refused as error:
        raise Failed(str(error)) from None
    never_shows(page, options, client.answer)
    env.waiting.until("the phone to end", lambda: phone.status is not None, 60)
    must(phone.status == 0, f"hybrid-auth {phone.ending}, expected status 0: {phone.said()}")
    page.close()


def hold(page, stage):
    """Keeps the page at a short stage, so that a picture can be taken."""
    must(page.value(f"""window.asBefore = show; show = (next) => {{
        asBefore(next); if (next.stage === "{stage}") displayTimer = 0; }}; true"""), "the page cannot be kept at "
                                                                                      f"{stage}")


def go_on(page):
    """Resumes a page that was kept at a stage."""
    must(page.value("show = asBefore; displayTimer = null; advance(); true"), "expected the page to resume; it did not")


def declined(env):
    """Runs a sign-in whose user answers late and declines."""
    options = env.site.request_options()
    env.person_may(False)
    client = env.client(options)
    page = env.window.page()
    env.scan(scanned(env, page, "6-scan"), Person(answer="no"))
    page.wait_for("confirm")
    page.picture(env.folder.path("4-confirm.png"))
    page.prefer("dark")
    page.picture(env.folder.path("4-confirm-dark.png"))
    never_shows(page, options)
    env.person_may()
    page.wait_for("failed")
    page.picture(env.folder.path("6-failed-declined.png"))
    must("declined on the phone" in page.text, f"expected the cause on the page; found {page.text}")
    must(client.ended() == 77, f"expected status 77; found {client.status}: {client.said}")
    must(client.answer == "", "expected no response; found {client.answer}")
    page.close()


def closed(env):
    """Closes the page, which cancels three seconds later."""
    client = env.client(env.site.request_options(allow="unknown"))
    page = env.window.page()
    scanned(env, page, "7-scan")
    began = time.monotonic()
    page.close()
    status = client.ended()
    seconds = time.monotonic() - began
    must(status == 130, f"expected status 130; found {status}: {client.said}")
    must(client.said.splitlines()[-1] == "hybrid-client: the page with the code was closed, which cancels; start again",
         f"expected the cause as the last line; found {client.said}")
    must(seconds >= 2.9, f"expected the end after 3 s; found {seconds:.1f} s")
    return f"ended {seconds:.1f} s after the page was closed"


def opened_twice(env):
    """Uses the token a second time, from another program of the same user."""
    addresses = env.folder.scratch / "addresses"
    spy = env.folder.scratch / "spy"
    spy.write_text(f"#!/bin/sh\nprintf '%s\\n' \"$1\" >>'{addresses}'\nexec '{env.window.opener}' \"$1\"\n")
    spy.chmod(0o700)
    client = env.client(env.site.request_options(allow="unknown"), browser=str(spy))
    page = env.window.page()
    scanned(env, page, "8-scan")
    address = addresses.read_text().strip()
    must(re.fullmatch(r"http://127\.0\.0\.1:\d+/open/[0-9a-f]{32}", address), "expected an address with a token; "
                                                                              f"found {address}")
    must(ask(address) == 410, "expected 410 for a second use; found another status")
    page.wait_for("failed")
    page.picture(env.folder.path("8-failed-opened-twice.png"))
    must("another user opened the page" in page.text, f"expected the cause on the page; found {page.text}")
    must(client.ended() == 77, f"expected status 77; found {client.status}: {client.said}")
    must("another user opened the page with the code" in client.said, "expected the cause on standard error; found "
                                                                      f"{client.said}")
    page.close()


def ask(address, **fields):
    """Sends a GET request of its own; returns the status."""
    _, _, authority, path = address.split("/", 3)
    connection = http.client.HTTPConnection(authority, timeout=30)
    try:
        connection.request("GET", "/" + path, headers=fields)
        return connection.getresponse().status
    finally:
        connection.close()


def foreign_requests(env):
    """Checks that other hosts, origins and pages get nothing, and that the ceremony goes on."""
    client = env.client(env.site.request_options(allow="unknown"))
    page = env.window.page()
    code = scanned(env, page, "9-scan")
    env.window.complaints()
    origin = page.address.rstrip("/")
    port = origin.rsplit(":", 1)[1]
    must(ask(origin + "/") == 403, "expected 403 for the page without its cookie; found another status")
    for host in (f"localhost:{port}", "127.0.0.1", f"evil.example:{port}"):
        must(ask(origin + "/", Host=host) == 421, f"expected 421 for Host: {host}; found another status")
    for other in ("null", "http://evil.example", f"http://localhost:{port}"):
        must(ask(origin + "/", Origin=other) == 403, f"expected 403 for Origin: {other}; found another status")
    rebound = env.window.open(f"http://rebound.example:{port}/")
    env.waiting.until("the page under another name to be refused",
                       lambda: "not the requested host" in rebound.text, 60)
    rebound.close()
    with Elsewhere(origin) as elsewhere:
        other = env.window.open(elsewhere)
        said = env.waiting.until("another page to finish its attempts", lambda: other.value("tried"), 60)
        must(said == ["refused"] * 3, f"expected three refusals for another page; found {said}")
        must(not other.value("frames[0].length") and "QR code" not in (other.value(
            "(() => { try { return frames[0].document.body.innerText } catch { return '' } })()") or ""),
             "expected no content in a frame; found some")
        other.picture(env.folder.path("9-framed.png"))
        other.close()
    env.window.complaints()  # Chromium reports many of these attempts.
    must(client.status is None, f"expected hybrid-client to survive foreign requests; it ended: {client.said}")
    must(scanned(env, page, "9-scan-after") == code, "expected the same code; found another")
    page.close()
    must(client.ended() == 130, f"expected status 130; found {client.status}: {client.said}")


class Elsewhere:
    """A page of another origin on this device, which frames the code's page and requests it in three ways."""

    def __init__(self, origin):
        page = f"""<!doctype html><iframe src="{origin}/"></iframe><script>
            "use strict"; let tried = null; const refused = (name) => new Promise((done) => {{
              const image = new Image(); image.onload = () => done("loaded"); image.onerror = () => done("refused");
              image.src = "{origin}/" + name; }});
            const asked = (mode) => fetch("{origin}/", {{ mode, credentials: "include" }})
              .then((answer) => answer.status === 200 ? "answered" : "refused", () => "refused");
            addEventListener("load", async () => {{
              tried = [await asked("cors"), await asked("no-cors"), await refused("")]; }});
            </script>""".encode()

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(page)

            def log_message(self, *_):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    def __enter__(self):
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return f"http://localhost:{self._server.server_port}/"

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.server_close()


def no_browser(env):
    """Checks that without a browser the code is drawn in the terminal, with a line that explains the alternatives."""
    client = env.client(env.site.request_options(allow="unknown"), browser="/there/is/no/browser")
    env.waiting.until("hybrid-client to draw the code itself", lambda: "▀" in client.said, 60)
    must(re.search(r"^hybrid-client: no browser could be opened \(/there/is/no/browser: No such file or directory\); "
                   r"set BROWSER, open http://127\.0\.0\.1:\d+/open/[0-9a-f]{32} yourself, or scan the code here$",
                   client.said, re.MULTILINE), f"expected the cause and its remedies; found {client.said}")
    must("▀" in client.said and client.status is None, "expected a code from a running program; found none")


SCENARIOS = {
    "whole-ceremony": whole_ceremony, "declined": declined, "closed": closed, "opened-twice": opened_twice,
    "foreign-requests": foreign_requests, "no-browser": no_browser}
