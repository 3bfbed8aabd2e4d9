# SPDX-License-Identifier: Apache-2.0
"""HAProxy and nginx with the configuration files for operators, in front of relay nodes."""
import os
import pwd
import re
import socket
from pathlib import Path

from harness.async_waiting import Failed, require, until
from harness.contact import HOST
from harness.relay_process import Process, Relay, without_settings

DEPLOY = Path(__file__).resolve().parents[3] / "deploy"
# Connections, both ends of each tunnel; HAProxy needs twice as many descriptors.
CONNECTIONS = 4000
# Maximum lifetime of a linked phone's connection in seconds, short, because phones return to a node after it.
LISTENER_LIFETIME = 20


class Node(Relay):
    """A relay with a node number, behind a balancer."""

    def __init__(self, number, program, folder, *options, name="node", proxied=True, lifetime=LISTENER_LIFETIME,
                 **more):
        self.number = number
        super().__init__(f"{name}-{number}", program, folder, "--cluster", "--node", str(number), "--drain-grace", "60",
                         "--contact-host", HOST, "--listener-lifetime", str(lifetime), *options, proxied=proxied,
                         **more)


class Balancer(Process):
    """A balancer on its own port."""

    is_proxied = False
    counts_peers = True

    async def serves(self, load):
        """Waits until a request reaches a node."""
        async def look():
            if self.status is not None:
                raise Failed(f"{self.name} ended with status {self.status}:\n{self.said()}")
            return await load.status(self, f"/cable/new/{load.tunnel_id()}") == 101

        await until(f"a tunnel through {self.name}", look, 60)


class HAProxy(Balancer):
    """The file's variables set what differs from an operator's machine."""

    def __init__(self, nodes, certificates, folder, *, name="haproxy", map_file=None, more=None, socket_of=None):
        certificate = folder / "haproxy.pem"
        # Another balancer may be reading it.
        if not certificate.exists():
            certificate.write_bytes(b"".join(part.read_bytes() for part in certificates.pairs[0]))
        # The port must be known and still be free when HAProxy starts, so it inherits the socket.
        place = socket_of.address if socket_of else ("127.0.0.1", 0)
        with socket.create_server(place, backlog=4096) as listener:
            self.address = listener.getsockname()
            self.tls = certificates.trust
            environment = {
                **without_settings(), "RELAY_UNPRIVILEGED": "1", "RELAY_BIND": f"fd@{listener.fileno()}",
                "RELAY_CRT": str(certificate), "RELAY_NODES_MAP": str(map_file or DEPLOY / "haproxy/nodes.map"),
                "RELAY_MAXCONN": str(CONNECTIONS), **(more or {}),
            }
            for node in nodes:
                environment[f"RELAY_NODE_{node.number}"] = f"127.0.0.1:{node.address[1]}"
                environment[f"RELAY_NODE_{node.number}_ADMIN_PORT"] = str(node.admin[1])
            super().__init__(name, ["haproxy", "-db", "-f", self._file(nodes, folder)], folder,
                             environment=environment, pass_fds=(listener.fileno(),))

    @staticmethod
    def _file(nodes, folder):
        """Returns the file for operators, without the lines of nodes that do not exist, as it says."""
        text = (DEPLOY / "haproxy/haproxy.cfg").read_text(encoding="utf-8")
        for number in {1, 2, 3} - {node.number for node in nodes}:
            text = re.sub(rf"^.*(?:n000{number}|RELAY_NODE_{number}).*\n", "", text, flags=re.MULTILINE)
        file = folder / f"haproxy-{len(nodes)}-nodes.cfg"
        if not file.exists():
            file.write_text(text, encoding="utf-8")
        return file


class Nginx(Balancer):
    """nginx with the file for operators, in which the paths and all addresses are replaced."""

    def __init__(self, node, certificates, folder):
        own = folder / "nginx"
        own.mkdir()
        text = (DEPLOY / "nginx/hybrid-relay.conf").read_text(encoding="utf-8")
        text = re.sub(r"192\.0\.2\.1\d:8080", f"127.0.0.1:{node.address[1]}", text)
        for name, path in zip(("fullchain.pem", "privkey.pem"), certificates.pairs[0]):
            text = text.replace(f"/etc/nginx/hybrid/{name}", str(path))
        text = text.replace("/var/log/nginx/error.log", str(folder / "nginx-error.log"))
        text = text.replace("    listen [::]:443 ssl;\n", "")
        temporary = "".join(f"{kind}_temp_path {own / kind};\n" for kind in
                            ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        with socket.create_server(("127.0.0.1", 0), backlog=4096) as listener:
            self.address = listener.getsockname()
            self.tls = certificates.trust
            text = text.replace("listen 443 ssl;", f"listen 127.0.0.1:{self.address[1]} ssl;")
            (own / "nginx.conf").write_text(
                f"user {pwd.getpwuid(os.getuid()).pw_name};\ndaemon off;\npid {own / 'pid'};\n"
                f"events {{ worker_connections {CONNECTIONS}; }}\nhttp {{\n{temporary}{text}}}\n", encoding="utf-8")
            # nginx takes over inherited sockets that this variable names.
            super().__init__("nginx", ["nginx", "-e", folder / "nginx-error.log", "-c", own / "nginx.conf"], folder,
                             environment={**without_settings(), "NGINX": f"{listener.fileno()};"},
                             pass_fds=(listener.fileno(),))

    def kill(self):
        """Ends it with its workers, which would survive if it were killed."""
        self.stop()


def setting(name):
    """Returns the default of a variable in haproxy.cfg."""
    text = (DEPLOY / "haproxy/haproxy.cfg").read_text(encoding="utf-8")
    return int(re.search(rf'presetenv {name} "(\d+)"', text)[1])


def node_of(routing):
    """Returns the number of the node that issued a routing ID."""
    return int(routing[:4], 16)


def by_node(tunnels, nodes):
    """Returns the tunnels by node number; every node must have some."""
    sorted_out = {node.number: [] for node in nodes}
    for tunnel in tunnels:
        require(node_of(tunnel.routing) in sorted_out, "expected a routing ID of one of the nodes; found "
                                                       f"{tunnel.routing}")
        sorted_out[node_of(tunnel.routing)].append(tunnel)
    for number, its_own in sorted_out.items():
        require(its_own, f"expected tunnels on node {number}; found none")
    return sorted_out
