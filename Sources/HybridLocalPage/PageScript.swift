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
        // Stages that pass in a moment stay this long, in milliseconds, so that they can be read.
        const dwell = 700;
        const passing = ["found", "connecting"];
        const element = (name) => document.getElementById(name);
        const coming = [];
        let news = null;
        let stageShown = 0;
        let pause = null;
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

        function isLast(some) {
          return some.stage === "done" || some.stage === "failed";
        }

        function isOver() {
          return news !== null && isLast(news);
        }

        function tick() {
          if (news === null) return;
          const since = isOver() ? 0 : performance.now() - news.heard;
          const all = clock(news.elapsed + since);
          setText("elapsed", isOver() ? all : `${clock(news.stageElapsed + since)} (${all} in all)`);
        }

        // A passing stage is left for a failure at once, and the code for whatever follows.
        function advance() {
          while (coming.length > 0 && pause === null) {
            const rest = stageShown + dwell - performance.now();
            if (news && passing.includes(news.stage) && coming[0].stage !== "failed" && rest > 0) {
              pause = setTimeout(() => { pause = null; advance(); }, rest);
              return;
            }
            show(coming.shift());
          }
        }

        function show(fresh) {
          if (!news || news.stage !== fresh.stage) stageShown = performance.now();
          news = fresh;
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
          const before = news || { site: "this site", operation: "signIn", elapsed: 0, stageElapsed: 0, heard: 0 };
          show({
            ...before, stage: "failed", code: null, host: null,
            cause: "hybrid-client is gone, or this page is open too often.",
            remedy: "PictureView at the terminal where you started it.",
          });
        }

        const source = new EventSource("/events");
        source.onopen = () => { clearTimeout(lost); lost = null; };
        source.onmessage = (event) => {
          const fresh = JSON.parse(event.data);
          if (isLast(fresh)) source.close();
          coming.push({ ...fresh, heard: performance.now() });
          advance();
        };
        source.onerror = () => {
          if (source.readyState === EventSource.CLOSED) giveUp();
          else if (lost === null) lost = setTimeout(giveUp, patience);
        };
        setInterval(tick, 1000);
        """#
}
