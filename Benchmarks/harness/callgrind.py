# SPDX-License-Identifier: Apache-2.0
"""Counts instructions with valgrind's callgrind, in total and by symbol."""
import json
import re
import subprocess

from . import tools
from .servers import Server, end_with_parent

# Under valgrind everything takes fifty times as long.
PATIENCE_SECONDS = 300


def copy_without_debug_info(program):
    """Copies a program without debug information, which valgrind reads for minutes and partly rejects; symbols
    suffice.
    """
    copy = tools.BUILD / (program.name + ".stripped")
    done = subprocess.run(["strip", "--strip-debug", "-o", copy, program], capture_output=True, text=True)
    if done.returncode:
        raise tools.Stop(66, f"cannot copy {program}: {done.stderr.strip()}")
    return copy


def count(peer, commands, cpus, load, words, tls, name):
    """Runs one server under callgrind with one load; returns the path of callgrind's output."""
    output = tools.BUILD / f"callgrind.{name}"
    output.unlink(missing_ok=True)
    wrapper = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={output}"]
    with Server(peer, commands, cpus, tls, wrapper) as server:
        words = [load, *words, "--port", server.port, "--patience", PATIENCE_SECONDS, *(["--tls"] if tls else [])]
        done = subprocess.run([str(word) for word in words], capture_output=True, text=True,
                              preexec_fn=end_with_parent)
        if done.returncode:
            try:
                why = ", ".join(json.loads(done.stdout)["reasons"])
            except (ValueError, KeyError):
                why = done.stderr.strip()
            raise tools.Stop(1, f"the load failed: {why}")
        server.stop(PATIENCE_SECONDS)
    if not output.exists():
        raise tools.Stop(70, f"callgrind did not write {output}; see {server.log_path}")
    return output


def total(output):
    found = re.search(r"^(?:summary|totals): (\d+)", output.read_text(errors="replace"), re.MULTILINE)
    if not found:
        raise tools.Stop(70, f"expected a total in {output}; found none")
    return int(found.group(1))


def by_symbol(output, inclusive):
    done = subprocess.run(["callgrind_annotate", "--threshold=100", f"--inclusive={'yes' if inclusive else 'no'}",
                           "--auto=no", output], capture_output=True, text=True)
    costs = {}
    for line in done.stdout.splitlines():
        found = re.match(r"\s*([\d,]+) \([^)]*\)\s+(\S.*)$", line)
        if not found or "PROGRAM TOTALS" in line:
            continue
        # "file:symbol [object]"; deeper levels of a recursion have a number in their names.
        symbol = re.sub(r" \[[^]]*\]$", "", found.group(2)).partition(":")[2]
        symbol = re.sub(r"'\d+$", "", symbol)
        costs[symbol] = costs.get(symbol, 0) + int(found.group(1).replace(",", ""))
    return costs


def demangled(symbols):
    """Demangles and shortens Swift's names."""
    try:
        done = subprocess.run(["swift", "demangle", "--simplified", "--compact"], input="\n".join(symbols) + "\n",
                              capture_output=True, text=True)
    except OSError:
        return symbols
    lines = done.stdout.splitlines()
    return lines if len(lines) == len(symbols) else symbols


def print_profile(first, second, units, lines, inclusive):
    """Returns the difference between the second run and the first, for each unit of work."""
    before, after = by_symbol(first, inclusive), by_symbol(second, inclusive)
    costs = {symbol: (cost - before.get(symbol, 0)) / units for symbol, cost in after.items()}
    top = sorted(costs, key=costs.get, reverse=True)[:lines]
    print(f"\n{'Inclusive' if inclusive else 'Self'}, instructions by symbol:")
    for symbol, name in zip(top, demangled(top)):
        print(f"{costs[symbol]:12,.0f}  {name[:150]}")
