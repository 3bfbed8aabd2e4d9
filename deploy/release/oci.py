# SPDX-License-Identifier: Apache-2.0
"""Writes a container image as an OCI layout, without a container engine:

    oci.py --layer PATH… --config FILE --name NAME:TAG --architecture NAME --time SECONDS --out FOLDER

Each layer is a folder or a tar archive, the base first. The config is the JSON object `config` of an image, such as {"User": "65532:65532",
"Entrypoint": […]}. The same folders give the same bytes.
"""
import argparse
import gzip
import hashlib
import json
import time
from pathlib import Path

from archive import tar

TYPE = "application/vnd.oci.image."


class Layout:
    """The folder of blobs, which are named by their digests."""

    def __init__(self, folder):
        self.blobs = folder / "blobs/sha256"
        self.blobs.mkdir(parents=True)
        self.folder = folder

    def add(self, content, kind):
        """Stores a blob; returns its descriptor."""
        digest = hashlib.sha256(content).hexdigest()
        (self.blobs / digest).write_bytes(content)
        return {"mediaType": TYPE + kind, "digest": f"sha256:{digest}", "size": len(content)}

    def add_json(self, value, kind):
        return self.add(json.dumps(value, sort_keys=True, separators=(",", ":")).encode(), kind)


def write(options):
    layout = Layout(options.out)
    layers, differences = [], []
    for path in options.layer:
        content = tar(path, options.time) if path.is_dir() else path.read_bytes()
        differences.append("sha256:" + hashlib.sha256(content).hexdigest())
        layers.append(layout.add(gzip.compress(content, 6, mtime=0), "layer.v1.tar+gzip"))
    created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(options.time))
    config = layout.add_json({
        "architecture": options.architecture, "os": "linux", "created": created,
        "config": json.loads(options.config.read_text(encoding="utf-8")),
        "rootfs": {"type": "layers", "diff_ids": differences},
        "history": [{"created": created, "created_by": "scripts/release"} for _ in layers]}, "config.v1+json")
    manifest = layout.add_json({"schemaVersion": 2, "mediaType": TYPE + "manifest.v1+json", "config": config,
                                "layers": layers}, "manifest.v1+json")
    manifest["annotations"] = {"org.opencontainers.image.ref.name": options.name.rsplit(":", 1)[1]}
    manifest["platform"] = {"architecture": options.architecture, "os": "linux"}
    (options.out / "index.json").write_text(json.dumps({"schemaVersion": 2, "manifests": [manifest]}, sort_keys=True))
    (options.out / "oci-layout").write_text('{"imageLayoutVersion":"1.0.0"}')


def main():
    parser = argparse.ArgumentParser(prog="oci")
    parser.add_argument("--layer", type=Path, action="append", required=True)
    parser.add_argument("--config", type=Path, required=True)
    parser.add_argument("--name", required=True)
    parser.add_argument("--architecture", required=True)
    parser.add_argument("--time", type=int, required=True)
    parser.add_argument("--out", type=Path, required=True)
    write(parser.parse_args())


if __name__ == "__main__":
    main()
