# SPDX-License-Identifier: Apache-2.0
"""Compares the metrics named in alerts, their tests and the dashboard with the existing ones.

    metrics.py [--metrics FILE] [--rules OUTPUT]

deploy/prometheus/metrics.txt lists the metrics. With --metrics, the list is also compared with a relay's /metrics.
--rules writes the dashboard's expressions as recording rules, so that promtool can check their syntax.
"""

import argparse
import json
import pathlib
import re
import sys

import strict_yaml

DEPLOY = pathlib.Path(__file__).resolve().parent.parent
# Names of these families anywhere in an expression. Prometheus itself adds `up`.
NAME = re.compile(r"\b(?:hybrid_relay|hybrid_probe|haproxy|process)_[a-z0-9_]+\b|\bhybrid:[a-z0-9_:]+\b|\bup\b")
SELECTOR = re.compile(r"(\b[a-z_][a-z0-9_]*)\{([^}]*)\}")
MATCHER = re.compile(r'([a-z_]+)\s*(=~|!~|!=|=)\s*"((?:[^"\\]|\\.)*)"')
GROUPING = re.compile(r"\b(?:by|without|on|ignoring)\s*\(([^)]*)\)")
# Labels added by Prometheus, not by the relay.
SCRAPED = {"job", "instance"}
# Present only with a token file or with TLS.
LATER = {
    "hybrid_relay_new_by_token_total",
    "hybrid_relay_certificate_expiry_timestamp_seconds",
    "hybrid_relay_certificate_suspect",
}


class Metric:
    """A metric's type and the values of its labels. None means any value."""

    def __init__(self, kind: str, labels: dict):
        self.kind = kind
        self.labels = labels


def contract(file: str) -> dict:
    """Returns the metrics listed in a file; a histogram has three names."""
    metrics = {}
    for line in (DEPLOY / "prometheus" / file).read_text(encoding="utf-8").splitlines():
        if not line or line.startswith("#"):
            continue
        kind, name, *labels = line.split()
        values = dict(label.split("=", 1) for label in labels)
        values = {k: None if v == "*" else set(v.split(",")) for k, v in values.items()}
        if kind == "histogram":
            for part in ("_sum", "_count"):
                metrics[name + part] = Metric("counter", values)
            name, kind, values = name + "_bucket", "counter", {**values, "le": None}
        metrics[name] = Metric(kind, values)
    return metrics


def exposition(text: str) -> dict:
    """Returns the metrics in a relay's /metrics."""
    metrics = {}
    for line in text.splitlines():
        if line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ", 3)
            metrics[name] = Metric(kind, {})
        elif line and not line.startswith("#"):
            name = re.match(r"[a-zA-Z_:][a-zA-Z0-9_:]*", line).group()
            if name not in metrics:
                raise SystemExit(f"metrics: {name} has no TYPE line before it")
            for label, _, value in MATCHER.findall(line[len(name):].rsplit("}", 1)[0]):
                metrics[name].labels.setdefault(label, set()).add(value)
    if not metrics:
        raise SystemExit("metrics: the file names no metric")
    return metrics


def compare(listed: dict, shown: dict) -> list:
    """Returns the differences between metrics.txt and a relay."""
    problems = []
    for name, metric in shown.items():
        if name not in listed:
            problems.append(f"the relay shows {name}, which metrics.txt does not list")
            continue
        if metric.kind != listed[name].kind:
            problems.append(f"{name} is a {metric.kind} and not a {listed[name].kind}")
        for label, values in metric.labels.items():
            known = listed[name].labels.get(label, set())
            if known is not None and values - known:
                problems.append(f"{name} shows {label}={', '.join(sorted(values - known))}, which is not listed")
    for name, metric in listed.items():
        if name not in shown:
            if name not in LATER:
                problems.append(f"metrics.txt lists {name}, which the relay does not show")
            continue
        for label, values in metric.labels.items():
            # increase() does not see the step from an absent series to 1, so every series must exist from the start.
            absent = (values or set()) - shown[name].labels.get(label, set())
            if absent:
                problems.append(f"{name} is not shown for {label}={', '.join(sorted(absent))}")
    return problems


def check(expression: str, where: str, listed: dict) -> list:
    """Returns the errors in the names of an expression."""
    problems = []
    names = set(NAME.findall(expression))
    if not names:
        problems.append(f"{where}: names no metric of the relay: {expression}")
    for name in sorted(names - {"up"} - set(listed)):
        problems.append(f"{where}: there is no metric {name}")
    for name, selector in SELECTOR.findall(expression):
        if name not in listed:
            continue
        for label, operator, value in MATCHER.findall(selector):
            values = listed[name].labels.get(label, set())
            if label in SCRAPED:
                continue
            if label not in listed[name].labels:
                problems.append(f"{where}: {name} has no label {label}")
            elif operator in ("=", "!=") and values is not None and value not in values:
                problems.append(f"{where}: {name} is never {label}={value}")
    labels = set().union(*(listed[name].labels for name in names if name in listed), SCRAPED)
    for group in GROUPING.findall(expression):
        for label in filter(None, (part.strip() for part in group.split(","))):
            if label not in labels:
                problems.append(f"{where}: nothing there has a label {label}")
    for name in names & set(listed):
        called = re.search(r"\b(rate|increase)\(\s*" + name, expression)
        if (listed[name].kind == "counter") != bool(called):
            problems.append(f"{where}: {name} is a {listed[name].kind}: rate() and increase() are for counters only")
    return problems


def runbook(alert: str, page: str) -> bool:
    """Returns true if a table names the alert, also by its end after an ellipsis."""
    for line in page.splitlines():
        if not line.startswith("| `HybridRelay"):
            continue
        first, *others = re.findall(r"`([^`]+)`", line.split("|")[1])
        stems = [first[:end] for end in range(len("HybridRelay"), len(first) + 1)]
        if alert == first or any(alert == stem + other.removeprefix("…") for other in others for stem in stems):
            return True
    return False


def main() -> int:
    options = argparse.ArgumentParser()
    options.add_argument("--metrics", type=pathlib.Path)
    options.add_argument("--rules", type=pathlib.Path)
    options = options.parse_args()

    listed, problems = contract("metrics.txt"), []
    if options.metrics:
        shown = exposition(options.metrics.read_text(encoding="utf-8"))
        problems += compare(listed, shown)

    listed |= contract("probe-metrics.txt") | contract("haproxy-metrics.txt")
    files = [strict_yaml.document(DEPLOY / f"prometheus/{name}.yml") for name in ("alerts", "objectives")]
    recorded = [rule for file in files for group in file["groups"] for rule in group["rules"] if "record" in rule]
    # They have the labels of what they are made of, which promtool's tests show.
    listed |= {rule["record"]: Metric("gauge", {"region": None}) for rule in recorded}
    for rule in recorded:
        problems += check(rule["expr"], f"rule {rule['record']}", listed)
    rules = [rule for file in files for group in file["groups"] for rule in group["rules"] if "alert" in rule]
    for rule in rules:
        problems += check(rule["expr"], f"alert {rule['alert']}", listed)
    page = (DEPLOY.parent / "docs/operations.md").read_text(encoding="utf-8")
    for rule in rules:
        if not runbook(rule["alert"], page):
            problems.append(f"docs/operations.md: no row says what to do about {rule['alert']}")

    cases = [case for name in ("alerts", "objectives")
             for case in strict_yaml.document(DEPLOY / f"prometheus/{name}_test.yml")["tests"]]
    for case in cases:
        for series in case["input_series"]:
            name = series["series"].split("{")[0]
            if name != "up" and name not in listed:
                problems.append(f"alerts_test.yml: there is no metric {name}")
    fired = {test["alertname"] for case in cases for test in case["alert_rule_test"] if test.get("exp_alerts")}
    quiet = {test["alertname"] for case in cases for test in case["alert_rule_test"] if not test.get("exp_alerts")}
    names = {rule["alert"] for rule in rules}
    for name in sorted(names ^ fired | names ^ quiet):
        problems.append(f"alerts_test.yml: {name} needs a case in which it fires and one in which it does not")

    dashboard = json.loads((DEPLOY / "grafana/dashboard.json").read_text(encoding="utf-8"))
    ids = [panel["id"] for panel in dashboard["panels"]]
    if len(ids) != len(set(ids)):
        problems.append("dashboard: two panels have the same id")
    expressions = []
    for panel in dashboard["panels"]:
        for target in panel.get("targets", []):
            expressions.append(target["expr"])
            problems += check(target["expr"], f"dashboard, {panel['title']}", listed)
            for label in re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]):
                if label != "instance" and label not in target["expr"]:
                    problems.append(f"dashboard, {panel['title']}: the legend names {label}, the expression does not")
    used = " ".join(expressions + [rule["expr"] for rule in rules + recorded])
    unused = {name for name in listed if NAME.fullmatch(name) and not name.endswith("_sum")} - set(NAME.findall(used))
    for name in sorted(unused):
        problems.append(f"{name} is neither on the dashboard nor in an alert")

    if options.rules:
        bare = [e.replace("$__rate_interval", "5m").replace("$instance", ".*") for e in expressions]
        records = [{"record": f"dashboard:{i}", "expr": expression} for i, expression in enumerate(bare)]
        options.rules.write_text(json.dumps({"groups": [{"name": "dashboard", "rules": records}]}), encoding="utf-8")

    for problem in problems:
        print(f"metrics: {problem}", file=sys.stderr)
    if not problems:
        source = f"metrics.txt and {options.metrics}" if options.metrics else "metrics.txt"
        counts = f"{len(rules)} alerts, {len(cases)} cases and {len(expressions)} expressions"
        print(f"{counts} name only what is in {source}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
