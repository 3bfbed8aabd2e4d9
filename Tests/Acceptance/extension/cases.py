# SPDX-License-Identifier: Apache-2.0
"""Cases of the extension: reachability, answers, and the part of the user. Those of pages that end are in ends.py."""
import struct

from ends import ENDS, worker_killed_alone
from environment import AGENT, NO_AGENT
from harness.waiting import must
from native_host import EXTENSION, frame


def logic(env):
    """The pure modules, in a page that imports them."""
    found = env.tab.evaluate("import('/logic.js').then((module) => module.run())")
    must(not found["failures"], "\n".join(found["failures"]))
    return f"{found['count']} tests"


def starts_without_agent(env):
    """A browser that starts without an agent keeps its own dialog; a session that begins attaches."""
    env.waiting.until("the extension to ask its host", lambda: env.hosts.checks and not env.hosts.running, 30)
    found = env.waiting.until("the extension to record the answer", lambda: env.records().get("state"), 60)
    must(found == {"attached": False, "reason": "no-agent"}, f"expected no attachment; found {found}")
    must(not env.is_attached(), "expected Chromium's own dialog without an agent; the extension is attached")
    env.reach(AGENT)
    attached = {"state": {"attached": True, "via": "ssh"}, "title": "Passkeys: on your laptop’s screen", "badge": ""}
    # A page sees the attachment before the extension has recorded it.
    env.waiting.until("the state and the icon to say where passkeys are",
                      lambda: attached.items() <= env.records().items(), 60)
    platform = "PublicKeyCredential.isUserVerifyingPlatformAuthenticatorAvailable()"
    must(env.tab.evaluate(platform) is False, "expected no platform authenticator")


def register(env):
    options, call = env.request("create")
    must(call.caller == f"chrome-extension://{EXTENSION}/", f"expected our extension; found {call.caller}")
    publicKey = call.request.pop("publicKey")
    must(call.request == {"version": 1, "type": "create", "origin": env.site.address[:-1], "crossOrigin": False},
         f"expected type and origin; the host got {call.request}")
    must("remoteDesktopClientOverride" not in publicKey["extensions"], "expected the site's extensions; found Chromium's")
    call.request["publicKey"] = publicKey
    call.answer({"response": env.passkey.registration(call.request)})
    env.site.verify_creation(env.fulfilled(), options["challenge"])
    env.ended(call)


def sign_in(env):
    env.answered(*env.request())


def hidden_tab(env):
    """Chromium refuses a passkey, which the phone has stored by then, if its tab is hidden; so it is brought to the front."""
    options, call = env.request("create")
    other = env.browser.new_tab()
    env.waiting.until("the first tab to be hidden", lambda: env.tab.evaluate("document.hidden"), 60)
    call.answer({"response": env.passkey.registration(call.request)})
    env.site.verify_creation(env.fulfilled(), options["challenge"])
    other.close()
    env.tab.show()


def errors(env):
    """Names reach the page; a message that is missing is added, without which the page would wait."""
    for error in ({"name": "InvalidStateError", "code": "failed", "message": "said by the host"},
                  {"name": "NotAllowedError", "code": "timed-out", "message": "the host's own limit"},
                  {"name": "NotAllowedError", "code": "refused"}, {"name": "SecurityError"},
                  {"name": "NotAllowedError", "code": "refused", "message": 7}):
        _, call = env.request()
        call.answer({"error": error})
        said = env.rejected(error["name"])
        must(said and said == error.get("message", said) or error.get("message") == 7,
             f"expected the host's message or another; the page got {said!r}")
        env.ended(call)
    must("Not confirmed on your laptop" in env.popup_text(), "expected the popup to explain the refusal")


def malformed(env):
    """Whatever a host writes, the page gets an error at once."""
    response = env.passkey.assertion({"origin": env.site.address[:-1], "crossOrigin": False,
                                      "publicKey": {"challenge": "AA"}})
    strange = {
        "no object": frame(17), "no member": frame({}), "an empty response": frame({"response": {}}),
        "an unknown error": frame({"error": {"name": "Error", "message": "no"}}),
        "a response that Chromium refuses": frame({"response": {
            **response, "response": {**response["response"], "signature": "not base64url!"}}}),
        "the response of a registration": frame({"response": env.passkey.registration({
            "origin": "x", "crossOrigin": False, "publicKey": {"challenge": "AA", "user": {"id": "AA"}}})}),
        "more than 256 KiB": frame({"response": {**response, "padding": "A" * 300_000}}),
        "more than 1 MiB": frame({"response": {**response, "padding": "A" * 1_100_000}}),
    }
    for what, data in strange.items():
        _, call = env.request()
        call.write(data)
        env.rejected("NotReadableError", what=what)
        env.ended(call)
    # Chromium drops a message that is not JSON without an event. The end of the host is one.
    ending = {"no JSON": struct.pack("=I", 4) + b"nope", "invalid UTF-8": struct.pack("=I", 2) + b"\xff\xfe",
              "half an answer": struct.pack("=I", 100) + b'{"response"'}
    for what, data in ending.items():
        _, call = env.request()
        call.write(data)
        call.exit(1)
        env.rejected("NotReadableError", what=what)
        env.ended(call)
    return f"{len(strange) + len(ending)} answers"


def host_missing(env):
    """The page gets an error, and the next request is Chromium's own."""
    env.hosts.install(False)
    env.ask()
    env.rejected("NotReadableError")
    env.wait_until_attached(False)
    must("hybrid-remote does not answer" in env.popup_text(), "expected the popup to name what is missing")
    env.hosts.install(True)
    env.reach(AGENT)


def host_killed(env):
    _, call = env.request()
    call.kill()
    env.rejected("NotReadableError")
    env.ended(call)
    must(env.is_attached(), "expected the extension to stay attached; a phone can still be reached")


def no_agent(env):
    """A request that finds no agent ends; the next one is Chromium's own, unless another one still waits."""
    _, first = env.request()
    other = env.new_page()
    options, second = env.request(tab=other)
    env.hosts.availability = NO_AGENT
    first.refuse(code="no-agent")
    env.rejected("NotAllowedError")
    must(env.is_attached(), "expected the extension to stay attached while another page waits")
    env.answered(options, second, other)
    env.wait_until_attached(False)
    other.close()
    env.reach(AGENT)


def detached(env):
    """A session that ends: the ports are closed before Chromium ends the requests without an event."""
    _, call = env.request()
    env.reach(NO_AGENT)
    env.rejected("NotAllowedError")
    env.ended(call)
    env.waiting.until("the icon to say that it is off",
                      lambda: env.records()["title"] == "Passkeys from your phone: off", 60)
    env.reach(AGENT)


def slot_taken(env):
    """Another extension has the slot: the popup says so, and attaches when the slot is free."""
    env.reach(NO_AGENT)
    rival = env.browser.new_tab()
    rival.go(f"{env.rival}/page.html")
    rival.evaluate("chrome.webAuthenticationProxy.attach()")
    env.hosts.availability = AGENT
    env.announce()
    env.waiting.until("the extension to report the other one",
                      lambda: env.records()["state"] == {"attached": False, "reason": "slot"}, 20)
    must("Another extension" in env.popup_text(), "expected the popup to name the other extension")
    rival.evaluate("chrome.webAuthenticationProxy.detach()")
    rival.close()
    popup = env.popup()
    popup.evaluate("document.getElementById('check').click()")
    env.waiting.until("the popup to say that it is on", lambda: env.text_of(popup).count("\nOn\n"), 20)
    popup.close()
    env.tab.show()
    env.wait_until_attached()


def start_race(env):
    """A request from before stays Chromium's own, and the next one is ours."""
    env.reach(NO_AGENT)
    env.ask()
    env.reach(AGENT)
    env.tab.evaluate("abort.abort()")
    env.rejected("AbortError")
    env.answered(*env.request())


def conditional_create(env):
    """It arrives like an ordinary request, so that the laptop must ask before it shows a code."""
    _, call = env.request("create", mediation="conditional")
    must("mediation" not in call.request and "mediation" not in call.request["publicKey"],
         "expected Chromium to leave out the mediation; the host gets it now, so the laptop could use it")
    call.refuse()
    env.rejected("NotAllowedError")
    env.ended(call)


def two_tabs(env):
    """Both wait at once, and each gets its own answer."""
    other = env.new_page()
    first, second = env.request(), env.request(tab=other)
    must(env.records()["badge"] == "2", "expected the icon to count two requests")
    env.answered(*second, other)
    env.answered(*first)
    other.close()


def frames(env):
    """The top origin is stated if the frame can be in one page only."""
    top = env.new_page(env.address("news.localhost"))
    address = env.address("shop.localhost") + "#get"
    top.evaluate(f"addFrame({address!r})")
    call = env.call()
    must((call.request["crossOrigin"], call.request.get("topOrigin"), call.request["origin"]) ==
         (True, env.address("news.localhost")[:-1], env.address("shop.localhost")[:-1]),
         f"expected frame and top origin; the host got {call.request}")
    call.refuse()
    env.rejected("NotAllowedError", top)
    # The same frame in a page of another site.
    env.tab.evaluate(f"addFrame({address!r})")
    call = env.call()
    must(call.request["crossOrigin"] and "topOrigin" not in call.request,
         f"expected no top origin, which two pages can have; the host got {call.request}")
    call.refuse()
    env.ended(call)
    top.close()
    env.tab.open(env.site.address)


def popup(env):
    """The user sees which website waits, and cancels there."""
    _, call = env.request()
    tab = env.popup()
    must(env.waiting_icon(tab) == ["1", "Passkeys: a website waits for your laptop"], "expected a badge and a title")
    site = f"localhost:{env.server.port}"
    must(f"{site} wants you to sign in." in env.text_of(tab), f"expected the site; found {env.text_of(tab)}")
    roles = env.accessible(tab)
    must(("button", f"Cancel the request of {site}") in roles and ("status", "") in roles,
         f"expected names for screen readers; found {roles}")
    tab.evaluate("document.querySelector('[data-request]').click()")
    env.rejected("NotAllowedError")
    env.ended(call)
    env.waiting.until("the popup to explain the end", lambda: "You cancelled" in env.text_of(tab), 60)
    must(env.waiting_icon(tab) == ["", "Passkeys: on your laptop’s screen"], "expected the badge to go")
    tab.close()
    env.tab.show()


CASES = {
    "logic": logic, "worker-killed-alone": worker_killed_alone, "starts-without-agent": starts_without_agent, "register": register, "sign-in": sign_in,
    "hidden-tab": hidden_tab, "errors": errors, "malformed": malformed, "host-missing": host_missing,
    "host-killed": host_killed, "no-agent": no_agent, "detached": detached, "slot-taken": slot_taken,
    "start-race": start_race, "conditional-create": conditional_create, "two-tabs": two_tabs, "frames": frames,
    "popup": popup, **ENDS,
}
