# SPDX-License-Identifier: Apache-2.0
"""Unpacks a container image of scripts/release and runs it without a container engine: image.py ARCHIVE VERSION

Compares all digests, then runs the relay as container.py does, and the lab's demo, both on a read-only root.
"""
import gzip
import hashlib
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from container import check, start


def fail(sentence):
    raise SystemExit(f"image: {sentence}")


def blob(layout, descriptor):
    content = (layout / "blobs" / descriptor["digest"].replace(":", "/")).read_bytes()
    if len(content) != descriptor["size"] or hashlib.sha256(content).hexdigest() != descriptor["digest"].split(":")[1]:
        fail(f"wrong digest: {descriptor['digest']}")
    return content


def unpack(layout, root):
    """Unpacks the layers; returns the image's config."""
    (entry,) = json.loads((layout / "index.json").read_text())["manifests"]
    manifest = json.loads(blob(layout, entry))
    config = json.loads(blob(layout, manifest["config"]))
    for layer, difference in zip(manifest["layers"], config["rootfs"]["diff_ids"], strict=True):
        content = gzip.decompress(blob(layout, layer))
        if "sha256:" + hashlib.sha256(content).hexdigest() != difference:
            fail("a layer is not what the config names")
        with tarfile.open(fileobj=io.BytesIO(content)) as archive:
            archive.extractall(root, filter="fully_trusted")
    return config["config"]


def output(root, *command):
    """Returns what a program of the image prints."""
    # Swift reads the arguments from /proc.
    inner = 'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"'
    return subprocess.run(["unshare", "--mount", "sh", "-c", inner, root, *command], check=True, capture_output=True,
                          text=True).stdout.strip()


def run_relay(root, config, version):
    user, command = config["User"], config["Entrypoint"]
    if (said := output(root, *command, "--version")) != version:
        fail(f"the relay is {said}")
    process = start(root, {"user": user, "entrypoint": command}, ["serve", "--plaintext", "--listen", "127.0.0.1:0"])
    try:
        check(process, root, {"user": user})
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)


def run_lab(root, config):
    inner = 'mount --rbind "$0" "$0" && mount -o remount,bind,ro "$0" && mount -t proc proc "$0/proc" && ' \
            'mount -t tmpfs tmpfs "$0/tmp" && mount --bind /dev "$0/dev" && exec chroot "$0" "$@"'
    environment = dict(pair.split("=", 1) for pair in config["Env"])
    done = subprocess.run(["unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-c", inner, root,
                           "env", "-i", *(f"{name}={value}" for name, value in environment.items()), *config["Cmd"]],
                          capture_output=True, text=True, check=False)
    if done.returncode or "one passkey created and used" not in done.stdout:
        fail(f"the lab's demo ended with {done.returncode}: {done.stdout}{done.stderr}")
    said = output(root, "chromium", "--version")
    if not said.startswith("Chromium"):
        fail("the lab's image has no Chromium")
    print(f"hybrid-lab demo signs in on a read-only root; the image has {said}")


def main():
    archive, version = Path(sys.argv[1]), sys.argv[2]
    folder = Path(tempfile.mkdtemp(prefix="hybrid-image-"))
    folder.chmod(0o755)
    try:
        with tarfile.open(archive) as packed:
            packed.extractall(folder / "layout", filter="data")
        config = unpack(folder / "layout", folder / "root")
        for name in ("proc", "tmp", "dev"):
            (folder / "root" / name).mkdir(exist_ok=True)
        (folder / "root").chmod(0o755)
        print(f"{archive.name}: all digests are right")
        authorities = (folder / "root/etc/ssl/certs/ca-certificates.crt").read_text().count("BEGIN CERTIFICATE")
        if authorities < 100:
            fail(f"the image has {authorities} certificate authorities")
        if archive.name.startswith("hybrid-relay"):
            run_relay(folder / "root", config, version)
        else:
            run_lab(folder / "root", config)
        if shutil.which("skopeo"):
            subprocess.run(["skopeo", "inspect", f"oci:{folder}/layout:{version}"], check=True, stdout=subprocess.DEVNULL)
            print("skopeo inspect reads it")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
