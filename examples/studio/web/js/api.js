// Requests to the server that the page is from. All of them say that they come from here, and bring the reader's key if there is one.
import { getKey } from "./key.js";

// An ApiError is an answer that refuses: its status, and the code and message of its JSON where it has any.
export class ApiError extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

// A StreamError ends an answer that had begun.
export class StreamError extends Error {}

const patience = 15000; // ms for an answer's head and body; streams only have their head limited

export class Client {
  // base is put before all paths: "" for this server, a relay's address for a runner behind it.
  constructor(base = "") { this.base = base; }

  async get(path, signal) {
    const limit = AbortSignal.any([AbortSignal.timeout(patience), ...(signal ? [signal] : [])]);
    return (await this.#send(path, { signal: limit })).json();
  }

  // open begins to read a stream and returns the answer; signal ends it at any time.
  async open(path, { body, signal } = {}) {
    const init = { signal };
    if (body !== undefined) Object.assign(init, { method: "POST", body: JSON.stringify(body) });
    return this.#send(path, init);
  }

  async #send(path, init) {
    const headers = { "x-paddock-origin": "studio" };
    if (init.body !== undefined) headers["content-type"] = "application/json";
    const key = getKey();
    if (key) headers.authorization = `Bearer ${key}`;
    const answer = await fetch(this.base + path, { ...init, headers, cache: "no-store", redirect: "error", referrerPolicy: "no-referrer" });
    if (!answer.ok) throw await refusal(answer);
    return answer;
  }
}

async function refusal(answer) {
  let code = "", message = "";
  try {
    const { error } = await answer.json();
    code = error.code ?? error.type ?? "";
    message = error.message ?? "";
  } catch { /* not JSON: the status says all */ }
  return new ApiError(answer.status, code, message || `the server answered with status ${answer.status}`);
}

// describe says plainly why something failed.
export function describe(err) {
  if (err instanceof ApiError || err instanceof StreamError) return err.message;
  if (err?.name === "TimeoutError") return "the server does not answer in time";
  return "the server can't be reached";
}
