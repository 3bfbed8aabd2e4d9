#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A hybrid-auth without vault, radio and relay, which prints what the real one would print.

FAKE_STORY chooses other stories: no-vault, empty, declined, managed, pin-wait, lost, slow, code, digits. FAKE_LOG gets the commands.
"""
import json
import os
import sys
import time

STORY = os.environ.get("FAKE_STORY", "")
LOG = os.environ.get("FAKE_LOG")
NOW = int(time.time())
DAY = 86400
BACKUP_KEY = "12345 00042 99999 31415 27182 16180"


def say(stream, **members):
    stream.write(json.dumps(members) + "\n")
    stream.flush()


def event(name, **members):
    say(sys.stderr, event=name, elapsed_ms=1, **members)


def log(line):
    if LOG:
        with open(LOG, "a", encoding="utf-8") as file:
            file.write(line.rstrip("\n") + "\n")


def fail(status, code, message, remedy="", **more):
    event("error", code=code, message=message, remedy=remedy, **more)
    sys.exit(status)


def passkey(number, site, name, display="", used=None, **more):
    row = {"id": f"f738{number:028x}", "rpId": site, "credentialId": "AAAA", "userHandle": "AQ", "userName": name,
           "userDisplayName": display, "created": NOW - 26 * DAY, "usable": True, "discoverable": True, "hidden": False,
           "sshKey": False, "encryptionKey": False, "signs": None, "prf": True, "lastUsed": used}
    row.update(more)
    return row


ROWS = [
    passkey(1, "example.com", "ada@example.com", "Ada Lovelace", NOW - 3600),
    passkey(2, "example.com", "<b>bob</b>\u202e & co", "", NOW - DAY),
    passkey(3, "github.com", "ada", "", NOW - 9 * DAY),
    passkey(4, "ssh:laptop", "ada", "", None, sshKey=True, signs="ssh"),
    passkey(5, "shop.example", "ada.lovelace.with.a.rather.long.name@subdomain.of.a.company.example", "", None, hidden=True),
    passkey(6, None, None, None, None, usable=False),
]
USES = [
    {"at": NOW - 3600, "rpId": "example.com", "operation": "sign-in", "outcome": "done", "passkey": "x"},
    {"at": NOW - DAY, "rpId": "example.com", "operation": "sign-in", "outcome": "declined", "passkey": "x"},
    {"at": NOW - 26 * DAY, "rpId": "example.com", "operation": "create", "outcome": "done", "passkey": "x"},
]


def session():
    if STORY == "pin-wait":
        fail(77, "pin-wait", "too many wrong PINs", "wait", waitSeconds=120)
    rows = [] if STORY == "empty" else list(ROWS)
    say(sys.stdout, ready=1, vault="/v", count=len(rows))
    for line in sys.stdin:
        command = json.loads(line)
        log(line)
        number, what = command["n"], command["do"]
        if what == "list":
            say(sys.stdout, n=number, passkeys=rows, hidden=0)
            continue
        row = next((row for row in rows if row["id"] == command["passkey"]), None)
        if row is None:
            say(sys.stdout, n=number, error={"code": "not-found", "message": "there is no such passkey", "remedy": ""})
        elif what == "show":
            say(sys.stdout, n=number, passkey={**row, "history": USES})
        elif what == "rename":
            row.update(userName=command["name"], userDisplayName=command.get("displayName", row["userDisplayName"]))
            say(sys.stdout, n=number, passkey=row)
        elif what == "manage" and STORY == "managed":
            say(sys.stdout, n=number, manage="https://example.com/passkeys?of=ada&sort=1")
        elif what == "manage":
            say(sys.stdout, n=number, error={"code": "no-passkey-page", "message": "the site names no page", "remedy": ""})
        elif what == "delete":
            if STORY == "declined":
                say(sys.stdout, n=number, error={"code": "declined", "message": "you declined", "remedy": ""})
            else:
                rows.remove(row)
                say(sys.stdout, n=number, passkey=row)
    sys.exit(0)


def scan(arguments):
    if "-" in arguments:
        code = sys.stdin.readline().strip()
        if not code.lower().startswith("fido:/"):
            fail(65, "bad-data", "this is no sign-in code")
        log(" ".join(arguments) + " " + code)
    event("state", state="tunnel-open", relay="cable.example")
    event("state", state="advertising")
    if STORY == "slow":
        wait()
    if STORY == "lost":
        fail(75, "client-not-nearby", "the device that shows the code did not find this one", "move closer")
    event("state", state="connected")
    event("state", state="asked", operation="sign-in")
    if STORY == "declined":
        fail(77, "declined", "you declined")
    event("state", state="answered")
    event("state", state="done")


def wait():
    """Waits until the app interrupts."""
    try:
        time.sleep(60)
    except KeyboardInterrupt:
        log("interrupted")
        fail(130, "interrupted", "interrupted")


def receive():
    event("request", operation="receive", timeout_ms=120000)
    event("qr", text="HYBRID:/" + "0912" + "73" * 82)
    event("state", state="scan")
    if STORY == "code":
        wait()
    event("state", state="giver-found")
    event("state", state="connecting", relay="cable.example")
    event("state", state="digits", digits="042117", peer="Bob's phone")
    event("passkeys", passkeys=[{"rpId": "example.com", "userName": "ada"}], of=7)
    if STORY == "digits":
        wait()
    event("state", state="stored", count="2", of="2")
    event("state", state="done")
    say(sys.stdout, **{"from": "Bob's phone", "added": 2, "present": [], "different": [], "leftOut": []})


def give(arguments):
    log(" ".join(arguments) + " " + sys.stdin.readline().strip())
    event("state", state="connected")
    event("state", state="digits", digits="042117", peer="Bob's phone")
    event("state", state="offered")
    event("state", state="stored", count="1", of="1")
    event("state", state="done")
    say(sys.stdout, to="Bob's phone", given=1, deleted=0, notStored=[], leftOut=[])


CHECKS = [
    ("system-bus", "ok", "the system's", ""), ("bluetooth-service", "ok", "BlueZ 5.82", ""),
    ("adapter", "ok", "hci0", ""), ("advertising", "ok", "permitted", ""),
    ("relay", "failed", "no answer", "check the network"), ("clock", "ok", "within 1 s", ""),
    ("vault", "ok", "real", ""), ("vault-slots", "warning", "no recovery code", "add one: hybrid-auth vault recovery-code"),
    ("notifications", "warning", "no server", ""), ("tpm", "skipped", "not used", ""),
]


def main():
    arguments = sys.argv[1:]
    command = [argument for argument in arguments if not argument.startswith("-") or argument == "-"]
    if command[:1] == ["scan"]:
        scan(arguments)
    elif command == ["receive"]:
        receive()
    elif command[:1] == ["give"]:
        give(arguments)
    elif command == ["passkeys", "session"]:
        session()
    elif command[:2] in (["links", "unmute"], ["links", "forget"], ["links", "rename"]):
        log(" ".join(arguments))
    elif command[:2] == ["links", "list"]:
        say(sys.stdout, links=[] if STORY == "empty" else [
            {"id": "aa" * 16, "name": "work laptop", "state": "active", "relay": "cable.example", "wakeUp": "connection",
             "created": NOW - 40 * DAY, "lastUsed": NOW - DAY},
            {"id": "bb" * 16, "name": "studio", "state": "muted", "relay": "cable.example", "wakeUp": "push",
             "created": NOW - 9 * DAY, "lastUsed": None}])
    elif command == ["doctor"]:
        for name, state, found, remedy in CHECKS:
            event("check", check=name, state=state, found=found, remedy=remedy)
        fail(69, "relay-unreachable", "the relay can't be reached")
    elif command == ["vault", "status"]:
        if STORY == "no-vault" and not os.path.exists(os.environ.get("FAKE_VAULT", "/nonexistent")):
            fail(66, "no-vault", "there is no vault", "create one: hybrid-auth vault init")
        say(sys.stdout, path="/v", id="ab", test=False, key=None, records=6, passphrases=0,
            recoveryCodes=0 if STORY == "" else 1, opensElsewhere=STORY != "", pin=STORY != "no-pin", tpm=False, wrongPINs=0,
            waitSeconds=0, lastBackup=None, rekeying=False, rekeyedElsewhere=False)
    elif command == ["vault", "tpm", "status"]:
        say(sys.stdout, protection="device-secret", tpm={"manufacturer": "IBM", "lockedOut": False}, error=None)
    elif command == ["vault", "finger", "status"]:
        say(sys.stdout, enabled=False, agent=True, secondsLeft=None, misses=None, sensor=None, fingers=[], problem=None)
    elif command == ["check-config"]:
        print(json.dumps([{"name": "tunnel-domain", "value": "cable.example", "source": "file",
                           "file": "/etc/hybrid/auth.env", "line": 1}]))
    elif command[:2] == ["vault", "backup"]:
        log(" ".join(arguments))
        say(sys.stdout, file=arguments[-1], key=BACKUP_KEY)
    elif command == ["vault", "change-pin"] or command[:1] in (["import"], ["export"]):
        log(" ".join(arguments))
    elif command[:1] == ["setup"]:
        log(" ".join(arguments))
        for state in ["checking", "works", "saved"]:
            event("state", state=state)
    elif command == ["vault", "init"] and "FAKE_VAULT" in os.environ:
        with open(os.environ["FAKE_VAULT"], "w", encoding="utf-8"):
            pass


main()
