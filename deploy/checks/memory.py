# SPDX-License-Identifier: Apache-2.0
"""Checks that the memory limits of unit and manifests follow from the bound in docs/operations.md.

    memory.py

The table "Memory" has the parts; the relay's limits are those of deploy/systemd/relay.env and of the manifests.
"""

import math
import pathlib
import re
import sys

DEPLOY = pathlib.Path(__file__).resolve().parent.parent
UNITS = {"K": 1 / 1024, "M": 1, "G": 1024}
problems = []


def expect(what: str, wanted: int, found: int) -> None:
    if wanted != found:
        problems.append(f"{what}: expected {wanted} MiB; found {found}")


def mebibytes(text: str) -> float:
    """Returns a size such as 256M, 256Mi or 264 KiB in MiB."""
    number, unit = re.fullmatch(r"([\d.]+)\s*([KMG])i?B?", text.strip("* ")).groups()
    return float(number) * UNITS[unit]


def table(heading: str) -> list:
    """Returns the first table after a line, without its header, as rows of cells."""
    lines = (DEPLOY.parent / "docs/operations.md").read_text(encoding="utf-8").split(heading)[1].splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("|"))
    rows = []
    for line in lines[start + 2:]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


def found(pattern: str, file: str) -> str:
    return re.search(pattern, (DEPLOY / file).read_text(encoding="utf-8"), re.M)[1]


def main() -> int:
    settings = "systemd/relay.env"
    buffered = mebibytes(found(r"^#?HYBRID_MAX_BUFFERED=(.*)$", settings))
    connections = int(found(r"^#?HYBRID_MAX_CONNECTIONS=(.*)$", settings))
    if "--max-" in (DEPLOY / "kubernetes/relay.yaml").read_text(encoding="utf-8"):
        problems.append("kubernetes/relay.yaml: expected the default limits, which the table is for")
    rows = table("\n## Memory\n")
    sums = []
    for column, name in ((1, "relay with TLS"), (2, "relay behind a balancer")):
        program, held, one, all_of_them, bound, kernel, total = (mebibytes(row[column]) for row in rows)
        expect(f"{name}, MAX_BUFFERED", buffered, held)
        expect(f"{name}, MAX_CONNECTIONS", math.ceil(connections * one), all_of_them)
        expect(f"{name}, bound", program + held + all_of_them, bound)
        expect(f"{name}, sum", bound + kernel, total)
        sums.append(total)
    one = mebibytes(rows[2][1])
    for _, tunnels, held, bound in table("\nA machine with less memory"):
        wanted = math.ceil(mebibytes(rows[0][1]) + mebibytes(held) + (2 * int(tunnels) + 1000) * one)
        expect(f"{tunnels} tunnels, bound", wanted, mebibytes(bound))
    unit = "systemd/hybrid-relay.service"
    expect("MemoryHigh", sums[0], mebibytes(found(r"^MemoryHigh=(.*)$", unit)))
    expect("MemoryMax", math.ceil(sums[0] * 9 / 8), mebibytes(found(r"^MemoryMax=(.*)$", unit)))
    limit = r"limits:\n(?:\s*#.*\n)*\s*memory: (.*)$"
    expect("the relay's limit in Kubernetes", sums[1], mebibytes(found(limit, "kubernetes/relay.yaml")))
    for problem in problems:
        print(f"memory: {problem}", file=sys.stderr)
    if not problems:
        print(f"the limits follow from {sums[0]:.0f} and {sums[1]:.0f} MiB")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
