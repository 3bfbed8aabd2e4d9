# SPDX-License-Identifier: Apache-2.0
"""What relays wrote, searched for what must never be written: who somebody is, and which tunnel was theirs."""
import re

from relay import NODE
from waiting import Failed, require

PATTERNS = (("an IPv4 address", re.compile(r"(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?![\d.])")),
            ("a tunnel ID", re.compile(r"(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])")),
            ("a routing ID", re.compile(rf"(?<![0-9a-f]){NODE:04x}[0-9a-f]{{2}}(?![0-9a-f])")))
# The relay's own addresses, which the operator has given.
OWN = re.compile(r"(?:admin )?listening on 127\.0\.0\.1:\d+")


def search(folder, load):
    """Looks through every log, and every last answer of /metrics, in the folder; returns lines and tunnels seen."""
    lines = tunnels = 0
    for file in sorted([*folder.glob("*.log"), *folder.glob("*.metrics")]):
        text = OWN.sub("listening", file.read_text(encoding="utf-8", errors="replace")).lower()
        lines += text.count("\n")
        tunnels += text.count("tunnel ended")
        for what, pattern in PATTERNS:
            if match := pattern.search(text):
                raise Failed(f"{file.name} shows {what}: {_line(text, match.start())}")
        for secret in (*load.secrets, *load.addresses):
            at = text.find(secret.lower())
            require(at < 0, f"{file.name} shows {secret}: {_line(text, at)}")
    require(tunnels > 0, "no log says that a tunnel ended, so there was nothing to search")
    return lines, tunnels


def _line(text, at):
    return text[text.rfind("\n", 0, at) + 1:].partition("\n")[0]
