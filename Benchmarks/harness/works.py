# SPDX-License-Identifier: Apache-2.0
"""Works: each one's arguments for the load generator, and the relevant figures."""
import dataclasses
import resource


@dataclasses.dataclass(frozen=True)
class Work:
    title: str
    tls: bool
    words: tuple
    quick: tuple
    # Keys of the load generator's result, with a name for each row of the table.
    figures: tuple = (("server_us", ""),)
    memory: bool = False
    resumed: bool = False
    # True if it runs only when it is named, because it takes minutes.
    on_request: bool = False
    # True if only this project's relay offers what it measures.
    own: bool = False


def counted(title, tls, kind, tunnels, warm_up, **more):
    words = (*kind.split(), "--at-once", "16")
    return Work(title, tls, (*words, "--tunnels", str(tunnels), "--warm-up", str(warm_up)),
                (*words, "--tunnels", str(max(200, tunnels // 8)), "--warm-up", "50"), **more)


def timed(title, tls, words):
    words = tuple(words.split())
    return Work(title, tls, (*words, "--seconds", "1.5", "--warm-up-seconds", "0.3"),
                (*words, "--seconds", "0.4", "--warm-up-seconds", "0.1"))


def held(title, tls, tunnels):
    return Work(title, tls, ("idle", "--tunnels", str(tunnels), "--hold", "1.5"),
                ("idle", "--tunnels", str(tunnels // 4), "--hold", "0.5"), (("kib_per_tunnel", ", KiB"),), memory=True)


# The descriptors that a process may have on this machine.
DESCRIPTORS = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
# Two descriptors a tunnel, with some to spare for logs, the admin listener and epoll; 20,000 connections if permitted.
CROWD = min(10_000, (DESCRIPTORS - 500) // 2)
# As many linked phones as the relay admits with so many descriptors.
LISTENERS = 20_000 if DESCRIPTORS >= 26_000 else 9_900

WORKS = {
    "signin": counted("sign-in", False, "signins", 4000, 400),
    "signin-tls": counted("TLS sign-in", True, "signins", 1200, 150),
    "signin-resumed": counted("TLS sign-in, resumed", True, "signins --resume", 1500, 150, resumed=True),
    "handshake": counted("TLS handshake", True, "handshakes", 2000, 100),
    "handshake-resumed": counted("TLS handshake, resumed", True, "handshakes --resume", 2000, 100, resumed=True),
    "message": timed("message of 256 B, 64 tunnels", False, "pingpong --tunnels 64 --size 256"),
    "message-one": timed("message of 256 B, 1 tunnel", False, "pingpong --tunnels 1 --size 256"),
    "message-4k": timed("message of 4 KiB, 64 tunnels", False, "pingpong --tunnels 64 --size 4096"),
    "message-tls": timed("TLS message of 256 B, 64 tunnels", True, "pingpong --tunnels 64 --size 256"),
    "message-one-tls": timed("TLS message of 256 B, 1 tunnel", True, "pingpong --tunnels 1 --size 256"),
    "message-4k-tls": timed("TLS message of 4 KiB, 64 tunnels", True, "pingpong --tunnels 64 --size 4096"),
    "stream": timed("message of 16 KiB, streamed, 4 tunnels", False, "stream --tunnels 4 --size 16384 --window 16"),
    "stream-tls": timed("TLS message of 16 KiB, streamed, 4 tunnels", True,
                        "stream --tunnels 4 --size 16384 --window 16"),
    "idle": held("idle tunnel", False, 4000),
    "idle-tls": held("idle TLS tunnel", True, 2000),
    "churn-tls": Work(
        "idle TLS tunnel", True,
        ("churn", "--tunnels", "1000", "--burst", "1500", "--at-once", "256", "--hold", "1.5"),
        ("churn", "--tunnels", "250", "--burst", "400", "--at-once", "128", "--hold", "0.5"),
        (("fresh_kib", ", first cycle, KiB"), ("second_kib", ", after sign-ins, KiB"),
         ("third_kib", ", third cycle, KiB")), memory=True),
    # Long enough for two rounds of pings.
    "crowd-tls": Work(
        f"{2 * CROWD:,} idle TLS connections", True, ("idle", "--tunnels", str(CROWD), "--hold", "60"),
        ("idle", "--tunnels", "1000", "--hold", "5"),
        (("rss_held_kib", ", memory of the process, KiB"), ("idle_cpu_percent", ", % of a CPU")), memory=True,
        on_request=True),
    # Long enough for two rounds of pings to each phone.
    "listeners-tls": Work(
        f"{LISTENERS:,} linked phones over TLS", True, ("listeners", "--tunnels", str(LISTENERS), "--hold", "120"),
        ("listeners", "--tunnels", "500", "--hold", "5"),
        (("kib_per_listener", ", KiB each"), ("kib_slope", ", KiB for each further one"),
         ("listen_us", ", µs to connect"), ("pinged_cpu_percent", ", % of a CPU with pings"),
         ("ping_us", ", µs a ping")), memory=True, on_request=True, own=True),
}
PEERS = ["hybrid-relay", "limit", "limit-boring", "go", "node"]


def in_order(peers):
    """Returns each peer once: the known ones first, then those of the operator, by name."""
    return [peer for peer in PEERS if peer in peers] + sorted(set(peers) - set(PEERS))


def reference(work, peers):
    """Returns the meaning of 1.00: the limit, for TLS with the relay's cryptography."""
    return "limit-boring" if WORKS[work].tls and "limit-boring" in peers else "limit"


def measured(work, peers):
    """Without TLS both limits are the same program. Only the relay serves linked phones."""
    if WORKS[work].own:
        return ["hybrid-relay"]
    return [peer for peer in peers if WORKS[work].tls or peer != "limit-boring"]
