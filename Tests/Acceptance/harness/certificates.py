# SPDX-License-Identifier: Apache-2.0
"""Throwaway certificate authority, and the relay's certificate."""
from pathlib import Path

from harness.programs import brief

# A complete configuration, so that this machine's openssl.cnf has no effect.
CONFIGURATION = """\
[req]
prompt = no
distinguished_name = name
[name]
CN = hybrid acceptance test
[authority]
basicConstraints = critical,CA:TRUE
keyUsage = critical,keyCertSign
subjectKeyIdentifier = hash
[relay]
basicConstraints = critical,CA:FALSE
keyUsage = critical,digitalSignature
extendedKeyUsage = serverAuth
subjectAltName = DNS:{host}
"""


class Certificates:
    """The files `authority.pem`, `relay.pem` and `relay.key`."""

    def __init__(self, folder, host, environment):
        folder = Path(folder)
        folder.mkdir(mode=0o700)
        self.authority, self.relay, self.relay_key = (folder / n for n in ("authority.pem", "relay.pem", "relay.key"))
        configuration, authority_key, request = (folder / n for n in ("openssl.cnf", "authority.key", "relay.csr"))
        configuration.write_text(CONFIGURATION.format(host=host), encoding="ascii")

        def openssl(*arguments):
            brief(["openssl", *map(str, arguments)], environment=environment)

        new_key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-config", configuration)
        openssl("req", "-x509", *new_key, "-extensions", "authority", "-days", 2, "-keyout", authority_key,
                "-out", self.authority)
        openssl("req", "-new", *new_key, "-keyout", self.relay_key, "-out", request)
        openssl("x509", "-req", "-in", request, "-CA", self.authority, "-CAkey", authority_key, "-set_serial", 2,
                "-days", 2, "-extfile", configuration, "-extensions", "relay", "-out", self.relay)
        authority_key.unlink()

    def trust_in_browser(self, home, environment):
        """Adds only the authority to the NSS database that Chromium reads besides its own list."""
        database = Path(home) / ".pki" / "nssdb"
        database.mkdir(parents=True)
        self.trust_in(database, environment)

    def trust_in(self, database, environment):
        """Adds only the authority to a new NSS database, which is a folder."""
        at = ["-d", f"sql:{database}"]
        brief(["certutil", *at, "-N", "--empty-password"], environment=environment)
        brief(["certutil", *at, "-A", "-t", "C,,", "-n", "hybrid acceptance test", "-i", str(self.authority)],
              environment=environment)
