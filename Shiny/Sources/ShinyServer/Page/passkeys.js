// SPDX-License-Identifier: Apache-2.0
// What the page asks of the browser and of its server. No part of it touches the page, except through `note`.

/** A failure with a sentence for the user; `code` tells causes apart. */
export class Problem extends Error {
  constructor(code, sentence, unknownCredential) {
    super(sentence);
    this.code = code;
    this.unknownCredential = unknownCredential;
  }
}

/** A failure of the browser or of the device, without a request of the site. */
export class BrowserProblem extends Problem {}

const sentences = {
  NotAllowedError: "The browser or your device did not go on. "
    + "Perhaps you cancelled, it took too long, or there was no passkey.",
  InvalidStateError: "That device has a passkey for your account already.",
  SecurityError: "The browser does not let this address use the site's passkeys.",
  NotSupportedError: "That device has no kind of passkey that this site accepts.",
  ConstraintError: "That device cannot verify you. Set up a screen lock, or use another device.",
};

let note = () => {};
let able = {};

/** Sets the function that is told of each call: its name, and its outcome once it is known. */
export function tell(listener) { note = listener; }

/** Returns what the browser can do; empty for browsers without passkeys. */
export async function capabilities() {
  if (!window.PublicKeyCredential?.parseCreationOptionsFromJSON) return {};
  able = await PublicKeyCredential.getClientCapabilities?.() ?? {
    conditionalGet: await PublicKeyCredential.isConditionalMediationAvailable?.(),
  };
  return able;
}

/** Sends a request to the server and returns its answer. */
export async function post(path, body = {}) {
  let response;
  try {
    response = await fetch(path, {
      method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(body), mode: "same-origin",
    });
  } catch {
    throw new Problem("unreachable", "The site can't be reached. Check your connection and try again.");
  }
  const answer = await response.json().catch(() => ({}));
  if (response.ok) return answer;
  throw new Problem(answer.error ?? "failed", answer.message ?? `The site failed (status ${response.status}).`,
    answer.unknownCredential);
}

/** Asks for a passkey of an existing account; `mode` is modal, conditional or immediate. */
export async function get(mode, {signal, remembered = false} = {}) {
  const json = await post("/api/sign-in/options", {remembered});
  const options = {publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(json), signal};
  if (mode === "conditional") options.mediation = "conditional";
  if (mode === "immediate") options.uiMode = "immediate";
  const detail = {modal: remembered ? "{allowCredentials: […]}" : "{}", conditional: '{mediation: "conditional"}',
    immediate: '{uiMode: "immediate"}'}[mode];
  const credential = await called(`credentials.get(${detail})`, () => navigator.credentials.get(options));
  try {
    return await post("/api/sign-in", credential.toJSON());
  } catch (problem) {
    if (problem.unknownCredential) await signalUnknown(json.rpId, problem.unknownCredential);
    throw problem;
  }
}

/** Asks for a new passkey; `path` begins the ceremony at `path`/options and ends it at `path`. */
export async function create(path, body, {conditional = false} = {}) {
  const options = {publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(await post(`${path}/options`, body))};
  if (conditional) options.mediation = "conditional";
  const credential = await called(`credentials.create(${conditional ? '{mediation: "conditional"}' : "{}"})`,
    () => navigator.credentials.create(options));
  return await post(path, credential.toJSON());
}

/** Tells passkey providers which passkeys of the account the site accepts. */
export async function signalAccepted(view) {
  await signal("signalAllAcceptedCredentials", {
    rpId: view.rpId, userId: view.account.userId,
    allAcceptedCredentialIds: view.account.passkeys.map((passkey) => passkey.id),
  });
}

/** Tells passkey providers the account's current names. */
export async function signalDetails(view) {
  const {userId, name, displayName} = view.account;
  await signal("signalCurrentUserDetails", {rpId: view.rpId, userId, name, displayName});
}

async function signalUnknown(rpId, credentialId) {
  await signal("signalUnknownCredential", {rpId, credentialId});
}

async function signal(name, details) {
  if (!window.PublicKeyCredential?.[name]) return;
  // A signal that fails changes nothing for the user.
  await called(name, () => PublicKeyCredential[name](details)).catch(() => {});
}

async function called(name, call) {
  const outcome = note(name);
  try {
    const result = await call();
    outcome?.("done");
    return result;
  } catch (error) {
    if (error.name === "AbortError") {
      outcome?.("ended by this page");
      throw error;
    }
    outcome?.(error.name, true);
    throw new BrowserProblem(error.name, sentences[error.name] ?? `The browser failed: ${error.message}`);
  }
}
