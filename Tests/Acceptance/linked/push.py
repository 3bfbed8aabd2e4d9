# SPDX-License-Identifier: Apache-2.0
"""Cases of a phone without a connection, which a push service wakes: hybrid-auth, UnifiedPush and a push server."""
import contextlib
import os
import secrets
import shlex
import signal
from types import SimpleNamespace

import cbor
import http_ece
import linking
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from environment import LIMIT, OurClient, OurPhone
from harness.distributor import CONNECTOR, CONNECTOR_PATH, DAEMON
from harness.phone import PIN, PINENTRY
from harness.programs import Program
from harness.relay import DOMAIN, HOST
from harness.waiting import must
from jeepney import DBusAddress, new_method_call
from jeepney.io.blocking import open_dbus_connection

SERVICE = "org.hybrid.Auth"
# Time without work in seconds after which hybrid-auth ends.
IDLE = 1
PREPARED = "a push subscription for the next link is ready"
ENDED = "nothing is left to do"


class PushPhone(OurPhone):
    """hybrid-auth with state and vault of its own, which the session bus starts for a push message."""

    def __init__(self, env):
        root = env.folder.phone / f"push-{env.number()}"
        root.mkdir(mode=0o700)
        self._folder = SimpleNamespace(phone=root, path=env.folder.path, environment=env.folder.environment)
        super().__init__(env, self._folder)
        self.distributor = env.distributor
        self._log = env.folder.path(f"push-listen-{env.number()}.log")
        self._log.touch()
        self._make_activatable()

    def _command(self):
        return ["listen", "--push", "--tunnel-domain", str(DOMAIN), "--idle-timeout", str(IDLE),
                *map(str, self._route(self._env.relay.port)), "--vault", str(self._folder.phone / "vault"), "--adapter",
                "hci1", "--pinentry", str(PINENTRY)]

    def _variables(self):
        return self._environment(PERSON_PIN=PIN, PERSON_ANSWER="yes", PERSON_MAY="")

    def _make_activatable(self):
        """Installs the file with which the bus starts hybrid-auth; its process IDs and its output go to files."""
        env = self._env
        self._pids = self._folder.phone / "pids"
        self._pids.touch()
        script = self._folder.phone / "activated"
        variables = " ".join(shlex.quote(f"{name}={value}") for name, value in self._variables().items())
        command = " ".join(map(shlex.quote, [str(env.programs.auth), *self._command()]))
        script.write_text(f"#!/bin/sh\necho $$ >>{shlex.quote(str(self._pids))}\n"
                          f"exec env -i {variables} {command} >>{shlex.quote(str(self._log))} 2>&1\n")
        script.chmod(0o700)
        file = env.notifications.services / f"{SERVICE}.service"
        file.write_text(f"[D-BUS Service]\nName={SERVICE}\nExec={script}\n")
        with open_dbus_connection(bus=env.notifications.address) as bus:
            bus.send_and_get_reply(new_method_call(DAEMON, "ReloadConfig"), timeout=60)
            # The phone of an earlier case ends when it has nothing to do.
            name = new_method_call(DAEMON, "NameHasOwner", "s", (SERVICE,))
            env.waiting.until("the earlier hybrid-auth to end",
                              lambda: bus.send_and_get_reply(name, timeout=60).body == (False,), LIMIT)

    @property
    def starts(self):
        """Number of times that the bus has started hybrid-auth."""
        return len(self._pids.read_text().split())

    def said(self):
        return self._log.read_text(errors="replace")

    def until(self, text, count=1):
        self._env.waiting.until(f"{text!r} from hybrid-auth", lambda: self.said().count(text) >= count, LIMIT)

    def until_gone(self):
        """Waits until no process of hybrid-auth is left that could have a socket."""
        def is_gone():
            return not any(os.path.exists(f"/proc/{pid}") for pid in self._pids.read_text().split())

        self._env.waiting.until("hybrid-auth to end", is_gone, LIMIT)

    def end(self):
        """Ends hybrid-auth, which stays for ten minutes after a message that it has ignored."""
        for pid in map(int, self._pids.read_text().split()):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
        self.until_gone()

    def prepare(self):
        """Runs hybrid-auth until it has a subscription for the next link and nothing else to do."""
        env = self._env
        program = env.keep(Program("hybrid-auth listen --push", [env.programs.auth, *self._command()],
                                   log=env.folder.path(f"push-prepare-{env.number()}.log"),
                                   environment=self._variables()))

        def look():
            must(program.status in (None, 0), f"hybrid-auth {program.ending}: {program.said()}")
            return program.status == 0

        env.waiting.until("hybrid-auth to prepare a subscription and end", look, LIMIT)
        must(PREPARED in program.said() and ENDED in program.said(),
             f"expected a subscription and the end; found {program.said()}")

    def scan(self, code, link=False):
        return super().scan(code, link, ["--push"])

    @property
    def registration(self):
        """The registration of the only link."""
        tokens = {self._stored_link()[13][1]}
        found = [known for known in self.distributor.registrations.values() if known.token in tokens]
        must(len(found) == 1, f"expected a registration of the link; found {len(found)}")
        return found[0]

    def _stored_link(self):
        files = list((self._folder.phone / "state" / "hybrid" / "phone").glob("*.cbor"))
        must(len(files) == 1, f"expected one link; found {len(files)}")
        must(files[0].stat().st_mode & 0o777 == 0o600, "expected mode 0600 for the keys of the subscription")
        # The hash at the end is not a part of the map.
        return cbor.read(files[0].read_bytes()[:-32])

    def decrypted(self, body):
        """Returns the map in a push message, decrypted with http-ece."""
        private, secret = self._receiver()
        return cbor.read(http_ece.decrypt(body, private_key=private, auth_secret=secret, version="aes128gcm"))

    def encrypted(self, content):
        """Returns a push message from a sender that knows the subscription, encrypted with http-ece."""
        private, secret = self._receiver()
        point = private.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
        return http_ece.encrypt(cbor.canonical(content), private_key=ec.generate_private_key(ec.SECP256R1()), dh=point,
                                auth_secret=secret, version="aes128gcm")

    def _receiver(self):
        stored = self._stored_link()[13][4]
        return ec.derive_private_key(int.from_bytes(stored[:32], "big"), ec.SECP256R1()), stored[32:]

    def stop(self):
        complaints = super().stop()
        self.end()
        (self._env.notifications.services / f"{SERVICE}.service").unlink(missing_ok=True)
        return complaints


def _linked(env):
    """Returns hybrid-client, a phone without a connection and the ID of a passkey, all of them linked."""
    client, phone = OurClient(env), env.keep(PushPhone(env))
    credential = env.register(client, phone)
    phone.prepare()
    client.link(phone, credential)
    must([link["wakeUp"] for link in phone.links()] == ["push"], f"expected a link by push; found {phone.links()}")
    return client, phone, credential


def push(env):
    """A link by push, then two sign-ins; in between, no process of the phone is left."""
    client, phone, credential = _linked(env)
    must(phone.starts == 0, "expected no process of the phone before the first sign-in")
    for count in (1, 2):
        client.sign_in(credential)
        phone.until(f'answered the request of "{phone.label}"', count)
        phone.until(ENDED, count)
        phone.until_gone()
        must(phone.starts == count, f"expected {count} starts by the bus; found {phone.starts}")
    fields = phone.registration.fields[-1]
    must(fields.get("ttl") == "60" and fields.get("urgency") == "high", f"expected TTL and urgency; found {fields}")
    content = phone.decrypted(phone.registration.delivered[-1])
    must(content[0] == "wake" and set(content) == {0, 1, 2, 3, 4}, f"expected a wake-up; found {content}")
    payload = cbor.read(content[3])
    must(payload[3] == "ga" and len(payload[4]) == 34, f"expected link ID, nonce, hint and proof; found {payload}")
    lengths = {len(body) for body in phone.registration.delivered}
    must(len(lengths) == 1, f"expected push messages of one length; found {lengths}")
    return f"{len(phone.registration.delivered)} push messages of {lengths.pop()} bytes"


def _falls_back(env, client, phone, credential, code, words):
    options = env.request(credential)
    run = client.show(options)
    failure = run.event("link-failed")
    must(failure["code"] == code and words in failure["message"],
         f"expected the failure {code} with {words!r}; found {failure}")
    scan = phone.scan(run.code)
    env.accepted(run, options)
    env.ended(scan)
    must(len(client.phones()) == 1, f"expected the link to stay; found {client.phones()}")
    return failure["message"]


def push_ended(env):
    """The user ends the subscription: a bare 410, one sentence, the code, and the link stays."""
    client, phone, credential = _linked(env)
    phone.distributor.drop(phone.registration)
    phone.until("its push subscription has ended; link it again")
    states = [link["state"] for link in phone.links()]
    must(states == ["unreachable"], f"expected the state unreachable; found {states}")
    return _falls_back(env, client, phone, credential, "linked-phone-unsubscribed",
                       "has ended its push subscription, so the relay can't wake it; scan the code instead")


def push_forgotten(env):
    """`links forget` ends the subscription at the push service."""
    client, phone, credential = _linked(env)
    token = phone.registration.token
    phone.forget(bytes.fromhex(phone.links()[0]["id"]))
    must(token in phone.distributor.unregistered, "expected the subscription to be unregistered")
    return _falls_back(env, client, phone, credential, "linked-phone-unsubscribed", "has ended its push subscription")


def push_server_down(env):
    """The push server answers 503: the code appears."""
    client, phone, credential = _linked(env)
    env.push_server.status = 503
    try:
        return _falls_back(env, client, phone, credential, "linked-phone-unreachable", "could not be reached")
    finally:
        env.push_server.status = None


def push_attacks(env):
    """Push messages that are repeated, forged, or from another program of the session: no notification."""
    client, phone, credential = _linked(env)
    client.sign_in(credential)
    phone.until(ENDED)
    registration = phone.registration
    wake_up, questions = registration.delivered[-1], len(env.notifications.questions)
    # The push server repeats the last wake-up. The tunnel is gone, and the number is known.
    phone.distributor.deliver(registration.token, wake_up)
    phone.until("it was repeated")
    # A push server knows the address, but not the key.
    phone.distributor.deliver(registration.token, secrets.token_bytes(615))
    phone.until("it is not encrypted for this device")
    # The relay knows the key, but not the secret of the link.
    link_id = cbor.read(phone.decrypted(wake_up)[3])[1]
    data = linking.payload(link_id, secrets.token_bytes(32), secrets.token_bytes(16), "ga", HOST)
    forged = {0: "wake", 1: bytes(3), 2: secrets.token_bytes(16), 3: data, 4: 60}
    phone.distributor.deliver(registration.token, phone.encrypted(forged))
    phone.until("no proof that the computer sent it")
    # Another program of the session, which has learned the token.
    with open_dbus_connection(bus=env.notifications.address) as bus:
        address = DBusAddress(CONNECTOR_PATH, bus_name=SERVICE, interface=CONNECTOR)
        arguments = {"token": ("s", registration.token), "message": ("ay", wake_up)}
        bus.send_and_get_reply(new_method_call(address, "Message", "a{sv}", (arguments,)), timeout=60)
    phone.until("a program other than the push service sent it")
    must(len(env.notifications.questions) == questions, "expected no notification; found one")
    states = [link["state"] for link in phone.links()]
    must(states == ["active"], f"expected the link not to be muted; found {states}")
    phone.end()


PUSH_CASES = {"push": push, "push-ended": push_ended, "push-forgotten": push_forgotten,
              "push-server-down": push_server_down, "push-attacks": push_attacks}
