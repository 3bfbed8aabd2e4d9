// SPDX-License-Identifier: Apache-2.0

/// What the page does: it shows the newest event, counts seconds, and says when the program is gone.
///
/// Whatever comes in events is set as text or as an attribute, never as markup.
enum PageScript {
    static let text = #"""
        "use strict";
        const stages = ["scan", "found", "connecting", "confirm", "done"];
        const sentences = {
          preparing: "Getting ready",
          scan: "Scan this code with your phone",
          found: "Phone found",
          connecting: "Connecting",
          confirm: "Confirm on your phone",
          done: "Done. You can close this page.",
          failed: "It did not work",
        };
        // How long the program may be out of reach, in milliseconds, before it counts as gone.
        const patience = 5000;
        const element = (name) => document.getElementById(name);
        let news = null;
        let heard = 0;
        let lost = null;

        function setText(name, text) {
          // A text that is the same would be read aloud again.
          if (element(name).textContent !== text) element(name).textContent = text;
        }

        function drawCode(code) {
          element("figure").hidden = !code;
          if (code) {
            element("code").setAttribute("viewBox", `0 0 ${code.side} ${code.side}`);
            element("modules").setAttribute("d", code.path);
          } else {
            element("modules").removeAttribute("d");
          }
        }

        function markSteps() {
          const now = stages.indexOf(news.stage);
          element("steps").hidden = news.stage === "failed";
          for (const item of element("steps").children) {
            const place = stages.indexOf(item.dataset.stage);
            item.classList.toggle("past", place < now || news.stage === "done");
            if (place === now) item.setAttribute("aria-current", "step");
            else item.removeAttribute("aria-current");
          }
        }

        function clock(milliseconds) {
          const seconds = Math.floor(milliseconds / 1000);
          return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
        }

        function isOver() {
          return news !== null && (news.stage === "done" || news.stage === "failed");
        }

        function tick() {
          if (news === null) return;
          const since = isOver() ? 0 : performance.now() - heard;
          const all = clock(news.elapsed + since);
          setText("elapsed", isOver() ? all : `${clock(news.stageElapsed + since)} (${all} in all)`);
        }

        function show(fresh) {
          news = fresh;
          heard = performance.now();
          setText("heading", (news.operation === "create" ? "Create a passkey for " : "Sign in to ") + news.site);
          element("warning").hidden = !news.warning;
          setText("warning", news.warning || "");
          drawCode(news.code);
          markSteps();
          setText("status", sentences[news.stage] + (news.host ? ` through ${news.host}` : ""));
          element("failure").hidden = !news.cause;
          setText("cause", news.cause || "");
          setText("remedy", news.remedy || "");
          element("closing").hidden = isOver();
          document.title = `${sentences[news.stage]} – ${news.site}`;
          document.documentElement.dataset.stage = news.stage;
          tick();
        }

        function giveUp() {
          source.close();
          const before = news || { site: "this site", operation: "signIn", elapsed: 0, stageElapsed: 0 };
          show({
            ...before, stage: "failed", code: null, host: null,
            cause: "hybrid-client is gone, or this page is open too often.",
            remedy: "Look at the terminal where you started it.",
          });
        }

        const source = new EventSource("/events");
        source.onopen = () => { clearTimeout(lost); lost = null; };
        source.onmessage = (event) => {
          show(JSON.parse(event.data));
          if (isOver()) source.close();
        };
        source.onerror = () => {
          if (source.readyState === EventSource.CLOSED) giveUp();
          else if (lost === null) lost = setTimeout(giveUp, patience);
        };
        setInterval(tick, 1000);
        """#
}
