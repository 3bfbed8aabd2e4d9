# SPDX-License-Identifier: Apache-2.0
"""The site: pages over HTTPS, options for them, and a record of all responses for the judges outside the guest."""
import base64
import json
import secrets
import ssl
from pathlib import Path

from harness.page_server import PageServer

PAGE = Path(__file__).with_name("page.html")
RP_ID, HOST, OTHER_HOST = "example.com", "login.example.com", "www.example.com"
# Longer than every wait of this program, so that a timeout is reported there with its own message.
TIMEOUT_MS = 1_200_000


def encode(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def unknown_ids(count):
    """Returns IDs of credentials that no authenticator has."""
    return [encode(secrets.token_bytes(32)) for _ in range(count)]


class Site(PageServer):
    """An HTTPS server for all its host names, and the site's account. `port` 0 is one that the system chooses."""

    def __init__(self, certificates, responses, port):
        self._responses, self.case, self.credential = responses, "start", None
        self._account = encode(secrets.token_bytes(16))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificates.relay, certificates.relay_key)
        super().__init__(PAGE, port, context)
        self.origin = f"https://{HOST}" + (f":{self.port}" if port == 0 else "")

    def creation_options(self, exclude=(), **more):
        """PublicKeyCredentialCreationOptionsJSON."""
        return {
            "rp": {"id": RP_ID, "name": "Example"}, "challenge": encode(secrets.token_bytes(32)), "attestation": "none",
            "user": {"id": self._account, "name": "ada@example.com", "displayName": "Ada L."},
            "pubKeyCredParams": [{"type": "public-key", "alg": -7}],
            "excludeCredentials": [self._descriptor(one) for one in exclude],
            "authenticatorSelection": {"residentKey": "required", "requireResidentKey": True,
                                       "authenticatorAttachment": "cross-platform", "userVerification": "required"},
            "hints": ["security-key"], "timeout": TIMEOUT_MS, **more}

    def request_options(self, allow=(), **more):
        """PublicKeyCredentialRequestOptionsJSON."""
        return {
            "rpId": RP_ID, "challenge": encode(secrets.token_bytes(32)), "userVerification": "required",
            "allowCredentials": [self._descriptor(one) for one in allow],
            "hints": ["security-key"], "timeout": TIMEOUT_MS, **more}

    def record(self, options, response):
        """Stores a response for the judges."""
        registration = "rp" in options
        if registration:
            self.credential = response["id"]
        entry = {"case": self.case, "rp": RP_ID, "origin": self.origin, "challenge": options["challenge"],
                 "registration": registration, "response": response}
        with open(self._responses, "a", encoding="utf-8") as file:
            file.write(json.dumps(entry) + "\n")

    @property
    def address(self):
        return self.origin + "/"

    @staticmethod
    def _descriptor(credential):
        return {"type": "public-key", "id": credential, "transports": ["usb", "hybrid"]}
