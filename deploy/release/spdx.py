# SPDX-License-Identifier: Apache-2.0
"""Prints the list of what is linked into the programs, in the format SPDX 2.3:

    spdx.py --version TEXT --commit HASH --time SECONDS --swift TEXT --resolved Package.resolved

Licenses are those of deploy/debian/copyright. Libraries of the system are dependencies of the packages, and not listed.
"""
import argparse
import json
import re
import time
from pathlib import Path

COPYRIGHT = Path(__file__).resolve().parents[1] / "debian/copyright"
# Names of SPDX for those of Debian.
LICENSES = {"Apache-2.0": "Apache-2.0", "Expat": "MIT", "BSD-3-clause": "BSD-3-Clause", "CC0-1.0": "CC0-1.0",
            "Apache-2.0 with Swift exception": "Apache-2.0 WITH Swift-exception",
            "Apache-2.0 and Expat": "Apache-2.0 AND MIT"}


def licenses():
    """Returns the license and the copyright of each name in the copyright file."""
    found = {}
    for part in COPYRIGHT.read_text(encoding="utf-8").split("\n\n"):
        files = re.search(r"^Files:((?:.|\n )*)", part, re.MULTILINE)
        license_name = re.search(r"^License: (.*)$", part, re.MULTILINE)
        if files and license_name:
            owners = re.search(r"^Copyright:((?:.|\n )*)", part, re.MULTILINE)[1]
            for name in files[1].split():
                found[name] = (LICENSES[license_name[1]], " ".join(owners.split()))
    return found


def package(name, version, place, known):
    license_name, owners = known
    return {"SPDXID": "SPDXRef-" + re.sub("[^A-Za-z0-9.]", "-", name), "name": name, "versionInfo": version,
            "downloadLocation": place, "filesAnalyzed": False, "licenseConcluded": license_name,
            "licenseDeclared": license_name, "copyrightText": owners}


def main():
    parser = argparse.ArgumentParser(prog="spdx")
    for name in ("version", "commit", "swift"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--time", type=int, required=True)
    parser.add_argument("--resolved", type=Path, required=True)
    options = parser.parse_args()
    known = licenses()
    pins = json.loads(options.resolved.read_text(encoding="utf-8"))["pins"]
    packages = [package("hybrid", options.version, "NOASSERTION", known["*"]),
                package("swift", options.swift, "https://www.swift.org", known["swift"])]
    for pin in sorted(pins, key=lambda pin: pin["identity"]):
        if pin["identity"] not in known:
            raise SystemExit(f"spdx: deploy/debian/copyright does not mention {pin['identity']}")
        state = pin["state"]
        packages.append(package(pin["identity"], state["version"], f"git+{pin['location']}@{state['revision']}",
                                known[pin["identity"]]))
    # Code of others in these packages, with licenses of its own.
    packages += [package(name, "NOASSERTION", "NOASSERTION", value) for name, value in sorted(known.items()) if "/" in name]
    main_id = packages[0]["SPDXID"]
    print(json.dumps({
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT",
        "name": f"hybrid-{options.version}", "documentNamespace": f"urn:hybrid:{options.version}:{options.commit}",
        "creationInfo": {"created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(options.time)),
                         "creators": ["Tool: scripts/release"]},
        "packages": packages,
        "relationships": [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES",
                           "relatedSpdxElement": main_id}] +
                         [{"spdxElementId": main_id, "relationshipType": "STATIC_LINK",
                           "relatedSpdxElement": other["SPDXID"]} for other in packages[1:]]}, indent=1, sort_keys=True))


if __name__ == "__main__":
    main()
