# SPDX-License-Identifier: Apache-2.0
"""The table: each figure is a ratio to the limit's in the same round, so that a busy machine has less effect."""
import statistics

from .works import WORKS, in_order, reference


def usable(row):
    return "error" not in row and row["failed"] == 0


def by_round(rows, work, peer, key):
    return {(row["run"], row["round"]): row[key] for row in rows
            if row["work_name"] == work and row["peer"] == peer and usable(row)}


def spread(values, digits):
    middle = statistics.median(values)
    if len(values) == 1:
        return f"{middle:.{digits}f}"
    return f"{middle:.{digits}f} ({min(values):.{digits}f}–{max(values):.{digits}f})"


def cpu_cell(rows, work, peer, key, base):
    own, limit = by_round(rows, work, peer, key), by_round(rows, work, base, key)
    ratios = [own[one] / limit[one] for one in own if one in limit and limit[one] > 0]
    return spread(ratios, 2) if ratios else "–"


def memory_cell(rows, work, peer, key):
    values = list(by_round(rows, work, peer, key).values())
    return spread(values, 1) if values else "–"


def failures(rows, work, peer):
    return sum(row.get("failed", 1) for row in rows if row["work_name"] == work and row["peer"] == peer)


def row_cells(rows, work, key, suffix, peers):
    """Returns the cells of one row; the first two are its name and the value of 1.00."""
    details = WORKS[work]
    base = reference(work, peers)
    if details.memory:
        cells = [details.title + suffix, ""]
        cells += [memory_cell(rows, work, peer, key) for peer in peers]
    else:
        values = list(by_round(rows, work, base, key).values())
        cells = [details.title + suffix, f"{statistics.median(values):.1f} µs" if values else "–"]
        cells += [cpu_cell(rows, work, peer, key, base) for peer in peers]
    return cells


def problem_lines(rows):
    seen = {}
    for row in rows:
        what = row.get("error") or ", ".join(f"{reason} ({count})" for reason, count in row.get("reasons", {}).items())
        if what:
            seen.setdefault((row["work_name"], row["peer"], what), []).append(row["round"])
    for (work, peer, what), rounds in seen.items():
        yield f"{work}, {peer}, round {', '.join(map(str, rounds))}: {what}"
    for row in rows:
        if usable(row) and WORKS[row["work_name"]].resumed and row["resumed"] < row["count"]:
            yield f"{row['work_name']}, {row['peer']}: only {row['resumed']:.0f} connections were resumed"


def print_table(rows):
    peers = in_order({row["peer"] for row in rows})
    works = [work for work in WORKS if any(row["work_name"] == work for row in rows)]
    print("| server CPU per unit, as a ratio | 1.00 is | " + " | ".join(peers) + " |")
    print("|---" * (len(peers) + 2) + "|")
    for work in works:
        for key, suffix in WORKS[work].figures:
            print("| " + " | ".join(row_cells(rows, work, key, suffix, peers)) + " |")
    failed = [str(sum(failures(rows, work, peer) for work in works)) for peer in peers]
    print("| failed tunnels | | " + " | ".join(failed) + " |")
    suites = {peer: sorted({row["suite"] for row in rows if row["peer"] == peer and usable(row)
                            and WORKS[row["work_name"]].tls}) for peer in peers}
    print()
    if any(suites.values()):
        print("Suites: " + "; ".join(f"{peer} {', '.join(names)}" for peer, names in suites.items() if names) + ".")
    for line in problem_lines(rows):
        print(line)
