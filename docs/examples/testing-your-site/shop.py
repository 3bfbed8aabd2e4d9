# SPDX-License-Identifier: Apache-2.0
"""A small site with passkeys for the examples: `python3 shop.py` serves it at http://localhost:8080."""
import json
import secrets
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import webauthn
from webauthn.helpers import base64url_to_bytes, bytes_to_base64url, options_to_json_dict
from webauthn.helpers.structs import (AuthenticatorSelectionCriteria, PublicKeyCredentialDescriptor,
                                      ResidentKeyRequirement, UserVerificationRequirement)

RP_ID = "localhost"
# The browser shows its code at once instead of a choice of methods.
HINTS = ["hybrid"]
PAGE = Path(__file__).with_name("shop.html")


@dataclass
class Passkey:
    """The site's record of a passkey."""
    id: bytes
    public_key: bytes
    count: int
    name: str


class Shop:
    """Accounts, their passkeys, and the site's checks."""

    def __init__(self, origin):
        self.origin = origin
        self.handles = {}
        self.passkeys = {}
        self.challenges = {}

    def registration_options(self, name):
        handle = self.handles.setdefault(name, secrets.token_bytes(16))
        options = webauthn.generate_registration_options(
            rp_id=RP_ID, rp_name="Shop", user_id=handle, user_name=name,
            authenticator_selection=AuthenticatorSelectionCriteria(
                resident_key=ResidentKeyRequirement.REQUIRED,
                user_verification=UserVerificationRequirement.REQUIRED),
            exclude_credentials=[PublicKeyCredentialDescriptor(id=known.id)
                                 for known in self.passkeys.values() if known.name == name])
        self.challenges[bytes_to_base64url(options.challenge)] = name
        return {**options_to_json_dict(options), "hints": HINTS}

    def register(self, response):
        challenge, name = self.taken_challenge(response)
        checked = webauthn.verify_registration_response(
            credential=response, expected_challenge=challenge, expected_rp_id=RP_ID, expected_origin=self.origin,
            require_user_verification=True)
        self.passkeys[checked.credential_id] = Passkey(
            checked.credential_id, checked.credential_public_key, checked.sign_count, name)
        return {"message": f"Passkey saved for {name}."}

    def sign_in_options(self):
        options = webauthn.generate_authentication_options(
            rp_id=RP_ID, user_verification=UserVerificationRequirement.REQUIRED)
        self.challenges[bytes_to_base64url(options.challenge)] = None
        return {**options_to_json_dict(options), "hints": HINTS}

    def sign_in(self, response):
        challenge, _ = self.taken_challenge(response)
        passkey = self.passkeys.get(base64url_to_bytes(response["rawId"]))
        if passkey is None:
            raise ValueError("this passkey is not known here")
        checked = webauthn.verify_authentication_response(
            credential=response, expected_challenge=challenge, expected_rp_id=RP_ID, expected_origin=self.origin,
            credential_public_key=passkey.public_key, credential_current_sign_count=passkey.count,
            require_user_verification=True)
        passkey.count = checked.new_sign_count
        return {"message": f"Welcome, {passkey.name}."}

    def taken_challenge(self, response):
        """Returns the challenge of a response, which is valid once, and the name that it was created for."""
        client_data = json.loads(base64url_to_bytes(response["response"]["clientDataJSON"]))
        return base64url_to_bytes(client_data["challenge"]), self.challenges.pop(client_data["challenge"])


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.answer(200, PAGE.read_bytes(), "text/html; charset=utf-8") if self.path == "/" else self.send_error(404)

    def do_POST(self):
        shop = self.server.shop
        actions = {
            "/register/options": lambda body: shop.registration_options(body["name"]),
            "/register": shop.register,
            "/sign-in/options": lambda body: shop.sign_in_options(),
            "/sign-in": shop.sign_in,
        }
        try:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            status, content = 200, actions[self.path](body)
        except Exception as error:
            status, content = 400, {"error": str(error)}
        self.answer(status, json.dumps(content).encode(), "application/json")

    def answer(self, status, body, kind):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def serve(port=0):
    """Starts the site in the background; returns its server, whose `shop.origin` is its address."""
    server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
    server.shop = Shop(f"http://localhost:{server.server_port}")
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


if __name__ == "__main__":
    print(serve(8080).shop.origin, flush=True)
    threading.Event().wait()
