// SPDX-License-Identifier: Apache-2.0
// Shows the newest event, counts seconds, and reports when the program is gone.
// Contents of events are set as text or attributes, never as markup.
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
// The other device is no phone that signs in, but one that gives passkeys or its vault.
const transfers = { receive: "Receive passkeys", join: "Join a vault" };
const transferSentences = {
  scan: "Scan this code with the other device: hybrid-auth give",
  found: "Other device found",
  confirm: "Compare the digits on both devices",
};
// The time without a connection, in milliseconds, after which the program counts as gone.
const lossTimeout = 5000;
// The least time, in milliseconds, for which short stages are shown, so that users can read them.
const minimumDisplay = 700;
const passing = ["found", "connecting"];
const element = (name) => document.getElementById(name);
const pending = [];
let current = null;
let stageShown = 0;
let displayTimer = null;
let lossTimer = null;

function setText(name, text) {
  // A screen reader would read an unchanged text again.
  if (element(name).textContent !== text) element(name).textContent = text;
}

function words(stage) {
  return (current.operation in transfers && transferSentences[stage]) || sentences[stage];
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
  const now = stages.indexOf(current.stage);
  element("steps").hidden = current.stage === "failed";
  for (const item of element("steps").children) {
    const index = stages.indexOf(item.dataset.stage);
    if (current.operation in transfers && item.dataset.stage in transferSentences) {
      item.textContent = words(item.dataset.stage);
    }
    item.classList.toggle("past", index < now || current.stage === "done");
    if (index === now) item.setAttribute("aria-current", "step");
    else item.removeAttribute("aria-current");
  }
}

function clock(milliseconds) {
  const seconds = Math.floor(milliseconds / 1000);
  return `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")}`;
}

function isLast(event) {
  return event.stage === "done" || event.stage === "failed";
}

function isOver() {
  return current !== null && isLast(current);
}

function tick() {
  if (current === null) return;
  const since = isOver() ? 0 : performance.now() - current.received;
  const all = clock(current.elapsed + since);
  setText("elapsed", isOver() ? all : `${clock(current.stageElapsed + since)} (${all} in all)`);
}

// A failure ends a short stage at once, and any stage ends the code.
function advance() {
  while (pending.length > 0 && displayTimer === null) {
    const rest = stageShown + minimumDisplay - performance.now();
    if (current && passing.includes(current.stage) && pending[0].stage !== "failed" && rest > 0) {
      displayTimer = setTimeout(() => { displayTimer = null; advance(); }, rest);
      return;
    }
    show(pending.shift());
  }
}

function show(next) {
  if (!current || current.stage !== next.stage) stageShown = performance.now();
  current = next;
  const heading = transfers[current.operation]
    || (current.operation === "create" ? "Create a passkey for " : "Sign in to ") + current.site;
  setText("heading", heading);
  element("warning").hidden = !current.warning;
  setText("warning", current.warning || "");
  drawCode(current.code);
  markSteps();
  setText("status", words(current.stage) + (current.host ? ` through ${current.host}` : ""));
  element("failure").hidden = !current.cause;
  setText("cause", current.cause || "");
  setText("remedy", current.remedy || "");
  element("closing").hidden = isOver();
  document.title = `${words(current.stage)} – ${current.site || heading}`;
  document.documentElement.dataset.stage = current.stage;
  tick();
}

function giveUp() {
  source.close();
  const before = current || { site: "this site", operation: "signIn", elapsed: 0, stageElapsed: 0, received: 0 };
  show({
    ...before, stage: "failed", code: null, host: null,
    cause: "hybrid-client has ended, or this page is open in too many tabs.",
    remedy: "Look at the terminal where you started it.",
  });
}

const source = new EventSource("/events");
source.onopen = () => { clearTimeout(lossTimer); lossTimer = null; };
source.onmessage = (event) => {
  const next = JSON.parse(event.data);
  if (isLast(next)) source.close();
  pending.push({ ...next, received: performance.now() });
  advance();
};
source.onerror = () => {
  if (source.readyState === EventSource.CLOSED) giveUp();
  else if (lossTimer === null) lossTimer = setTimeout(giveUp, lossTimeout);
};
setInterval(tick, 1000);
