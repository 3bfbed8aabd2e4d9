#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Has a real Prometheus scrape a relay and its prober, with the files of deploy/prometheus: scrape.py RELAY FOLDER

The intervals are shorter than an operator's, and the addresses are others. Waits until the histogram of the prober's sign-ins
is there, each rule is evaluated, and no alert fires; then ends the relay, and waits until the alert about sign-ins fires.
"""
import datetime
import json
import pathlib
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

DEPLOY = pathlib.Path(__file__).resolve().parent.parent
RELAY, FOLDER = sys.argv[1], pathlib.Path(sys.argv[2])
# Time limit of each wait in seconds. Three failed sign-ins, one every five seconds, make the alert fire.
PATIENCE = 120
STAGES = {"connect", "open", "join", "handshake", "messages", "close", "total"}
processes = []


def expect(condition, sentence):
    if not condition:
        sys.exit(f"scrape: {sentence}")


def until(what, look):
    """Waits for a state and returns it."""
    end = time.monotonic() + PATIENCE
    while not (found := look()):
        for process in processes:
            expect(process.poll() is None, f"{process.args[0]} ended while waiting for {what}")
        expect(time.monotonic() < end, f"expected {what} within {PATIENCE} s; waited in vain")
        time.sleep(0.1)
    return found


def start(name, *words):
    """Starts a program whose output goes to a file, and returns it with that file."""
    log = FOLDER / f"{name}.log"
    with log.open("wb") as output:
        process = subprocess.Popen(words, stdout=output, stderr=output)
    processes.append(process)
    return process, log


def port(log, line):
    """Waits for the port in a line of a log."""
    return int(until(f"'{line}' in {log.name}", lambda: re.search(
        line + r"127\.0\.0\.1:(\d+)", log.read_text(encoding="utf-8", errors="replace")))[1])


class Prometheus:
    def __init__(self, targets):
        text = (DEPLOY / "prometheus/prometheus.yml").read_text(encoding="utf-8")
        for name in ("alerts", "objectives"):
            path = f"/etc/prometheus/hybrid-relay-{name}.yml"
            expect(path in text, f"expected prometheus.yml to name {path}; found no such line")
            text = text.replace(path, str(DEPLOY / f"prometheus/{name}.yml"))
        text = text.replace("scrape_interval: 15s", "scrape_interval: 1s")
        for job, address in targets.items():
            text, count = re.subn(rf"(job_name: {job}\n(?:.*\n)*?      - targets:\n)(?:          - .*\n)+",
                                  rf"\g<1>          - {address}\n", text, count=1)
            expect(count == 1, f"expected targets of the job {job}; found none")
        file = FOLDER / "prometheus.yml"
        file.write_text("global:\n  evaluation_interval: 1s\n" + text, encoding="utf-8")
        # Prometheus does not say which port the system has chosen.
        with socket.create_server(("127.0.0.1", 0)) as listener:
            own = listener.getsockname()[1]
        self.address = f"http://127.0.0.1:{own}"
        start("prometheus", "prometheus", f"--config.file={file}", f"--storage.tsdb.path={FOLDER / 'data'}",
              f"--web.listen-address=127.0.0.1:{own}")
        until("Prometheus to be ready", lambda: self._is_ready())

    def _is_ready(self):
        try:
            with urllib.request.urlopen(f"{self.address}/-/ready", timeout=5) as response:
                return response.status == 200
        except OSError:
            return False

    def _get(self, path):
        with urllib.request.urlopen(self.address + path, timeout=10) as response:
            answer = json.load(response)
        expect(answer["status"] == "success", f"expected an answer for {path}; found {answer}")
        return answer["data"]

    def query(self, expression):
        """Returns labels and value of each series."""
        data = self._get("/api/v1/query?" + urllib.parse.urlencode({"query": expression}))
        return [(series["metric"], float(series["value"][1])) for series in data["result"]]

    def rules(self):
        return [rule for group in self._get("/api/v1/rules")["groups"] for rule in group["rules"]]

    def state(self, alert):
        (found,) = [rule["state"] for rule in self.rules() if rule["name"] == alert]
        return found


def main():
    relay, log = start("relay", RELAY, "serve", "--plaintext", "--listen", "127.0.0.1:0", "--admin-listen",
                       "127.0.0.1:0")
    admin, public = port(log, "admin listening on "), port(log, "(?<!admin )listening on ")
    soon = datetime.date.today() + datetime.timedelta(days=30)
    _, log = start("prober", RELAY, "check", "--every", "5s", "--metrics", "127.0.0.1:0", "--domain-expires",
                   soon.isoformat(), f"ws://127.0.0.1:{public}")
    prober = port(log, "admin listening on ")
    prometheus = Prometheus({"hybrid-relay": f"127.0.0.1:{admin}", "hybrid-probe": f"127.0.0.1:{prober}"})

    def stages():
        series = prometheus.query('hybrid_probe_seconds_bucket{le="+Inf"} >= 2')
        return series if {labels["stage"] for labels, _ in series} == STAGES else None

    until("the prober's histogram with all stages", stages)
    joins = prometheus.query('hybrid_probe_seconds_bucket{job="hybrid-probe", region="0", stage="join", le="0.05"}')
    expect(joins, "expected the bucket of joins within 50 ms, which the objective counts; found none")
    until("the recorded ratio of failures", lambda: prometheus.query("hybrid:sign_in_errors:ratio_rate5m"))
    expect(prometheus.query("hybrid:sign_in_errors:ratio_rate5m")[0][1] == 0, "expected no failed sign-in; found some")
    until("both jobs to be up", lambda: len(prometheus.query("up == 1")) == 2)
    until("each rule to be evaluated", lambda: all(rule["health"] == "ok" for rule in prometheus.rules()))
    until("the alert about the domain, which has to last for an hour",
          lambda: prometheus.state("HybridRelayDomainEnds") == "pending")
    firing = [rule["name"] for rule in prometheus.rules() if rule.get("state") == "firing"]
    expect(not firing, f"expected no alert for a healthy relay; found {', '.join(firing)}")

    processes.remove(relay)
    relay.kill()
    relay.wait()
    begin = time.monotonic()
    until("the alert about sign-ins to fire", lambda: prometheus.state("HybridRelaySignInsFail") == "firing")
    count = len(prometheus.rules())
    print(f"Prometheus evaluates {count} rules; a lost relay's alert fires after {time.monotonic() - begin:.0f} s")


if __name__ == "__main__":
    try:
        main()
    finally:
        for process in processes:
            process.kill()
            process.wait()
