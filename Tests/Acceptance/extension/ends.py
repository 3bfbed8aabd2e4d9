# SPDX-License-Identifier: Apache-2.0
"""Cases of requests whose page, worker, time or browser ends: the host ends, too, and no page waits."""
import json

from harness.waiting import must


def aborted(env):
    _, call = env.request()
    env.tab.evaluate("abort.abort()")
    env.rejected("AbortError")
    env.ended(call)


def left(env):
    """Another page in the same tab."""
    _, call = env.request()
    env.tab.open(env.address("news.localhost"))
    env.ended(call)
    env.tab.open(env.site.address)


def left_at_once(env):
    """The page leaves before its host has started, as after a sign-in with a password; several times, because it is a race."""
    for _ in range(5):
        options, next_page = json.dumps(env.site.creation_options()), json.dumps(env.address("news.localhost"))
        env.tab.evaluate(f"void perform('create', {options}); location.href = {next_page}; 0")
        env.tab.wait_for("ready", "the next page to load", 30)
        env.waiting.until("the record of the request to go", lambda: not env.records()["requests"], 60)
        env.tab.open(env.site.address)
    env.answered(*env.request())


def left_unnoticed(env):
    """The page leaves after its frames were listed and before the request counts as theirs, so that the event finds none."""
    worker = env.worker()
    worker.evaluate("""globalThis.listed = chrome.webNavigation.getAllFrames;
        chrome.webNavigation.getAllFrames = async (tab) => {
            const frames = await listed(tab);
            chrome.webNavigation.getAllFrames = listed;
            globalThis.isListed = true;
            await new Promise((goOn) => globalThis.goOn = goOn);
            return frames;
        }; 0""")
    # The only tab, because each list would wait.
    env.ask()
    env.waiting.until("the extension to list the frames", lambda: worker.evaluate("globalThis.isListed === true"), 60)
    env.tab.open(env.address("news.localhost"))
    worker.evaluate("goOn(); 0")
    worker.detach()
    env.waiting.until("the record of the request to go", lambda: not env.records()["requests"], 60)
    env.tab.open(env.site.address)


def reloaded(env):
    _, call = env.request()
    env.tab.reload()
    env.ended(call)
    env.tab.wait_for("ready", "the page to load again", 30)


def closed(env):
    tab = env.new_page()
    _, call = env.request(tab=tab)
    tab.close()
    env.ended(call)
    env.tab.show()


def frame_removed(env):
    """A frame that disappears causes no event; the alarm finds it, which the test does not wait for."""
    env.tab.evaluate(f"addFrame({env.address('shop.localhost') + '#get'!r})")
    call = env.call()
    env.tab.evaluate("document.querySelector('iframe').remove()")
    env.inspected("chrome.alarms.create('requests', { when: Date.now() })")
    env.ended(call)


def stays(env):
    """A page that changes its address or its contents is the same page."""
    options, call = env.request()
    env.tab.evaluate("""history.pushState({}, "", "/other"); location.hash = "part"; addFrame("about:blank");
        history.replaceState({}, "", "/third"); history.back(); 0""")
    env.waiting.until("the address to change", lambda: env.tab.evaluate("location.pathname") != "/third", 60)
    other = env.new_page(env.address("news.localhost"))
    other.close()
    env.tab.show()
    env.answered(options, call)
    env.tab.open(env.site.address)


def time_limit(env):
    """Chromium ends no request of a proxy. The limit is the page's, raised to 180 s by Chromium, and ten minutes at most."""
    worker = env.worker()
    # Minutes pass in seconds.
    worker.evaluate("""globalThis.exactly = setTimeout;
        setTimeout = (call, delay) => exactly(call, delay < 100000 ? delay : delay / 60); 0""")
    for timeout in (1, 72_000_000):
        options = {**env.site.request_options(allow="any"), "timeout": timeout}
        _, call = env.request(options=options)
        env.rejected("NotAllowedError")
        env.ended(call)
    worker.evaluate("setTimeout = exactly; 0")
    worker.detach()
    must("in time" in env.popup_text(), "expected the popup to explain the end")


def worker_killed(env):
    """A killed worker: its host ends, and the next worker, which any navigation starts, ends the request."""
    _, call = env.request()
    env.kill_worker()
    env.ended(call)
    env.new_page(env.address("news.localhost")).close()
    env.rejected("NotReadableError")
    env.answered(*env.request())


def worker_killed_alone(env):
    """The same without any event: an alarm starts the next worker, for which the last case but one waits."""
    _, call = env.second.request()
    env.second.kill_worker()
    env.second.ended(call)


def worker_restarted(env):
    if "second" not in vars(env):
        worker_killed_alone(env)
    env.second.rejected("NotReadableError", seconds=60)
    must(env.second.records()["requests"] == [], "expected no record of the request")


def woken(env):
    """A request starts a worker that sleeps; navigations do not."""
    env.kill_worker()
    env.new_page(env.address("news.localhost")).close()
    must(not env.worker_processes(), "expected no worker after a navigation without requests")
    env.tab.show()
    env.answered(*env.request())


def browser_ended(env):
    """A browser that ends closes the hosts."""
    _, call = env.request()
    env.end_browser()
    env.ended(call)


ENDS = {
    "aborted": aborted, "left": left, "left-at-once": left_at_once, "left-unnoticed": left_unnoticed, "reloaded": reloaded, "closed": closed,
    "frame-removed": frame_removed, "stays": stays, "time-limit": time_limit, "worker-killed": worker_killed,
    "woken": woken, "worker-restarted": worker_restarted, "browser-ended": browser_ended,
}
