// SPDX-License-Identifier: Apache-2.0
// The page: shows the session's state and reacts to the user. Texts are set as text, never as markup.
import {BrowserProblem, Problem, capabilities, create, get, post, signalAccepted, signalDetails, tell} from "/passkeys.js";

const element = (id) => document.getElementById(id);
// Challenges expire after five minutes, and a form may stay open for longer.
const refreshTime = 240_000;
let able = {};
let view = null;
let autofill = null;
let selected = null;

// Messages

function message(place, other, text) {
  element(other).textContent = "";
  element(place).textContent = text;
  if (text) element(place).scrollIntoView({block: "nearest"});
}

function say(text) { message("status", "alert", text); }

function complain(text) { message("alert", "status", text); }

tell((call) => {
  const item = document.createElement("li");
  const outcome = document.createElement("span");
  outcome.className = "outcome";
  outcome.textContent = " …";
  item.append(call, outcome);
  element("log").prepend(item);
  while (element("log").children.length > 50) element("log").lastChild.remove();
  return (text, failed) => {
    outcome.textContent = ` → ${text}`;
    outcome.classList.toggle("failed", Boolean(failed));
  };
});

// State

function show(next, {focus = true} = {}) {
  const before = view;
  view = next;
  const account = next.account;
  for (const part of document.querySelectorAll("[data-signed]")) {
    part.hidden = (part.dataset.signed === "in") !== Boolean(account);
  }
  element("remembered").hidden = !next.remembered;
  element("continue").textContent = `Continue as ${next.remembered}`;
  document.title = account ? "Your account – Shiny" : "Sign in – Shiny";
  if (account) {
    element("greeting").textContent = `Hello, ${account.displayName}`;
    element("account-name").value = account.name;
    element("account-display-name").value = account.displayName;
    showPasskeys(account.passkeys);
  }
  const changed = Boolean(before?.account) !== Boolean(account);
  if (changed && before) history.replaceState(null, "", account ? "/account" : "/");
  // Screen readers continue at the new content.
  if (changed && before && focus) element(account ? "greeting" : "welcome").focus();
}

function showPasskeys(passkeys) {
  const day = new Intl.DateTimeFormat(undefined, {dateStyle: "medium"});
  element("no-passkeys").hidden = passkeys.length > 0;
  element("passkeys").replaceChildren(...passkeys.map((passkey) => {
    const item = document.createElement("li");
    const name = document.createElement("strong");
    name.textContent = passkey.name;
    const title = document.createElement("span");
    title.append(name);
    if (passkey.isBackedUp) {
      const badge = document.createElement("span");
      badge.className = "badge";
      badge.textContent = "synced";
      title.append(badge);
    }
    const facts = document.createElement("span");
    facts.className = "facts";
    facts.textContent = `Created ${day.format(passkey.created)}`
      + (passkey.lastUsed ? `, last used ${day.format(passkey.lastUsed)}` : "");
    const buttons = document.createElement("span");
    buttons.className = "buttons";
    buttons.append(button("Rename", passkey, openRename), button("Delete", passkey, openDelete));
    item.append(title, facts, buttons);
    return item;
  }));
}

function button(text, passkey, action) {
  const made = document.createElement("button");
  made.textContent = text;
  made.setAttribute("aria-label", `${text} ${passkey.name}`);
  made.addEventListener("click", () => { selected = passkey; action(); });
  return made;
}

// Actions

let isBusy = false;

/** Runs an action of the user: one at a time, with autofill paused, and with a sentence if it fails. */
async function act(action) {
  if (isBusy) return;
  isBusy = true;
  for (const part of document.querySelectorAll("button")) part.setAttribute("aria-disabled", "true");
  say("");
  stopAutofill();
  try {
    await action();
  } catch (error) {
    if (error.code === "signed-out") show(await post("/api/session"));
    const text = error instanceof Problem ? error.message : `The page failed: ${error.message}`;
    if (error.name !== "AbortError") complain(text);
  } finally {
    isBusy = false;
    for (const part of document.querySelectorAll("button")) part.removeAttribute("aria-disabled");
    startAutofill();
  }
}

function signedIn(next, text) {
  show(next);
  say(text);
  // The user does not wait for signals; browsers accept one at a time.
  signalAccepted(next).then(() => signalDetails(next));
}

/** Offers passkeys in the field for the name until another action begins. */
async function startAutofill() {
  if (!able.conditionalGet || autofill || isBusy || view?.account) return;
  const controller = new AbortController();
  autofill = controller;
  const timer = setTimeout(() => { stopAutofill(); startAutofill(); }, refreshTime);
  let next = null;
  try {
    next = await get("conditional", {signal: controller.signal});
  } catch (error) {
    // The user has asked for nothing unless a passkey was selected, which then reached the server.
    if (error instanceof Problem && !(error instanceof BrowserProblem) && autofill === controller) {
      complain(error.message);
      if (error.unknownCredential) setTimeout(startAutofill);
    }
  } finally {
    clearTimeout(timer);
    if (autofill === controller) autofill = null;
  }
  if (next) signedIn(next, "You signed in with a passkey from autofill.");
}

function stopAutofill() {
  autofill?.abort();
  autofill = null;
}

/** Adds a passkey after a sign-in with a password, without a question; a browser that does not do it shows nothing. */
async function upgrade() {
  if (!able.conditionalCreate || view.account.passkeys.length > 0) return;
  try {
    show(await create("/api/passkeys", {conditional: true}, {conditional: true}), {focus: false});
    say("Your browser has saved a passkey for you. Use it instead of your password next time.");
    signalAccepted(view);
  } catch {
    // Not a failure: the user has asked for nothing.
  }
}

// Signed out

element("quick-sign-in").addEventListener("click", () => act(async () => {
  if (able.immediateGet) {
    try {
      return signedIn(await get("immediate"), "You signed in with a passkey of this device.");
    } catch (error) {
      if (error.code !== "NotAllowedError") throw error;
    }
  }
  say("This device has no passkey at hand. Choose how to sign in.");
  element(view.remembered ? "continue" : "name").focus();
}));

element("passkey-sign-in").addEventListener("click", () => act(async () => {
  signedIn(await get("modal"), "You signed in with a passkey.");
}));

element("continue").addEventListener("click", () => act(async () => {
  signedIn(await get("modal", {remembered: true}), "You signed in with one of your passkeys.");
}));

element("forget").addEventListener("click", () => act(async () => {
  show(await post("/api/forget"));
  element("name").focus();
}));

element("sign-in-form").addEventListener("submit", (event) => {
  event.preventDefault();
  act(async () => {
    const [name, password] = [element("name").value, element("password").value];
    const next = await post("/api/sign-in/password", {name, password});
    element("password").value = "";
    show(next);
    say("You signed in with your password.");
    await upgrade();
  });
});

element("create-form").addEventListener("submit", (event) => {
  event.preventDefault();
  const withPassword = event.submitter?.value === "password";
  act(async () => {
    const names = {name: element("new-name").value, displayName: element("new-display-name").value};
    const next = withPassword
      ? await post("/api/accounts/password", {...names, password: element("new-password").value})
      : await create("/api/accounts", names);
    element("create-form").reset();
    show(next);
    say(withPassword ? "Your account is ready. Add a passkey to sign in without the password."
      : "Your account is ready, and your passkey is saved.");
  });
});

// Signed in

element("sign-out").addEventListener("click", () => act(async () => {
  show(await post("/api/sign-out"));
  say("You are signed out.");
}));

element("add").addEventListener("click", () => act(async () => {
  show(await create("/api/passkeys", {conditional: false}));
  say("The passkey was added.");
  signalAccepted(view);
}));

element("details-form").addEventListener("submit", (event) => {
  event.preventDefault();
  act(async () => {
    show(await post("/api/account/rename", {
      name: element("account-name").value, displayName: element("account-display-name").value,
    }));
    say("Your details were saved, and your passkeys get the new names.");
    signalDetails(view);
  });
});

function openRename() {
  element("passkey-name").value = selected.name;
  element("rename-dialog").showModal();
  element("passkey-name").select();
}

function openDelete() {
  element("delete-text").textContent = `“${selected.name}” will no longer sign you in.`;
  element("delete-dialog").showModal();
}

for (const cancel of document.querySelectorAll("dialog button[value=cancel]")) {
  cancel.addEventListener("click", () => cancel.closest("dialog").close());
}

element("rename-form").addEventListener("submit", () => act(async () => {
  show(await post("/api/passkeys/rename", {id: selected.id, name: element("passkey-name").value}));
  say("The passkey was renamed.");
}));

element("delete-form").addEventListener("submit", () => act(async () => {
  show(await post("/api/passkeys/delete", {id: selected.id}));
  say("The passkey was deleted.");
  element("passkeys-heading").scrollIntoView({block: "nearest"});
  signalAccepted(view);
}));

// Start

able = await capabilities();
for (const [name, value] of Object.entries(able).sort()) {
  const item = document.createElement("li");
  item.textContent = `${value ? "✓" : "–"} ${name}`;
  element("capabilities").append(item);
}
show(await post("/api/session"));
if (Object.keys(able).length === 0) complain("This browser is too old for passkeys. Passwords still work.");
document.documentElement.dataset.ready = "";
startAutofill();
if (location.hash === "#add" && view.account) element("add").focus();
