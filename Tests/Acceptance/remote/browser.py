# SPDX-License-Identifier: Apache-2.0
"""A real Chromium with the extension on b, which has no radio; the question and the phone are here."""
import json
import shutil
import time
from pathlib import Path
from types import SimpleNamespace

from endings import SOON, STAGES
from environment import ORIGIN
from harness.browser import Browser
from harness.command import REPOSITORY
from harness.phone import Person
from harness.programs import Program
from harness.waiting import must, poll
from webauthn.helpers import base64url_to_bytes

PAGE = REPOSITORY / "Tests" / "Acceptance" / "extension" / "page.html"
DEPLOYED = REPOSITORY / "deploy" / "remote"
SALT = {"first": "c2FsdA"}
# Another site on the same server.
OTHER = "news.localhost"
# That of a frame in the page.
FRAME_CHALLENGE = "AAECAwQFBgcICQoLDA0ODw"


class RemoteBrowser:
    """Chromium on b with the files of the package hybrid-remote, and the website, which only b reaches."""

    def __init__(self, env):
        self._env, folder = env, env.b.folder
        self._session = None
        (folder / "site").mkdir()
        shutil.copy(PAGE, folder / "site" / "index.html")
        shutil.copytree(REPOSITORY / "Extension", folder / "extension")
        # The browser's folder of the user, which tells `hybrid-remote announce` that there is a browser.
        (folder / "home" / ".config" / "chromium").mkdir(parents=True)
        script = (DEPLOYED / "hybrid-remote-host").read_text().replace("/usr/bin/", "/tmp/bin/")
        (folder / "bin" / "hybrid-remote-host").write_text(script)
        (folder / "bin" / "hybrid-remote-host").chmod(0o755)
        manifests = folder / "browser" / "profile" / "NativeMessagingHosts"
        manifests.mkdir(parents=True)
        (manifests / "hybrid.remote.json").write_text(
            (DEPLOYED / "hybrid.remote.json").read_text().replace("/usr/libexec/", "/tmp/bin/"))
        self.server = env.keep(Program(
            "http.server", env.b.words("python3", "-u", "-m", "http.server", "--bind", "127.0.0.1", "--directory", "/tmp/site",
                                       "8000"), log=env.folder.path("site.log"), environment=env.environment))
        self.browser = env.keep(Browser(
            SimpleNamespace(scratch=Path("/tmp/browser"), path=env.folder.path),
            SimpleNamespace(environment=env.folder.environment()), "unix:path=/tmp/there-is-no-bus", {OTHER: "127.0.0.1"}, env.waiting,
            command=env.b.words(), switches=("--headless=new", "--load-extension=/tmp/extension")))
        self.tab = self.browser.tab
        until_serving(env, self.server)
        self.tab.open(f"{ORIGIN}/")

    def announce(self, agent):
        """Begins an ssh session that is announced; it prints `ready` then."""
        return self._env.ssh(agent, "hybrid-remote announce && echo ready; sleep 600")

    def is_attached(self):
        """Returns what a page can see: Chromium offers no autofill while an extension answers requests."""
        return not self.tab.evaluate("PublicKeyCredential.getClientCapabilities().then((c) => c.conditionalGet)")

    def session(self, agent):
        """Begins an ssh session with an agent in place of earlier ones, announces it, waits for the extension."""
        env = self._env
        session = self.announce(agent)
        env.waiting.until("the session", lambda: "ready" in session.said(), 60)
        if self._session:
            self._session.stop()
        self._session = session
        env.waiting.until("the extension to attach", self.is_attached, 30)

    def kill_session(self):
        self._session.kill()

    def request(self, ceremony, options, tab=None, **more):
        """Starts a request of a page; returns the prompt with its question, which shows no code."""
        tab = tab or self.tab
        tab.show()
        tab.heard()
        tab.call("Runtime.evaluate", userGesture=True,
                 expression=f"void perform({json.dumps(ceremony)}, {json.dumps(options)}, {json.dumps(more)})")
        tab.wait_for("asking", "the page to be in front and to request a credential", 60)
        return self.question()

    def question(self):
        """Returns the next prompt, which asks its user and shows no code."""
        prompt = self._env.question(self.browser.program)
        must(prompt.code is None, f"expected no code before the answer; found {prompt.events}")
        return prompt

    def end(self, tab=None):
        """Returns the page's message about the end of its request."""
        tab = tab or self.tab
        return self._env.waiting.until("the page to get an end of its request", lambda: next(
            (said for said in tab.heard() if said["event"] in ("fulfilled", "rejected")), None), 60)

    def confirm(self, prompt, person=Person()):
        """Confirms the question and the request on the phone; returns the page's message."""
        env = self._env
        prompt.answer("proceed")
        env.code(prompt, self.browser.program)
        phone = env.scan(prompt, person)
        said = self.end()
        env.ended(phone)
        return said

    def fulfilled(self, ceremony, options):
        """Returns prompt and response of a whole ceremony, which both libraries accept."""
        prompt = self.request(ceremony, options)
        said = self.confirm(prompt)
        must(said["event"] == "fulfilled", f"expected a response; the page got {said}")
        verify = self._env.site.verify_creation if ceremony == "create" else self._env.site.verify_request
        verify(said["response"], options["challenge"])
        return prompt, said["response"]

    def rejected(self, name, said):
        must(said.get("error") == name, f"expected {name}; the page got {said}")


def _browser(env):
    """Returns the browser, which the first case starts, with an agent of its own."""
    if not hasattr(env, "remote_browser"):
        env.remote_browser = RemoteBrowser(env)
    agent = env.start_agent()
    env.remote_browser.session(agent)
    return env.remote_browser, agent


def attach(env):
    """Without a session, requests are Chromium's own; a session is announced, and the extension attaches."""
    env.remote_browser = RemoteBrowser(env)
    must(not env.remote_browser.is_attached(), "expected Chromium's own dialog without a session; the extension is attached")
    began = time.monotonic()
    env.remote_browser.session(env.start_agent())
    return f"attached {time.monotonic() - began:.1f} s after the start of ssh"


def register(env):
    browser, _ = _browser(env)
    before = len(env.journal())
    prompt, _ = browser.fulfilled("create", env.site.creation_options())
    must(prompt.request["operation"] == "remote-create" and prompt.request["hosts"] == ["b.test"],
         f"expected the question of a registration; found {prompt.request}")
    env.recorded(before, ("signed", "localhost", "b.test"))


def sign_in(env):
    """With a list, then without one."""
    env.needs_passkey()
    browser, _ = _browser(env)
    browser.fulfilled("get", env.site.request_options())
    _, response = browser.fulfilled("get", env.site.request_options(allow="any"))
    must(response["response"].get("userHandle"), f"expected the account; found {response}")


def prf(env):
    """The secrets at the registration and at the sign-in agree."""
    browser, _ = _browser(env)
    _, created = browser.fulfilled("create", env.site.creation_options(extensions={"prf": {"eval": SALT}}))
    prompt, response = browser.fulfilled("get", env.site.request_options(extensions={"prf": {"eval": SALT}}))
    must(prompt.request.get("secret") is True, f"expected a question about a secret; found {prompt.request}")
    first, second = (one["clientExtensionResults"]["prf"].get("results", {}).get("first") for one in (created, response))
    must(second and first == second, f"expected equal secrets; found {first} and {second}")


def refused(env):
    """Declined at the question and on the phone, excluded: the page gets the names of WebAuthn."""
    env.needs_passkey()
    browser, agent = _browser(env)
    prompt = browser.request("get", env.site.request_options())
    prompt.answer("cancel")
    browser.rejected("NotAllowedError", browser.end())
    prompt = browser.request("get", env.site.request_options())
    browser.rejected("NotAllowedError", browser.confirm(prompt, Person(answer="no")))
    prompt = browser.request("create", env.site.creation_options(exclude_known=True))
    browser.rejected("InvalidStateError", browser.confirm(prompt))


def unasked(env):
    """A page asks for a passkey without a click: Chromium passes that on, and a question opens, but no code."""
    browser, _ = _browser(env)
    prompt = browser.request("create", env.site.creation_options(), mediation="conditional")
    prompt.answer("cancel")
    browser.rejected("NotAllowedError", browser.end())


def frame(env):
    """A frame in a page of another site: the client data has both."""
    env.needs_passkey()
    browser, _ = _browser(env)
    browser.tab.open(f"http://{OTHER}:8000/")
    browser.tab.evaluate(f"addFrame('{ORIGIN}/#get')")
    said = browser.confirm(browser.question())
    must(said["event"] == "fulfilled", f"expected a response; the page got {said}")
    env.site.verify_request(said["response"], FRAME_CHALLENGE)
    data = json.loads(base64url_to_bytes(said["response"]["response"]["clientDataJSON"]))
    must((data["crossOrigin"], data.get("topOrigin")) == (True, f"http://{OTHER}:8000"),
         f"expected the origin of the page around the frame; found {data}")
    browser.tab.open(f"{ORIGIN}/")


def until_serving(env, server):
    """Waits for a website: a page that does not load is not loaded again."""
    env.waiting.until("the website", lambda: "Serving HTTP" in server.said(), 60)


def _left(env, prompt, agent, what):
    """Returns the seconds until nothing of a request is left on either host."""
    began = time.monotonic()
    left = {"the prompt": lambda: not prompt.is_gone, "the ceremony": agent.ceremonies,
            "hybrid-remote on b": lambda: env.b.processes()}
    must(poll(lambda: not any(is_left() for is_left in left.values()), SOON),
         f"{what}: expected nothing to be left after {SOON} s; found "
         f"{[name for name, is_left in left.items() if is_left()]}")
    return time.monotonic() - began


def _ended_by(end):
    """Returns a case in which a page ends its request, while the question is open and while the code is shown."""
    def case(env):
        env.needs_passkey()
        notes = []
        for stage in STAGES:
            browser, agent = _browser(env)
            tab = browser.browser.new_tab()
            tab.open(f"{ORIGIN}/")
            prompt = browser.request("get", env.site.request_options(), tab)
            if stage == "code":
                prompt.answer("proceed")
                env.code(prompt, browser.browser.program)
            before = len(env.journal())
            is_closed = end(browser, tab)
            notes.append(f"{stage}: {_left(env, prompt, agent, stage):.2f} s")
            env.recorded(before, ("cancelled", "localhost", "b.test"))
            if not is_closed:
                tab.close()
            browser.tab.show()
        return "; ".join(notes)

    return case


def _abort(browser, tab):
    tab.evaluate("abort.abort()")
    browser.rejected("AbortError", browser.end(tab))


def _leave(_, tab):
    tab.evaluate("location.href = '/?other'; 0")


def _reload(_, tab):
    tab.reload()


def _close(_, tab):
    tab.close()
    return True


def session_killed(env):
    """The ssh session is killed: the page's request ends, and so does everything here."""
    env.needs_passkey()
    browser, agent = _browser(env)
    prompt = browser.request("get", env.site.request_options())
    browser.kill_session()
    seconds = _left(env, prompt, agent, "the session")
    browser.rejected("NotAllowedError", browser.end())
    return f"{seconds:.2f} s"


BROWSER = {
    "browser-attach": attach, "browser-register": register, "browser-sign-in": sign_in, "browser-prf": prf,
    "browser-refused": refused,
    "browser-unasked": unasked, "browser-frame": frame, "browser-aborted": _ended_by(_abort), "browser-left": _ended_by(_leave),
    "browser-reloaded": _ended_by(_reload), "browser-closed": _ended_by(_close), "browser-session-killed": session_killed,
}
