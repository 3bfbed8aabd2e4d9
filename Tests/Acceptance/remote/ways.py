# SPDX-License-Identifier: Apache-2.0
"""Ways of a request to this computer: which hosts it proves, and which sockets `hybrid-remote` finds."""
from environment import website
from harness.programs import Program, brief
from harness.waiting import must
from refusals import refusal


def _question_from(env, agent, hosts, ask):
    """Checks that a request leads to a question with these hosts, and to a response."""
    env.needs_passkey()
    prompt, _ = env.sign_in(agent, ask)
    must(prompt.request["hosts"] == hosts, f"expected the hosts {hosts}; found {prompt.request}")


def two_hops(env):
    """From c through b: each of both needs the permission."""
    missing, message = refusal(env), website("get", env.site.request_options(allow="any"))
    agent, before, prompts = env.start_agent(), len(env.journal()), env.prompts.count
    found = {"only b": env.raw(agent, message, through=env.hop)}
    env.forget("b.test")
    try:
        env.allow("c.test")
        found["only c"] = env.raw(agent, message, through=env.hop)
        env.allow("b.test")
        must([answer for ((answer, _),) in found.values()] == [missing] * 2,
             f"expected refusals with one permission; found {found}")
        must(env.prompts.count == prompts, "expected no question with one permission; found one")
        lacks = "has no permission; run: hybrid-key remote allow"
        env.recorded(before, ("refused", f"c.test {lacks} c.test"), ("refused", f"b.test {lacks} b.test"))
        _question_from(env, agent, ["b.test", "c.test"], lambda options: env.ask(agent, options, through=env.hop))
        env.recorded(before + 2, ("signed", "on c.test through b.test"))
    finally:
        env.forget("c.test")
        env.allow("b.test")


def jump(env):
    """`ssh -A -J b c`: b can't read the connection, so c alone needs the permission."""
    agent = env.start_agent()
    env.needs_passkey()
    jump = ("-J", f"{env.b.alias}")
    (answer, _), = env.raw(agent, website("get", env.site.request_options(allow="any")), host=env.c, options=jump)
    must(answer == refusal(env), f"expected the permission of b not to count; found {answer}")
    env.forget("b.test")
    try:
        env.allow("c.test")
        _question_from(env, agent, ["c.test"], lambda options: env.ask(agent, options, *jump, host=env.c))
    finally:
        env.forget("c.test")
        env.allow("b.test")


def other_socket(env):
    """`ForwardAgent` with a path, and another agent for the login."""
    agent, other = env.start_agent(), env.keep(OtherAgent(env))
    options = ("-o", f"IdentityAgent={other.socket}", "-o", f"ForwardAgent={agent.socket}")
    _question_from(env, agent, ["b.test"], lambda request: env.ask(agent, request, *options))


def remote_forward(env):
    """A socket by `RemoteForward` proves no host, whether the login used the agent or not."""
    missing, message, prompts = refusal(env), website("get", env.site.request_options(allow="any")), env.prompts.count
    restricted = env.folder.sockets / "forwarded.sock"
    agent = env.start_agent("--restricted-socket", restricted)
    ways = ((agent.socket, ()), (agent.socket, ("-o", "IdentityAgent=none")), (restricted, ()))
    for number, (path, login) in enumerate(ways):
        there = f"/tmp/forwarded-{number}.sock"
        found = env.raw(agent, message, through=lambda command: f"SSH_AUTH_SOCK={there} {command}",
                        options=("-a", "-R", f"{there}:{path}", *login))
        must([answer for answer, _ in found] == [missing], f"expected a refusal; found {found}")
    must(env.prompts.count == prompts, "expected no question; found one")


def forgery(env):
    """b gets a socket by `RemoteForward` and forwards it to c, which is permitted: b would pass for c."""
    missing, message = refusal(env), website("get", env.site.request_options(allow="any"))
    restricted = env.folder.sockets / "forged.sock"
    agent = env.start_agent("--restricted-socket", restricted)
    before, prompts = len(env.journal()), env.prompts.count
    env.forget("b.test")
    try:
        env.allow("c.test")
        for number, path in enumerate((agent.socket, restricted)):
            there = f"/tmp/forged-{number}.sock"
            found = env.raw(agent, message, through=lambda command: f"export SSH_AUTH_SOCK={there}; {env.hop(command)}",
                            options=("-a", "-R", f"{there}:{path}"))
            must([answer for answer, _ in found] == [missing], f"expected a refusal; found {found}")
        must(env.prompts.count == prompts, "expected no question; found one")
        env.recorded(before, *[("refused", "several first hosts")] * 2)
    finally:
        env.forget("c.test")
        env.allow("b.test")


def shared_connection(env):
    """Sessions of one connection (ControlMaster) name the same host, also without -A in the second one."""
    agent = env.start_agent()
    path = env.folder.sockets / "master"
    control = ("-o", f"ControlPath={path}")
    master = env.ssh(agent, "echo ready; sleep 600", "-o", "ControlMaster=yes", *control)
    env.waiting.until("the connection", lambda: "ready" in master.said(), 60)
    _question_from(env, agent, ["b.test"], lambda request: env.ask(agent, request, "-a", *control))
    master.stop()


def named_socket(env):
    """A socket of its own for a container: it has permissions by its name, which no host has."""
    path = env.folder.sockets / "dev.sock"
    agent = env.start_agent("--named-socket", f"dev={path}")
    message = website("get", env.site.request_options(allow="any"))
    missing = refusal(env)
    must(env.raw_here(path, message) == [missing], "expected a refusal without a permission; found another answer")
    env.allow("socket:dev")
    try:
        must(env.raw_here(agent.socket, message) == [missing],
             "expected the permission not to count on the agent's own socket; it does")
        _question_from(env, agent, ["socket:dev"], lambda options: env.ask_here(path, options))
    finally:
        env.forget("socket:dev")


def restricted_socket(env):
    """The socket that is only for forwarding, by `ForwardAgent`."""
    path = env.folder.sockets / "restricted.sock"
    agent = env.start_agent("--restricted-socket", path)
    _question_from(env, agent, ["b.test"], lambda options: env.ask(agent, options, "-o", f"ForwardAgent={path}"))


def no_agent(env):
    """No agent, another agent, a dead socket: one line, and status 69."""
    found = []
    for options in ("-a", "-A"):
        agent = env.keep(OtherAgent(env))
        ask = env.ask(agent, env.site.request_options(allow="any"), options)
        env.ended(ask)
        must(ask.status == 69, f"expected status 69; it {ask.ending}")
        found.append(ask.complaint())
        doctor = env.ssh(agent, "hybrid-remote doctor", options)
        env.ended(doctor)
        must(doctor.status == 69, f"expected status 69 of the doctor; it {doctor.ending}: {doctor.said()}")
    env.dead_socket()
    ask = env.ask_on_b(env.site.request_options(allow="any"), "SSH_AUTH_SOCK=/tmp/dead.sock")
    env.ended(ask)
    must(ask.status == 69, f"expected status 69; it {ask.ending}")
    found.append(ask.complaint())
    must(len(set(found)) == 1, f"expected the same line; found {found}")
    return found[0]


def stale(env):
    """A program without a session, or with the socket of an ended one, finds the agent of the newest session."""
    agent = env.start_agent()
    session = env.ssh(agent, "echo ready; sleep 600")
    env.waiting.until("the session", lambda: "ready" in session.said(), 60)
    env.dead_socket()
    for variables in ((), ("SSH_AUTH_SOCK=/tmp/dead.sock",)):
        _question_from(env, agent, ["b.test"], lambda options: env.ask_on_b(options, *variables))
        doctor = env.b.inside("env", *variables, "hybrid-remote", "doctor")
        must("an agent that knows a phone" in doctor.stdout, f"expected the agent in the doctor's report; found {doctor}")
    session.stop()


def ssh_keys(env):
    """The agent lists its SSH keys on other connections while a question is open; no website gets their passkeys."""
    agent = env.start_agent()
    env.needs_passkey()
    with_err = ["sh", "-c", 'exec "$@" 2>"$0"', env.folder.path("keygen.err")]
    variables = {**env.environment, "SSH_AUTH_SOCK": str(agent.socket)}
    keygen = env.keep(Program("hybrid-key", [*with_err, env.programs.key, "ssh-keygen", "--comment", "key", *env.route],
                              log=env.folder.path("keygen.log"), environment=variables))
    env.scanned(env.prompts.next(program=keygen), keygen)
    options = env.site.request_options()
    ask = env.ask(agent, options)
    prompt = env.question(ask)
    here = brief([env.openssh["ssh-add"], "-L"], environment=variables).stdout
    there = env.ssh(agent, "ssh-add -L")
    env.ended(there)
    must(here and there.said() == here == keygen.said(), f"expected the key on both hosts; found {there.said()} and {here}")
    prompt.answer("proceed")
    env.scanned(prompt, ask)
    env.site.verify_request(ask.response, options["challenge"])
    domain = next(entry["rp_id"] for entry in env.journal() if entry["result"] == "created")
    message = website("get", {**env.site.request_options(allow="any"), "rpId": domain}, f"https://{domain}")
    (answer, _), = env.raw(agent, message)
    must(answer == refusal(env), f"expected the bytes of a missing permission; found {answer}")
    must(env.journal()[-2]["result"].endswith(f"{domain} is the domain of an SSH key, which no website gets"),
         f"expected the reason in the journal; found {env.journal()[-2:]}")


class OtherAgent:
    """OpenSSH's agent, which knows no websites."""

    def __init__(self, env):
        self.socket = env.folder.sockets / f"other-{env.number()}.sock"
        self.program = Program("ssh-agent", [env.openssh["ssh-agent"], "-D", "-a", self.socket], environment=env.environment,
                               log=env.folder.path(f"ssh-agent-{env.number()}.log"))
        env.waiting.until("ssh-agent to listen", self.socket.exists, 60)

    def stop(self):
        return self.program.stop()


WAYS = {
    "two-hops": two_hops, "jump": jump, "other-socket": other_socket, "remote-forward": remote_forward,
    "forgery": forgery, "shared-connection": shared_connection, "named-socket": named_socket,
    "restricted-socket": restricted_socket, "no-agent": no_agent, "stale": stale, "ssh-keys": ssh_keys,
}
