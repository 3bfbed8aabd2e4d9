# SPDX-License-Identifier: Apache-2.0
"""What guests need: images in the cache, built when they are missing, and programs."""
import fcntl
import os
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

from failure import Unavailable
from image import Image


@contextmanager
def _cache():
    """Locks the cache while it is filled; returns its folder."""
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "hybrid-vm"
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / "lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield folder


def _built(cache, suite, kind):
    image = Image(cache, suite, kind)
    if not image.exists:
        begun = time.monotonic()
        image.build(cache / f"{suite}-{kind}.log")
        print(f"{suite}, {kind}: built from Debian's packages in {time.monotonic() - begun:.0f} s", flush=True)
    return image


def built(suite, kind):
    """Returns an image; prints the time if it is built now."""
    with _cache() as cache:
        return _built(cache, suite, kind)


def prepared(suite, kind, machine_for):
    """Returns an image with the state after its boot; prints the times if it is built or booted now.

    `machine_for` returns the machine of an image.
    """
    with _cache() as cache:
        image = _built(cache, suite, kind)
        if not machine_for(image).is_prepared:
            begun = time.monotonic()
            machine_for(image).prepare()
            size = sum(path.stat().st_blocks * 512 for path in image.folder.iterdir()) >> 20
            print(f"{suite}, {kind}: booted and saved in {time.monotonic() - begun:.0f} s; {size} MiB in {image.folder}",
                  flush=True)
    return image


def static_programs(folder, names):
    """Returns the folder of our programs, which must not need a Swift runtime: the guest has none."""
    folder = folder.resolve()
    for name in names:
        if not os.access(folder / name, os.X_OK):
            raise Unavailable(f"no {name} in {folder}; build with 'swift build -c release --static-swift-stdlib'")
        listed = subprocess.run(["ldd", folder / name], capture_output=True, text=True, check=False).stdout
        if "libswiftCore" in listed:
            raise Unavailable(f"{folder}/{name} needs Swift's libraries; build it with --static-swift-stdlib")
    return folder
