# SPDX-License-Identifier: Apache-2.0
"""HAProxy with the configuration file for operators, in front of relay nodes."""
import socket
from pathlib import Path

from harness.async_waiting import Failed, require, until
from harness.relay_process import Process, Relay, without_settings

DEPLOY = Path(__file__).resolve().parents[3] / "deploy" / "haproxy"
# Connections, both ends of each tunnel; HAProxy needs twice as many descriptors.
CONNECTIONS = 4000


class Node(Relay):
    """A relay with a node number, behind the balancer."""

    def __init__(self, number, program, folder):
        self.number = number
        super().__init__(f"node-{number}", program, folder, "--cluster", "--node", str(number), "--drain-grace", "60",
                         proxied=True)


class Balancer(Process):
    """HAProxy on its own port; the file's variables set what differs from an operator's machine."""

    is_proxied = False

    def __init__(self, nodes, certificates, folder):
        certificate = folder / "haproxy.pem"
        certificate.write_bytes(b"".join(part.read_bytes() for part in certificates.pairs[0]))
        # The port must be known and still be free when HAProxy starts, so it inherits the socket.
        with socket.create_server(("127.0.0.1", 0), backlog=4096) as listener:
            self.address = listener.getsockname()
            self.tls = certificates.trust
            environment = {
                **without_settings(), "RELAY_UNPRIVILEGED": "1", "RELAY_BIND": f"fd@{listener.fileno()}",
                "RELAY_CRT": str(certificate), "RELAY_NODES_MAP": str(DEPLOY / "nodes.map"),
                "RELAY_MAXCONN": str(CONNECTIONS),
            }
            for node in nodes:
                environment[f"RELAY_NODE_{node.number}"] = f"127.0.0.1:{node.address[1]}"
                environment[f"RELAY_NODE_{node.number}_ADMIN_PORT"] = str(node.admin[1])
            super().__init__("haproxy", ["haproxy", "-db", "-f", DEPLOY / "haproxy.cfg"], folder,
                             environment=environment, pass_fds=(listener.fileno(),))

    async def serves(self, load):
        """Waits until a request reaches a node."""
        async def look():
            if self.status is not None:
                raise Failed(f"haproxy ended with status {self.status}:\n{self.said()}")
            return await load.status(self, f"/cable/new/{load.tunnel_id()}") == 101

        await until("a tunnel through haproxy", look, 60)


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
