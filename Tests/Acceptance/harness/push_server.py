# SPDX-License-Identifier: Apache-2.0
"""A push server (RFC 8030) with TLS, and the receiver of its messages (RFC 8188, 8291, 8292).

In a test:

    server = PushServer(certificate, key)
    subscription = server.subscribe()           # endpoint, p256dh, auth; one phone at this server
    message = subscription.wait(seconds=10)     # Message: fields, body, content (decrypted), claims (of the token)

A subscription that is removed (`subscription.remove()`) answers 410. `server.status` replaces the status of all answers.
As a program it prints one JSON line for each message, with the body in base64:

    push_server.py --cert FILE --key FILE [--status NNN] [--delay SECONDS] [--location URL]
"""
import argparse, base64, http.server, json, os, queue, ssl, sys, threading, time
from dataclasses import dataclass

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, utils
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF


def encode(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def decode(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def derive(secret, salt, info, length):
    return HKDF(algorithm=hashes.SHA256(), length=length, salt=salt, info=info).derive(secret)


@dataclass
class Message:
    """A message that the push server has accepted, without the phone's keys."""

    path: str
    fields: dict
    body: bytes
    claims: dict


class Receiver:
    """The phone's keys of one subscription."""

    def __init__(self, private=None, auth=None):
        self.private = private or ec.generate_private_key(ec.SECP256R1())
        self.auth = auth or os.urandom(16)

    @property
    def p256dh(self):
        point = serialization.PublicFormat.UncompressedPoint
        return self.private.public_key().public_bytes(serialization.Encoding.X962, point)

    def open(self, body):
        """Decrypts a body of one record in the content coding aes128gcm (RFC 8188 §2, RFC 8291 §3)."""
        salt, size, length = body[:16], int.from_bytes(body[16:20], "big"), body[20]
        sender, record = body[21 : 21 + length], body[21 + length :]
        assert length == 65 and 18 <= len(record) <= size, "the header is malformed"
        point = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), sender)
        shared = self.private.exchange(ec.ECDH(), point)
        key = derive(shared, self.auth, b"WebPush: info\0" + self.p256dh + sender, 32)
        box = AESGCM(derive(key, salt, b"Content-Encoding: aes128gcm\0", 16))
        padded = box.decrypt(derive(key, salt, b"Content-Encoding: nonce\0", 12), record, None)
        content = padded.rstrip(b"\0")
        assert content[-1:] == b"\2", "the delimiter of the last record is missing"
        return content[:-1]


def claims_of(authorization, origin):
    """Verifies the token of an `Authorization` field for this origin (RFC 8292 §2, §3) and returns its claims."""
    scheme, _, rest = authorization.partition(" ")
    values = dict(part.strip().split("=", 1) for part in rest.split(","))
    assert scheme.lower() == "vapid" and set(values) == {"t", "k"}, "the field is malformed"
    header, claims, signature = values["t"].split(".")
    assert json.loads(decode(header)) == {"typ": "JWT", "alg": "ES256"}
    raw = decode(signature)
    assert len(raw) == 64
    number = lambda part: int.from_bytes(part, "big")
    key = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), decode(values["k"]))
    der = utils.encode_dss_signature(number(raw[:32]), number(raw[32:]))
    key.verify(der, f"{header}.{claims}".encode(), ec.ECDSA(hashes.SHA256()))
    claims = json.loads(decode(claims))
    now = time.time()
    assert claims["aud"] == origin, "the token is for another push server"
    assert now < claims["exp"] <= now + 24 * 3600, "the token's expiry is not within 24 hours"
    assert claims["sub"].startswith(("mailto:", "https:")), "the token has no subject"
    return claims | {"k": values["k"]}


class Subscription:
    """One phone at a push server."""

    def __init__(self, server, path):
        self.server, self.path = server, path
        self.receiver = Receiver()
        self.messages = queue.Queue()
        self.endpoint = server.origin + path
        self.p256dh, self.auth = self.receiver.p256dh, self.receiver.auth

    def wait(self, seconds=10):
        """Returns the next message; raises queue.Empty after this time."""
        message = self.messages.get(timeout=seconds)
        message.content = self.receiver.open(message.body)
        return message

    def remove(self):
        self.server.subscriptions.pop(self.path, None)


class PushServer:
    """A push server on a thread of its own."""

    def __init__(self, certificate, key, host="127.0.0.1", port=0, status=None, delay=0, location=None, observer=None):
        self.subscriptions = {}
        self.requests = 0
        self.rejected = []
        self.status, self.delay, self.location, self.observer = status, delay, location, observer
        handler = type("Handler", (Handler,), {"push": self})
        self.http = http.server.ThreadingHTTPServer((host, port), handler)
        self.http.daemon_threads = True
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(certificate, key)
        self.http.socket = tls.wrap_socket(self.http.socket, server_side=True, do_handshake_on_connect=False)
        self.port = self.http.server_address[1]
        self.origin = f"https://{host}:{self.port}"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def subscribe(self, path=None):
        path = path or "/push/" + encode(os.urandom(12))
        self.subscriptions[path] = Subscription(self, path)
        return self.subscriptions[path]

    def close(self):
        self.http.shutdown()
        self.http.server_close()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    push = None

    def do_POST(self):
        server = self.push
        server.requests += 1
        body = self.rfile.read(min(int(self.headers.get("Content-Length", 0)), 1 << 16))
        if server.delay:
            time.sleep(server.delay)
        if server.status:
            return self.answer(server.status)
        subscription = server.subscriptions.get(self.path)
        if subscription is None and not server.observer:
            return self.answer(410)
        try:
            assert len(body) <= 4096, "the body is longer than 4096 bytes"
            assert self.headers["Content-Encoding"] == "aes128gcm"
            assert int(self.headers["TTL"]) >= 0
            assert self.headers["Urgency"] in ("very-low", "low", "normal", "high")
            topic = self.headers.get("Topic", "")
            assert len(topic) <= 32 and all(c.isascii() and (c.isalnum() or c in "-_") for c in topic)
            claims = claims_of(self.headers["Authorization"], server.origin)
        except (AssertionError, InvalidSignature, KeyError, TypeError, ValueError) as error:
            server.rejected.append(repr(error))
            return self.answer(400)
        message = Message(self.path, dict(self.headers), body, claims)
        if server.observer:
            server.observer(message)
        if subscription:
            subscription.messages.put(message)
        self.answer(201)

    def answer(self, status):
        self.send_response(status)
        if self.push.location:
            self.send_header("Location", self.push.location)
        self.send_header("Content-Length", "0")
        self.send_header("Connection", "close")
        self.end_headers()
        self.close_connection = True

    def log_message(self, *arguments):
        pass


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cert", required=True)
    parser.add_argument("--key", required=True)
    parser.add_argument("--status", type=int)
    parser.add_argument("--delay", type=float, default=0)
    parser.add_argument("--location")
    options = parser.parse_args()

    def show(message):
        line = {"path": message.path, "fields": message.fields, "claims": message.claims}
        print(json.dumps(line | {"body": base64.b64encode(message.body).decode()}), flush=True)

    server = PushServer(
        options.cert, options.key, status=options.status, delay=options.delay, location=options.location, observer=show
    )
    print(f"listening on 127.0.0.1:{server.port}", file=sys.stderr, flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main()
