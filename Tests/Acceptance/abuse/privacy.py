# SPDX-License-Identifier: Apache-2.0
"""Search of the relays' logs and metrics for data that identifies a user or a tunnel."""
import re

from harness.async_waiting import Failed, require
from harness.relay_process import NODE

PATTERNS = (("an IPv4 address", re.compile(r"(?<![\d.])\d{1,3}(?:\.\d{1,3}){3}(?![\d.])")),
            ("a tunnel ID", re.compile(r"(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])")),
            ("a routing ID", re.compile(rf"(?<![0-9a-f]){NODE:04x}[0-9a-f]{{2}}(?![0-9a-f])")))
# The relay's own addresses, which the operator configured.
OWN = re.compile(r"(?:admin )?listening on 127\.0\.0\.1:\d+")


def search(folder, load):
    """Searches every log, and the last /metrics of each relay, in the folder; returns the number of lines and of
    tunnels.
    """
    lines = tunnels = 0
    for file in sorted([*folder.glob("*.log"), *folder.glob("*.metrics")]):
        text = OWN.sub("listening", file.read_text(encoding="utf-8", errors="replace")).lower()
        lines += text.count("\n")
        tunnels += text.count("tunnel ended")
        for what, pattern in PATTERNS:
            if match := pattern.search(text):
                raise Failed(f"{file.name} contains {what}: {_line(text, match.start())}")
        for secret in (*load.secrets, *load.addresses):
            at = text.find(secret.lower())
            require(at < 0, f"{file.name} contains {secret}: {_line(text, at)}")
    require(tunnels > 0, "expected log lines about ended tunnels; found none, so the search is void")
    return lines, tunnels


def _line(text, at):
    return text[text.rfind("\n", 0, at) + 1:].partition("\n")[0]
