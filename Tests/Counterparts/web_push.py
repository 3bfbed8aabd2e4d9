#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Phone, client and push server for a relay that wakes phones by Web Push; judged by http-ece and py-vapid.

  web_push.py --host HOST --cert FILE --key FILE --relay FILE

Runs a push server and prints its port on standard error. Then it waits until the relay's port is in FILE. The relay
(plaintext, on loopback) must allow the push server at 127.0.0.1 and trust its certificate. The results are one JSON
object on standard output.
"""
import argparse, base64, json, pathlib, secrets, socket, sys, time

import http_ece, py_vapid
sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "Acceptance" / "harness"))

import cbor, linking
from push_server import PushServer
from website import to_base64url
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import connect

# Endpoints that would lead a relay into a network of its own, with the kind of address.
FORBIDDEN = {
    "loopback": "https://127.0.0.1/",
    "loopback, IPv6": "https://[::1]/",
    "localhost": "https://localhost/",
    "private 10/8": "https://10.0.0.1/",
    "private 172.16/12": "https://172.16.0.1/",
    "private 192.168/16": "https://192.168.1.1/",
    "link-local, metadata": "https://169.254.169.254/latest/meta-data/",
    "link-local, IPv6": "https://[fe80::1]/",
    "metadata, IPv6": "https://[fd00:ec2::254]/",
    "CGNAT": "https://100.64.0.1/",
    "multicast": "https://224.0.0.1/",
    "unspecified": "https://0.0.0.0/",
    "unspecified, IPv6": "https://[::]/",
    "broadcast": "https://255.255.255.255/",
    "IPv4-mapped": "https://[::ffff:127.0.0.1]/",
    "IPv4-compatible": "https://[::127.0.0.1]/",
    "NAT64": "https://[64:ff9b::7f00:1]/",
    "6to4": "https://[2002:7f00:1::1]/",
    "documentation": "https://192.0.2.1/",
    "decimal address": "https://2130706433/",
    "hexadecimal address": "https://0x7f000001/",
    "short address": "https://127.1/",
    "user information": "https://push.example@127.0.0.1/",
    "plain HTTP": "http://push.example/",
    "other scheme": "file:///etc/passwd",
    "other port": "https://push.example:8443/",
    "single label": "https://metadata/",
    "internal name": "https://metadata.google.internal/",
    "allowed host, other port": "https://127.0.0.1:1/",
    "backslash": "https://127.0.0.1\\@push.example/",
}


class Phone:
    """A phone's connection to the relay."""

    def __init__(self, port, host):
        self.key = linking.new_contact_key()
        contact = linking.contact_id(self.key)
        self.socket = open_socket(port, f"/cable/listen/{to_base64url(contact)}", linking.LISTEN)
        hello = self.receive()
        assert hello[0] == "hello"
        statement = linking.listen_statement(host, hello[1], contact)
        self.send({0: "own", 1: linking.public_bytes(self.key), 2: self.key.sign(statement)})
        assert self.receive() == {0: "ok"}

    def send(self, message):
        self.socket.send(cbor.canonical(message))

    def receive(self, timeout=40):
        return cbor.read(self.socket.recv(timeout))

    def ask(self, message):
        self.send(message)
        return self.receive()

    def seal(self, endpoint, p256dh, auth):
        self.send({0: "seal", 1: endpoint, 2: p256dh, 3: auth})


def open_socket(port, path, subprotocol="fido.cable", fields=()):
    sock = socket.create_connection(("127.0.0.1", port), timeout=30)
    return connect(
        f"ws://127.0.0.1:{port}{path}",
        sock=sock,
        subprotocols=[subprotocol],
        additional_headers=list(fields),
        compression=None,
        ping_interval=None,
        proxy=None,
        open_timeout=30,
    )


def contact(port, contact_id, payload=b"\xa1\x02\x03"):
    fields = [(linking.PAYLOAD, payload.hex()), (linking.SIGNAL, "true")]
    return open_socket(port, f"/cable/contact/{to_base64url(contact_id)}", fields=fields)


def status_of(port, contact_id):
    try:
        contact(port, contact_id).close()
        return 101
    except InvalidStatus as error:
        fields = error.response.headers
        assert "X-Hybrid-Contact-Gone" not in fields
        return error.response.status_code


def judged(subscription, server, vapid_key):
    """Returns the content of the next message, decrypted by http-ece, after py-vapid has verified its token."""
    message = subscription.wait()
    assert py_vapid.Vapid02.verify(message.fields["Authorization"])
    private = subscription.receiver.private
    content = http_ece.decrypt(
        message.body, private_key=private, auth_secret=subscription.auth, version="aes128gcm"
    ).rstrip(b"\0")
    assert content == message.content
    assert message.fields["TTL"] == "60" and message.fields["Urgency"] == "high"
    assert 1 <= len(message.fields["Topic"]) <= 32
    assert message.claims["aud"] == server.origin and message.claims["sub"] == "mailto:operator@example.org"
    assert base64.urlsafe_b64decode(message.claims["k"] + "=") == vapid_key
    return cbor.read(content), message


def sealed(phone, server, vapid_key, path=None):
    """Proves a new subscription and returns it with its contact ID."""
    subscription = server.subscribe(path)
    phone.seal(subscription.endpoint, subscription.p256dh, subscription.auth)
    content, _ = judged(subscription, server, vapid_key)
    assert content[0] == "proof" and len(content[1]) == 32
    # A nonce that was not pushed proves nothing.
    phone.send({0: "proof", 1: secrets.token_bytes(32)})
    answer = phone.ask({0: "proof", 1: content[1]})
    assert answer[0] == "sealed" and set(answer) == {0, 1, 2}
    assert len(answer[1]) <= 300 and answer[1][0] == 2 and answer[2] > time.time() + 300 * 86400
    assert subscription.endpoint[8:].encode() not in answer[1]
    return subscription, answer[1]


def relay_port(file):
    """Waits until a file contains a port and returns it."""
    for _ in range(2400):
        text = file.read_text() if file.exists() else ""
        if text.endswith("\n"):
            return int(text)
        time.sleep(0.05)
    raise TimeoutError("the relay has not started")


def check(options):
    results = {}
    server = PushServer(options.cert, options.key)
    print(f"listening on 127.0.0.1:{server.port}", file=sys.stderr, flush=True)
    options.relay = relay_port(pathlib.Path(options.relay))
    phone = Phone(options.relay, options.host)
    vapid_key = phone.ask({0: "vapid"})[1]
    subscription, contact_id = sealed(phone, server, vapid_key)
    results["sealed"] = len(contact_id)

    # A wake-up: the client gets its response when the push server has accepted the message.
    client = contact(options.relay, contact_id)
    wake, first = judged(subscription, server, vapid_key)
    assert wake[0] == "wake" and wake[3] == b"\xa1\x02\x03" and 0 < wake[4] <= 120, wake
    joined = open_socket(options.relay, f"/cable/connect/{wake[1].hex()}/{wake[2].hex()}")
    assert client.recv(10) == b"\0"
    client.send(b"\1")
    assert joined.recv(10) == b"\1"
    joined.send(b"\2")
    assert client.recv(10) == b"\2"
    joined.close()
    results["woken"] = True

    # Tokens are cached: the second message for this server has the same one.
    other_phone = Phone(options.relay, options.host)
    removed, removed_id = sealed(other_phone, server, vapid_key)
    contact(options.relay, removed_id).close()
    _, second = judged(removed, server, vapid_key)
    results["same token"] = first.fields["Authorization"] == second.fields["Authorization"]
    results["same topic"] = first.fields["Topic"] == second.fields["Topic"]
    removed.remove()
    results["push server's 410"] = status_of(options.relay, removed_id)
    changed = bytearray(contact_id)
    changed[-1] ^= 1
    results["bad tag"] = status_of(options.relay, bytes(changed))
    changed = bytearray(contact_id)
    changed[1] ^= 0xFF
    results["unknown key"] = status_of(options.relay, bytes(changed))
    server.status = 503
    results["push server's 503"] = status_of(options.relay, contact_id)
    server.status, server.location = 302, "https://127.0.0.1/"
    results["push server's 302"] = status_of(options.relay, contact_id)
    server.location = None
    # The rate allows another one every ten seconds.
    for _ in range(4):
        results["rate"] = status_of(options.relay, contact_id)
        if results["rate"] == 429:
            break

    # Refusals of contact IDs, each on a connection of its own, because a connection has four requests.
    def reason(endpoint):
        phone = Phone(options.relay, options.host)
        receiver = server.subscribe().receiver
        phone.seal(endpoint, receiver.p256dh, receiver.auth)
        answer = phone.receive()
        phone.socket.close()
        return answer[1] if answer[0] == "unsealed" else answer[0]

    before = server.requests
    # The relay may request URLs below /push only.
    others = {"path": "/x", "longer segment": "/pushed/x", "dots": "/push/../x", "encoded dots": "/push/%2e%2e/x"}
    forbidden = FORBIDDEN | {kind: server.origin + path for kind, path in others.items()}
    results["forbidden"] = {kind: reason(endpoint) for kind, endpoint in forbidden.items()}
    results["forbidden requests"] = server.requests - before
    results["too long"] = reason("https://push.example/" + "x" * 300)
    server.status = 403
    results["refused by the push server"] = reason(server.origin + "/push/x")
    server.status = None

    # The fifth request on one connection, and the second while one is pending.
    fifth = Phone(options.relay, options.host)
    for _ in range(4):
        sealed(fifth, server, vapid_key)
    fifth.seal(server.origin + "/push/x", subscription.p256dh, subscription.auth)
    results["fifth"] = fifth.receive()
    pending = Phone(options.relay, options.host)
    lost = server.subscribe()
    for _ in range(2):
        pending.seal(lost.endpoint, lost.p256dh, lost.auth)
    results["pending"] = pending.receive()
    broken = Phone(options.relay, options.host)
    broken.seal(lost.endpoint, lost.p256dh[:-1], lost.auth)
    try:
        results["malformed"] = broken.receive()
    except ConnectionClosed as error:
        results["malformed"] = error.rcvd.code
    results["rejected by the push server"] = server.rejected
    for item in ("fifth", "pending"):
        results[item] = results[item].get(1)
    print(json.dumps(results))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--relay", required=True)
    parser.add_argument("--host", required=True)
    parser.add_argument("--cert", required=True)
    parser.add_argument("--key", required=True)
    check(parser.parse_args())


if __name__ == "__main__":
    main()
