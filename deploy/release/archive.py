# SPDX-License-Identifier: Apache-2.0
"""Tar archives whose bytes depend on the files' content, names and permissions only: archive.py FOLDER SECONDS PREFIX"""
import io
import os
import sys
import tarfile
from pathlib import Path


def tar(folder, seconds, prefix=""):
    """Returns a tar archive of a folder, in which all times are `seconds` and all files belong to root."""
    output = io.BytesIO()
    with tarfile.open(fileobj=output, mode="w", format=tarfile.GNU_FORMAT) as archive:
        for path in sorted(folder.rglob("*")):
            entry = tarfile.TarInfo(prefix + str(path.relative_to(folder)))
            entry.mtime = seconds
            if path.is_symlink():
                entry.type, entry.linkname, entry.mode = tarfile.SYMTYPE, os.readlink(path), 0o777
                archive.addfile(entry)
            elif path.is_dir():
                entry.type, entry.mode = tarfile.DIRTYPE, 0o755
                archive.addfile(entry)
            else:
                content = path.read_bytes()
                # The umask in force when the files were unpacked does not matter.
                entry.mode = 0o755 if path.stat().st_mode & 0o100 else 0o644
                entry.size = len(content)
                archive.addfile(entry, io.BytesIO(content))
    return output.getvalue()


if __name__ == "__main__":
    sys.stdout.buffer.write(tar(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3]))
