# SPDX-License-Identifier: Apache-2.0
"""OpenSSH's programs: the installed ones, or those of another release in a folder."""
import re

from harness.programs import brief
from harness.waiting import Failed

INSTALLED = {"ssh": "ssh", "scp": "scp", "ssh-add": "ssh-add", "ssh-agent": "ssh-agent", "ssh-keygen": "ssh-keygen",
             "sshd": "/usr/sbin/sshd"}
# Options of sshd for programs that newer versions start by themselves.
HELPERS = {"SshdSessionPath": "sshd-session", "SshdAuthPath": "sshd-auth"}


class OpenSSH:
    """The programs of one version, by their names."""

    def __init__(self, environment, programs=INSTALLED, server_options=()):
        self._programs = programs
        self.version = brief([self["ssh"], "-V"], environment=environment).stderr.strip()
        number = re.match(r"OpenSSH_(\d+)\.(\d+)", self.version)
        if number is None:
            raise Failed(f"expected a version of OpenSSH; found {self.version!r}")
        # Otherwise, the first logins that fail keep this address away from the server.
        penalties = ["PerSourcePenalties no"] if (int(number[1]), int(number[2])) >= (9, 8) else []
        self.server_options = [*server_options, *penalties]

    def __getitem__(self, name):
        return self._programs[name]

    @classmethod
    def unpacked(cls, environment, root, wrappers):
        """Returns the programs of packages that were unpacked into a folder; `wrappers` becomes a folder of scripts."""
        wrappers.mkdir()
        options = wrap(root, wrappers)
        return cls(environment, {name: str(wrappers / name) for name in INSTALLED}, options)


def wrap(root, wrappers, root_there=None, wrappers_there=None):
    """Writes a script for each program of packages that were unpacked into a folder; returns the options that sshd needs.

    The programs need the libraries of their release, so each script starts its program with the dynamic loader beside
    them. Paths that are built into the programs are replaced by options. `root_there` and `wrappers_there` are the paths
    of both folders where the scripts run, if they are mounted elsewhere.
    """
    loader = next(root.glob("usr/lib/*/ld-linux-*.so.*"), None)
    if loader is None:
        raise Failed(f"expected a dynamic loader in {root}/usr/lib/*; found none")
    there, scripts = root_there or root, wrappers_there or wrappers
    loader = there / loader.relative_to(root)
    found = set()
    for name in (*INSTALLED, *HELPERS.values()):
        for folder in ("usr/bin", "usr/sbin", "usr/lib/openssh"):
            if (root / folder / name).exists():
                # ssh starts itself again for a jump host, by the name that it was started with.
                (wrappers / name).write_text(f"#!/bin/sh\nexec '{loader}' --argv0 '{scripts / name}' --library-path "
                                             f"'{loader.parent}' '{there / folder / name}' \"$@\"\n")
                (wrappers / name).chmod(0o755)
                found.add(name)
    if missing := [name for name in INSTALLED if name not in found]:
        raise Failed(f"expected {', '.join(missing)} in {root}; found none")
    return [f"{option} {scripts / name}" for option, name in HELPERS.items() if name in found]
