# SPDX-License-Identifier: Apache-2.0
"""Prints the spec file of the RPM packages: spec.py --unpacked DIR --version TEXT --time SECONDS

DIR has the unpacked Debian packages, each with its folder DEBIAN. The RPM packages have the same files; rpm finds the libraries that
they need by itself. No distribution with RPM was available for a test: the packages were inspected and unpacked only.
"""
import argparse
import re
import time
from pathlib import Path

# What Debian's debhelper adds to the scripts of the Debian packages.
SCRIPTS = {
    "hybrid-relay": {"post": "systemd-sysusers hybrid-relay.conf\nsystemd-tmpfiles --create hybrid-relay.conf || :\n"
                             "systemctl daemon-reload >/dev/null 2>&1 || :",
                     "preun": "[ $1 -gt 0 ] || systemctl disable --now hybrid-relay.socket hybrid-relay.service "
                              ">/dev/null 2>&1 || :",
                     "postun": "[ $1 -eq 0 ] || systemctl try-restart hybrid-relay.service >/dev/null 2>&1 || :"},
    "hybrid-key": {"post": "systemd-sysusers hybrid-key.conf\nudevadm control --reload >/dev/null 2>&1 || :\n"
                           "systemctl daemon-reload >/dev/null 2>&1 || :\n"
                           "systemctl enable --now hybrid-uhid.socket >/dev/null 2>&1 || :",
                   "preun": "[ $1 -gt 0 ] || systemctl disable --now hybrid-uhid.socket hybrid-uhid.service "
                            ">/dev/null 2>&1 || :",
                   "postun": "[ $1 -eq 0 ] || systemctl stop hybrid-uhid.service >/dev/null 2>&1 || :"},
}
# Programs that are started, by their paths, which are the same in all distributions.
REQUIRES = {"hybrid-lab": ["/usr/bin/dbus-daemon"], "hybrid-passkeys": ["hybrid-auth = %{version}"]}
RECOMMENDS = {"hybrid-client": ["bluez"], "hybrid-auth": ["bluez", "pinentry"], "hybrid-key": ["bluez", "openssh-clients"]}


def description(control):
    """Returns the summary and the text of a Debian control file."""
    text = re.search(r"^Description: (.*)\n((?: .*\n?)*)", control, re.MULTILINE)
    return text[1], re.sub(r"^ \.$", "", text[2], flags=re.MULTILINE).replace("\n ", "\n").strip()


def package(folder):
    name = folder.name
    summary, text = description((folder / "DEBIAN/control").read_text(encoding="utf-8"))
    lines = [f"%package -n {name}", f"Summary: {summary}"]
    lines += [f"Requires: {other}" for other in REQUIRES.get(name, [])]
    lines += [f"Recommends: {other}" for other in RECOMMENDS.get(name, [])]
    lines += ["", f"%description -n {name}", text, ""]
    for script, commands in SCRIPTS.get(name, {}).items():
        lines += [f"%{script} -n {name}", commands, ""]
    lines += [f"%files -n {name}", "%defattr(-,root,root,-)"]
    for path in sorted(folder.rglob("*")):
        inside = path.relative_to(folder)
        if inside.parts[0] == "DEBIAN" or path.is_dir() and not path.is_symlink():
            continue
        # Debian 12's packages have the old folder of units, which is a link elsewhere.
        installed = f"usr/{inside}" if inside.parts[0] == "lib" else str(inside)
        lines.append(("%config(noreplace) " if inside.parts[0] == "etc" else "") + f'"/{installed}"')
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(prog="spec")
    parser.add_argument("--unpacked", type=Path, required=True)
    parser.add_argument("--version", required=True)
    parser.add_argument("--time", type=int, required=True)
    options = parser.parse_args()
    folders = sorted(path for path in options.unpacked.iterdir() if path.is_dir())
    day = time.strftime("%a %b %d %Y", time.gmtime(options.time))
    # RPM sorts pre-releases by a tilde, as Debian does.
    print(f"""Name: hybrid
Version: {options.version.replace('-', '~')}
Release: 1
Summary: Sign in with a passkey on another device
License: Apache-2.0

%description
Sources of the packages hybrid-client and others.

%install
for folder in %{{unpacked}}/*; do cp -a "$folder/." %{{buildroot}}/; done
rm -rf %{{buildroot}}/DEBIAN
[ ! -d %{{buildroot}}/lib ] || {{ cp -a %{{buildroot}}/lib/. %{{buildroot}}/usr/lib/ && rm -rf %{{buildroot}}/lib; }}
""")
    print("\n".join(package(folder) for folder in folders))
    print(f"%changelog\n* {day} The hybrid authors <noreply@example.org> - {options.version}\n- See the file changelog.")


if __name__ == "__main__":
    main()
