# SPDX-License-Identifier: Apache-2.0
"""Checks deploy/kubernetes and deploy/helm without a cluster.

    kubernetes.py RENDERED.yaml… [--haproxy FOLDER]

Each file is output of `kubectl kustomize`, or of `helm template`. Every object is validated against the Kubernetes schemas (without unknown
fields), the restricted pod security standard, and the objects it refers to. --haproxy writes the files of the ConfigMap
to a directory, so that HAProxy can check them. HAProxy's rules must be those of deploy/haproxy/haproxy.cfg.
"""

import argparse
import ipaddress
import pathlib
import re
import sys

import kubernetes_validate

import strict_yaml

DEPLOY = pathlib.Path(__file__).resolve().parent.parent
# The relay's defaults, by option.
DEFAULTS = dict(re.findall(r"^#?HYBRID_(\w+)=(.*)$", (DEPLOY / "systemd/relay.env").read_text(encoding="utf-8"), re.M))
# The longest lifetime of a connection, and the time that a contact waits for its phone, in seconds.
LONGEST = max(int(DEFAULTS["MAX_LIFETIME"]), int(DEFAULTS["LISTENER_LIFETIME"]))
CONTACT_HOLD = 8
# The oldest version that labels pods with their ordinals, and the newest known one.
VERSIONS = ("1.28", kubernetes_validate.latest_version())
problems = []


def problem(text: str) -> None:
    problems.append(text)


def pods(objects: list) -> list:
    return [o for o in objects if o["kind"] in ("StatefulSet", "Deployment")]


def balancers(objects: list) -> dict:
    """Returns HAProxy's Deployment; a chart may have one of a prober as well."""
    (found,) = [o for o in objects if o["kind"] == "Deployment"
                and o["metadata"]["labels"]["app.kubernetes.io/component"] == "balancer"]
    return found


def containers(workload: dict) -> list:
    spec = workload["spec"]["template"]["spec"]
    return spec.get("initContainers", []) + spec["containers"]


def schema(item: dict) -> None:
    for version in VERSIONS:
        try:
            kubernetes_validate.validate(item, version, strict=True)
        except kubernetes_validate.ValidationError as error:
            path = ".".join(str(part) for part in error.path)
            problem(f"{item['kind']} {item['metadata']['name']}, Kubernetes {version}: {path}: {error.message}")


def restricted(workload: dict) -> None:
    """Checks the restricted pod security standard and a read-only root."""
    name, spec = workload["metadata"]["name"], workload["spec"]["template"]["spec"]
    pod = spec.get("securityContext", {})
    rules = {
        "does not run as root": pod.get("runAsNonRoot") is True and pod.get("runAsUser", 0) > 0,
        "has the runtime's seccomp profile": pod.get("seccompProfile", {}).get("type") == "RuntimeDefault",
        "shares nothing with the host": not any(spec.get(key) for key in ("hostNetwork", "hostPID", "hostIPC")),
        "has no service account token": spec.get("automountServiceAccountToken") is False,
        "gets no variables of Services": spec.get("enableServiceLinks") is False,
        "has allowed volumes": all(
            set(volume) - {"name"} <= {"configMap", "emptyDir", "projected", "secret"}
            for volume in spec.get("volumes", [])),
    }
    for container in containers(workload):
        own = container.get("securityContext", {})
        rules[f"{container['name']} cannot gain privileges"] = own.get("allowPrivilegeEscalation") is False
        rules[f"{container['name']} has no capabilities"] = own.get("capabilities") == {"drop": ["ALL"]}
        rules[f"{container['name']} has a read-only root"] = own.get("readOnlyRootFilesystem") is True
        rules[f"{container['name']} has a memory limit"] = "memory" in container["resources"]["limits"]
        rules[f"{container['name']} uses no port of the host"] = not any(
            "hostPort" in port for port in container.get("ports", []))
    for rule, holds in rules.items():
        if not holds:
            problem(f"{name}: violated: {rule}")


def selected(objects: list, selector: dict) -> list:
    return [w for w in pods(objects)
            if selector and selector.items() <= w["spec"]["template"]["metadata"]["labels"].items()]


def port_names(workloads: list) -> set:
    return {port["name"] for w in workloads for c in containers(w) for port in c.get("ports", [])}


def references(objects: list) -> None:
    """Checks names that refer to each other, which the schemas do not."""
    for item in objects:
        name = f"{item['kind']} {item['metadata']['name']}"
        if item["kind"] != "Namespace" and item["metadata"].get("namespace") != "hybrid-relay":
            problem(f"{name} is not in the namespace")
        spec = item.get("spec", {})
        if item["kind"] == "Service":
            found = selected(objects, spec["selector"])
            if len(found) != 1 or not {p["targetPort"] for p in spec["ports"]} <= port_names(found):
                problem(f"{name} does not select the ports of one workload")
        elif item["kind"] == "PodDisruptionBudget":
            if len(selected(objects, spec["selector"]["matchLabels"])) != 1:
                problem(f"{name} selects no workload")
        elif item["kind"] == "NetworkPolicy":
            found = selected(objects, spec["podSelector"]["matchLabels"])
            names = {p["port"] for rule in spec["ingress"] for p in rule["ports"]}
            if len(found) != 1 or not names <= port_names(found):
                problem(f"{name} opens a port that its pods do not have")
            for rule in spec["ingress"] + spec.get("egress", []):
                for peer in rule.get("from", []) + rule.get("to", []):
                    is_own = "podSelector" in peer and "namespaceSelector" not in peer
                    if is_own and not selected(objects, peer["podSelector"].get("matchLabels", {})):
                        problem(f"{name} names missing pods")
    for workload in pods(objects):
        name, spec = workload["metadata"]["name"], workload["spec"]["template"]["spec"]
        volumes = {volume["name"] for volume in spec.get("volumes", [])}
        for container in containers(workload):
            for mount in container.get("volumeMounts", []):
                if mount["name"] not in volumes:
                    problem(f"{name}: no volume {mount['name']}")
            for kind in ("readinessProbe", "livenessProbe"):
                if kind in container and container[kind]["httpGet"]["port"] not in port_names([workload]):
                    problem(f"{name}: the {kind} uses a missing port")
        for volume in spec.get("volumes", []):
            wanted = volume.get("configMap", {}).get("name")
            if wanted and not any(o["kind"] == "ConfigMap" and o["metadata"]["name"] == wanted for o in objects):
                problem(f"{name}: no ConfigMap {wanted}")


def trust(objects: list) -> None:
    """Checks that nodes believe only the pod network, and that only HAProxy and certain pods reach them."""
    (workload,) = [o for o in objects if o["kind"] == "StatefulSet"]
    arguments = containers(workload)[-1]["args"]
    networks = [a.split("=")[1] for a in arguments if a.startswith("--proxy-protocol-from=")]
    for network in map(ipaddress.ip_network, networks):
        if network.prefixlen < (16 if network.version == 4 else 56):
            problem(f"relay: {network} is more than a pod network; any host in it can forge a PROXY header")
    labels = workload["spec"]["template"]["metadata"]["labels"]
    (policy,) = [o["spec"] for o in objects if o["kind"] == "NetworkPolicy"
                 and o["spec"]["podSelector"]["matchLabels"].items() <= labels.items()]
    if policy["policyTypes"] != ["Ingress", "Egress"] or "egress" in policy:
        problem("relay: a node needs no connections of its own")
    balancer = balancers(objects)["spec"]["template"]["metadata"]["labels"]
    for rule in policy["ingress"]:
        ports = {port["port"] for port in rule["ports"]}
        for peer in rule.get("from", [{}]):
            if "podSelector" not in peer:
                problem(f"relay: whole namespaces or networks reach the ports {', '.join(sorted(ports))}")
            elif "tunnels" in ports and peer != {"podSelector": {"matchLabels": balancer}}:
                problem("relay: other pods than HAProxy's can open tunnels")


def relay(objects: list) -> int:
    """Checks the requirements of the relay. Returns the number of nodes."""
    (workload,) = [o for o in objects if o["kind"] == "StatefulSet"]
    spec = workload["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    for argument in container["args"][1:]:
        option = argument.split("=")[0]
        if option.removeprefix("--").replace("-", "_").upper() not in DEFAULTS:
            problem(f"relay: {option} is not an option in relay.env")
    numbers = [v["valueFrom"]["fieldRef"]["fieldPath"] for v in container["env"] if v["name"] == "HYBRID_NODE"]
    scripts = [" ".join(c.get("command", [])) for c in spec.get("initContainers", [])]
    labelled = numbers == ["metadata.labels['apps.kubernetes.io/pod-index']"]
    if not labelled and "HYBRID_NODE=${HOSTNAME##*-}" not in "".join(scripts):
        problem("relay: a node does not get its ordinal as its number")
    for wanted in ("--cluster", "--plaintext"):
        if wanted not in container["args"]:
            problem(f"relay: {wanted} is missing")
    paths = [container[probe]["httpGet"]["path"] for probe in ("readinessProbe", "livenessProbe")]
    if paths != ["/readyz", "/healthz"]:
        problem("relay: readiness must be /readyz, and liveness /healthz")
    if spec["terminationGracePeriodSeconds"] <= int(DEFAULTS["DRAIN_GRACE"]):
        problem("relay: it is killed before the end of its drain grace")
    services = {o["metadata"]["name"]: o["spec"] for o in objects if o["kind"] == "Service"}
    headless = services[workload["spec"]["serviceName"]]
    if headless["clusterIP"] != "None" or headless.get("publishNotReadyAddresses") is not True:
        problem("relay: its Service must be headless and publish addresses that are not ready")
    if balancers(objects)["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] <= LONGEST:
        problem("haproxy: it is killed before its tunnels have ended")
    return workload["spec"]["replicas"]


def rules(configuration: str) -> dict:
    """Returns HAProxy's rules by section, without the values of each installation and without optional parts."""
    # A condition on a variable that is not set; what follows `.else` is in force.
    configuration = re.sub(r"^\.if defined\(\w+\)\n(?:.*\n)*?(?:\.else\n((?:.*\n)*?))?\.endif\n",
                           lambda match: match[1] or "", configuration, flags=re.M)
    sections, section = {}, None
    for line in configuration.splitlines():
        words = line.split("#")[0].split() if line.lstrip().startswith("#") else line.split()
        if not words:
            continue
        if not line.startswith((" ", ".")):
            section = " ".join(words)
            sections[section] = []
        elif section and words[0] not in ("server", "presetenv") and words[:2] != ["default-server", "resolvers"]:
            sections[section].append(" ".join(words))
    return sections


def haproxy(objects: list, nodes: int, folder: pathlib.Path | None) -> None:
    (files,) = [o["data"] for o in objects if o["kind"] == "ConfigMap"]
    ours, original = rules(files["haproxy.cfg"]), rules((DEPLOY / "haproxy/haproxy.cfg").read_text(encoding="utf-8"))
    for section in original:
        if section != "global" and ours.get(section) != original[section]:
            problem(f"haproxy: {section} differs from deploy/haproxy/haproxy.cfg")
    if int(re.search(r"timeout tunnel (\d+)s", files["haproxy.cfg"]).group(1)) <= int(DEFAULTS["IDLE_TIMEOUT"]):
        problem("haproxy: it ends tunnels before the relay does")
    if 60 * int(re.search(r"hard-stop-after (\d+)m", files["haproxy.cfg"]).group(1)) <= LONGEST:
        problem("haproxy: a reload ends tunnels before their lifetime")
    if int(re.search(r"timeout server (\d+)s", files["haproxy.cfg"]).group(1)) <= CONTACT_HOLD:
        problem("haproxy: it ends contacts before the relay does")
    numbers = [f"{number:04x}" for number in range(nodes)]
    mapped = [line.split() for line in files["nodes.map"].splitlines() if not line.startswith("#")]
    if mapped != [[number, f"n{number}"] for number in numbers]:
        problem("haproxy: nodes.map does not name each replica once")
    for backend in ("new", "connect", "linked"):
        text = files["haproxy.cfg"].split(f"backend {backend}\n")[1].split("\nbackend ")[0]
        servers = re.findall(r'server n(\w+) "relay-(\d+)\.', text)
        if servers != [(number, str(int(number, 16))) for number in numbers]:
            problem(f"haproxy: the backend {backend} does not name each replica once")
    if folder:
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")


def main() -> int:
    options = argparse.ArgumentParser()
    options.add_argument("files", type=pathlib.Path, nargs="+")
    options.add_argument("--haproxy", type=pathlib.Path)
    options = options.parse_args()
    count = 0
    for path in options.files:
        objects = strict_yaml.documents(path)
        count += len(objects)
        for item in objects:
            schema(item)
        for workload in pods(objects):
            restricted(workload)
        references(objects)
        trust(objects)
        haproxy(objects, relay(objects), options.haproxy)
    for text in dict.fromkeys(problems):
        print(f"kubernetes: {text}", file=sys.stderr)
    if not problems:
        print(f"{count} objects conform to the schemas of Kubernetes {' and '.join(map(str, VERSIONS))}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
