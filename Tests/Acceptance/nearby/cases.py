# SPDX-License-Identifier: Apache-2.0
"""Cases of transfers, one function each. They raise Failed with what was expected and found."""
import json
import os
import re
import signal

import transfer
from environment import FULL_DISK, LIMIT, ORIGIN, RECEIVER, Run
from harness.waiting import must
from hostile import hostile_givers, hostile_receivers
from killed import killed_givers, killed_receivers
from killed_programs import CASES as KILLED_PROGRAMS


def one(env):
    """One passkey that a site has seen being created; both histories name the other side, and the copy signs in."""
    giver, receiver = env.device("ada").with_passkeys("other@example.com"), env.device("bob")
    options = env.site.creation_options(account="ada@example.com")
    client = show_code(env, options)
    env.ended(giver.scan(code_of(env, client)))
    env.ended(client)
    env.site.verify_creation(response_of(client), options["challenge"])
    giving, receiving = env.transfer(giver, receiver, "localhost")
    must(giving.result == {"to": receiver.name, "given": 1, "deleted": 0, "notStored": [], "leftOut": []},
         f"expected one given passkey; found {giving.result}")
    must(receiving.result == {"from": giver.name, "added": 1, "present": [], "different": [], "leftOut": []},
         f"expected one received passkey; found {receiving.result}")
    uses = giver.history[0], receiver.history[0]
    must([(use["operation"], use["peer"]) for use in uses] == [("give", receiver.name), ("receive", giver.name)],
         f"expected both histories to name the other side; found {uses}")
    must(receiver.passkeys == ["ada@example.com"] and giver.passkeys == ["ada@example.com", "other@example.com"],
         f"expected a copy; found {giver.passkeys} and {receiver.passkeys}")
    options = env.site.request_options(allow="any")
    client = show_code(env, options)
    env.ended(receiver.scan(code_of(env, client)))
    env.ended(client)
    env.site.verify_request(response_of(client), options["challenge"])
    # Again: nothing changes.
    giving, receiving = env.transfer(giver, receiver, "localhost")
    must(receiving.result["added"] == 0 and len(receiving.result["present"]) == 1, f"found {receiving.result}")


def move(env):
    """Two hundred passkeys move, and move back again."""
    accounts = sorted(f"user{number:03}@example.com" for number in range(200))
    giver, receiver = env.device("old").with_passkeys(*accounts), env.device("new").with_passkeys()
    giving, receiving = env.transfer(giver, receiver, "--all", "--move")
    must((giving.result["given"], giving.result["deleted"], receiving.result["added"]) == (200, 200, 200),
         f"found {giving.result} and {receiving.result}")
    must(giver.passkeys == [] and receiver.passkeys == accounts, "expected all passkeys to have moved")
    last = giving.event("stored")
    must(last["count"] == last["of"] == "200", f"expected the last batch; found {last}")
    # One of them back: a deleted passkey may return.
    name = receiver.command("passkeys", "list", "--json")["passkeys"][0]
    env.transfer(receiver, giver, name["id"], "--move")
    must(giver.passkeys == [name["userName"]] and len(receiver.passkeys) == 199, "expected one passkey to be back")
    return f"{len(accounts)} passkeys, the last stored {last['elapsed_ms'] / 1000:.1f} s after the scan"


def join(env):
    """A new device joins the vault, waits for its files, and changes it."""
    old, new = env.device("old").with_passkeys("ada@example.com"), env.device("new")
    joining = new.join()
    giving = old.give(joining.code)
    env.ended(giving)
    waiting = joining.event("waiting-for-files")
    must(waiting["of"] == "1" and joining.status is None, f"expected it to wait for the files; found {waiting}")
    old.sync_to(new)
    env.ended(joining)
    must(joining.result["complete"] and joining.result["key"] == giving.result["key"],
         f"expected the same key on both devices; found {joining.result} and {giving.result}")
    must(new.passkeys == ["ada@example.com"], f"found {new.passkeys}")
    new.add("bob@example.com")
    new.sync_to(old)
    must(old.passkeys == ["ada@example.com", "bob@example.com"], f"found {old.passkeys}")
    # Both devices have the same vault now: a move between them would delete the passkeys everywhere.
    receiving = new.receive()
    giving = old.give(receiving.code, "--all", "--move")
    env.ended(giving, 64, "both devices have the same vault")
    env.ended(receiving, 64)
    must(old.passkeys == ["ada@example.com", "bob@example.com"], f"found {old.passkeys}")


def python_receiver(env):
    """Our giver, and transfer.py."""
    giver = env.device("ada").with_passkeys("ada@example.com", "bob@example.com")
    receiving = env.python("receive")
    giving = giver.give(receiving.code, "--all", "--move")
    env.ended(giving)
    env.ended(receiving)
    must(giver.passkeys == [] and giving.result["deleted"] == 2, f"found {giving.result}")


def python_giver(env):
    """transfer.py, and our receiver."""
    receiver = env.device("bob").with_passkeys()
    receiving = receiver.receive()
    giving = env.python("give", "--new", "70", text=receiving.code + "\n")
    env.ended(receiving)
    env.ended(giving)
    must(receiving.result["added"] == 70 and len(receiver.passkeys) == 70, f"found {receiving.result}")


def refused(env):
    """A user who sees other digits, on either side: nothing leaves, and nothing is stored."""
    giver, receiver = env.device("ada").with_passkeys("ada@example.com"), env.device("bob").with_passkeys()
    before = giver.questions
    receiving = receiver.receive()
    giving = giver.give(receiving.code, "--all", answer="no")
    env.ended(giving, 77, "you did not confirm the digits")
    env.ended(receiving, 77, "its user did not confirm the digits")
    must(giver.questions == before + 1, "expected one question, about the digits, and no PIN")
    must("passkeys" not in [event["event"] for event in receiving.events if "event" in event],
         "expected no name of a site to leave")
    receiving = receiver.receive(answer="no")
    giving = giver.give(receiving.code, "--all", "--move")
    env.ended(receiving, 77)
    env.ended(giving, 77, "declined")
    must(receiver.passkeys == [] and giver.passkeys == ["ada@example.com"], "expected nothing to change")


def stranger(env):
    """Another person scans the code first: the digits on the screens differ, so the receiver's user declines."""
    giver, receiver = env.device("ada").with_passkeys("ada@example.com"), env.device("bob").with_passkeys()
    receiving = receiver.receive(answer="no")
    code = receiving.code
    thief = env.python("give", "--name", giver.name, text=code + "\n")
    env.ended(receiving, 77)
    env.ended(thief, 1)
    giving = giver.give(code, "--all", "--timeout", "2")
    env.ended(giving, 75, "another device has used it")
    must(receiver.passkeys == [] and giver.passkeys == ["ada@example.com"], "expected nothing to change")


def codes(env):
    """Codes of the other kind, damaged and foreign ones: the sentence names the right command."""
    giver, receiver = env.device("ada").with_passkeys("ada@example.com"), env.device("bob").with_passkeys()
    client = show_code(env, env.site.request_options(allow="any"))
    sign_in = code_of(env, client)
    env.ended(giver.give(sign_in, "--all"), 65, "hybrid-auth scan")
    client.kill()
    receiving = receiver.receive()
    code = receiving.code
    env.ended(giver.scan(code), 65, "hybrid-auth give")
    env.ended(giver.give(code[:-1], "--all"), 65, "damaged")
    env.ended(giver.give("https://example.com", "--all"), 65, "HYBRID:/")
    receiving.kill()
    joining = env.device("new").join()
    env.ended(giver.give(joining.code, "--all"), 64, "wants to join this vault")
    joining.kill()
    # An image shows the code, too.
    image = env.folder.scratch / f"code-{env.number()}.png"
    receiving = receiver.receive("--show", image)
    receiving.event("scan")
    giving = giver.start("give", "--all", "--image", image, "--json", "--adapter", "hci1", "--tunnel-domain", "266",
                         *env.route)
    env.ended(giving)
    env.ended(receiving)
    must(receiver.passkeys == ["ada@example.com"] and not image.exists(), "expected one passkey, and no image")


def window(env):
    """The program of a window gets what the receiver reports; a cancellation there, its end and its absence end the command."""
    giver, receiver = env.device("ada").with_passkeys("ada@example.com"), env.device("bob").with_passkeys()
    seen = env.folder.scratch / f"window-{env.number()}.jsonl"

    def receive(script):
        program = env.folder.scratch / f"window-{env.number()}"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o700)
        return receiver.start("receive", "--show", "window", "--prompt", program, "--adapter", RECEIVER, *env.route)

    receiving = receive(f"tee {seen} >&2")
    env.ended(giver.give(receiving.code, "--all"))
    env.ended(receiving)
    # The program of the window outlives the receiver.
    env.waiting.until("the window's last event", lambda: '"done"' in seen.read_text(), LIMIT)
    told = [json.loads(line) for line in seen.read_text().splitlines()]
    must(told[0]["event"] == "request" and told[0]["operation"] == "receive" and told[0]["timeout_ms"] == 120_000,
         f"expected the purpose first; found {told[0]}")
    states = [event["state"] for event in told if event["event"] == "state"]
    expected = ["scan", "giver-found", "connecting", "digits", "stored", "done"]
    must([name for name in states if name in expected] == expected, f"expected {expected}; found {states}")
    must(receiver.passkeys == ["ada@example.com"], f"found {receiver.passkeys}")
    env.ended(receive("grep -q scan && echo cancel"), 130)
    env.ended(receive("exec true"), 130)
    env.ended(receiver.start("receive", "--show", "window", "--prompt", env.folder.scratch / "none"), 69,
              "install hybrid-prompt")


def interrupted(env):
    """Ctrl-C when everything is stored, but the giver has not said goodbye: the receiver still says what it has."""
    receiver = env.device("bob").with_passkeys()
    receiving = receiver.receive()
    giving = env.python("give", "--new", "2", "--fault", transfer.SILENT_END, text=receiving.code + "\n")
    env.waiting.until("both passkeys to be stored",
                      lambda: any(event["count"] == event["of"] for event in receiving.has("stored")), LIMIT)
    os.kill(receiving.pid, signal.SIGINT)
    env.ended(receiving)
    must(receiving.result["added"] == 2, f"expected the result; found {receiving.said()}")
    receiving.event("not-confirmed")
    giving.kill()


def withheld(env):
    """SSH keys are named and left out; with --ssh they are given."""
    giver, receiver = env.device("ada").with_passkeys("ada@example.com"), env.device("bob").with_passkeys()
    giver.add("key", site="ssh:work")
    giving, _ = env.transfer(giver, receiver, "--all")
    must([item["reason"] for item in giving.result["leftOut"]] == ["ssh-key"], f"found {giving.result}")
    must(receiver.passkeys == ["ada@example.com"], f"found {receiver.passkeys}")
    env.transfer(giver, receiver, "ssh:work", "--ssh")
    must(receiver.passkeys == ["ada@example.com", "key"], f"found {receiver.passkeys}")
    receiving = receiver.receive()
    env.ended(giver.give(receiving.code, "nowhere.example"), 77, "passkeys list shows")
    env.ended(receiving, 75, "it failed there")


def files(env):
    """The same without Bluetooth: a request, a file that only its author opens, and the receiver's vault."""
    giver, receiver = env.device("ada").with_passkeys("ada@example.com"), env.device("bob").with_passkeys()
    request, gift = env.folder.scratch / "request.json", env.folder.scratch / "gift.json"
    asked = receiver.command("receive", "--request", request, "--json")
    given = giver.command("give", "--all", "--to", gift, "--for", request, "--json")
    must(given["given"] == 1 and re.fullmatch(r"(\d{5} ){5}\d{5}", asked["digits"]), f"found {asked} and {given}")
    must(b"ada@example" not in gift.read_bytes() and b"example.com" not in gift.read_bytes(),
         "expected a sealed file")
    other = env.device("eve").with_passkeys()
    done = other.command("receive", "--from", gift, check=False)
    must(done.returncode == 65 and "answers no request" in done.stderr, f"found {done.stderr}")
    received = receiver.command("receive", "--from", gift, "--json")
    must(received["added"] == 1 and receiver.passkeys == ["ada@example.com"], f"found {received}")
    again = receiver.command("receive", "--from", gift, "--json")
    must(again["added"] == 0 and len(again["present"]) == 1, f"found {again}")
    broken = bytearray(gift.read_bytes())
    broken[len(broken) // 2] ^= 1
    gift.write_bytes(bytes(broken))
    done = receiver.command("receive", "--from", gift, check=False)
    must(done.returncode == 65, f"expected the changed file to be refused; found {done}")
    done = giver.command("give", "--all", "--move", "--to", gift, "--for", request, check=False)
    must(done.returncode == 64, f"expected --move to be refused; found {done}")


def disk_full(env):
    """The receiver's disk is full: nothing is stored there, nothing is deleted here, and the other side is told."""
    giver, receiver = env.device("ada").with_passkeys("ada@example.com", "bob@example.com"), env.device("bob")
    receiver.with_passkeys()
    receiving = receiver.receive(prefix=FULL_DISK)
    giving = giver.give(receiving.code, "--all", "--move")
    env.ended(receiving, 74, "can't be written")
    env.ended(giving, 74, "no room")
    must(receiver.records() == set() and receiver.passkeys == [], "expected nothing to be stored")
    must(giver.passkeys == ["ada@example.com", "bob@example.com"], f"expected nothing to be deleted; found {giver.passkeys}")
    env.transfer(giver, receiver, "--all", "--move")
    must(receiver.passkeys == ["ada@example.com", "bob@example.com"] and giver.passkeys == [], "expected all to move")


def relay_log(env):
    """The relay's log, at its most talkative, has no name, no site and no digits of any transfer before."""
    said = env.relay.program.said()
    for word in ("example.com", "ada@", "user001", "HYBRID:/", "passkey", "hello", "credential"):
        must(word not in said, f"expected no {word!r} in the relay's log")
    must("tunnel" in said, "expected the relay's log to have tunnels")


def show_code(env, options):
    """Starts a website's request."""
    number = env.number()
    request = env.folder.scratch / f"request-{number}.json"
    request.write_text(json.dumps({"publicKey": options}))
    argv = [env.programs.client, "show-qr", "--json", "--request", request, "--origin", ORIGIN, "--adapter", RECEIVER,
            "--no-phones", *env.route]
    return env.keep(Run("hybrid-client", argv, env, log=env.folder.path(f"client-{number}.log"),
                        environment=env.environment(XDG_STATE_HOME=str(env.folder.scratch / f"client-{number}"))))


def code_of(env, client):
    """Waits for the code of a website's request."""
    found = env.waiting.until("a sign-in code", lambda: re.findall(r"FIDO:/\d+", client.said()), LIMIT)
    return found[-1]


def response_of(client):
    """Returns the response for the website."""
    return next(event for event in client.events if "rawId" in event)


# The long ones first, so that none of them runs alone at the end. Only `move` prints a time, and `relay-log` reads what all others
# have left.
CASES = {
    "move": move, "hostile-givers": hostile_givers, "hostile-receivers": hostile_receivers,
    "killed-receivers": killed_receivers, "killed-givers": killed_givers, **KILLED_PROGRAMS, "one": one, "join": join,
    "interrupted": interrupted, "withheld": withheld, "window": window, "disk-full": disk_full, "files": files, "refused": refused, "stranger": stranger, "codes": codes,
    "python-receiver": python_receiver, "python-giver": python_giver, "relay-log": relay_log,
}
ALONE = ("move", "relay-log")
