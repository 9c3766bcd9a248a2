// The chat box: streams answers, and measures them as a reader has them.
import { StreamError, describe } from "./api.js";
import { $, el, number, setText } from "./dom.js";
import { operationsOf } from "./facts.js";
import { count, millis, rate } from "./format.js";
import { events } from "./sse.js";

export class Chat {
  #source = null;
  #messages = [];
  #running = null;

  constructor() {
    this.log = $("transcript");
    this.input = $("chat-input");
    $("chat-form").addEventListener("submit", (e) => { e.preventDefault(); this.#send(); });
    this.input.addEventListener("keydown", (e) => {
      if (e.key !== "Enter" || e.shiftKey || e.isComposing) return;
      e.preventDefault();
      this.#send();
    });
    $("chat-stop").addEventListener("click", () => this.#running?.abort());
    $("chat-new").addEventListener("click", () => { this.#clear(); this.input.focus(); });
    this.#clear();
  }

  // use is the runner to talk to; another one knows nothing of what was said.
  use(source) {
    if (this.#source !== source) {
      this.#running?.abort();
      this.#source = source;
      this.#clear();
    }
    this.show();
  }

  get mode() {
    const can = operationsOf(this.#source?.models);
    return can.includes("chat") ? "chat" : can.includes("text_completion") ? "completion" : "none";
  }

  show() {
    const { mode } = this, known = this.#source?.models !== null && this.#source !== null;
    const ready = this.#source?.state === "ready";
    setText($("chat-note"), !known ? "" : { chat: "", completion: "this model has no chat: it goes on from your text", none: "this model writes no text: it embeds or ranks" }[mode]);
    for (const id of ["chat-input", "chat-tokens", "chat-temperature"]) $(id).disabled = known && mode === "none";
    $("chat-system").hidden = $("chat-system-label").hidden = mode !== "chat";
    $("chat-send").disabled = !known || !ready || mode === "none" || this.#running !== null;
    $("chat-stop").disabled = this.#running === null;
    $("chat-new").disabled = this.#messages.length === 0 || this.#running !== null;
  }

  #clear() {
    this.#messages = [];
    this.log.replaceChildren(el("p", { class: "empty" }, "What you ask here is counted under the origin studio."));
    this.show();
  }

  async #send() {
    const text = this.input.value.trim();
    if (text === "" || $("chat-send").disabled) return;
    if (this.#messages.length === 0) this.log.replaceChildren();
    this.#messages.push({ role: "user", content: text });
    this.input.value = "";
    this.log.append(bubble("user", "You", text).whole);
    const answer = bubble("assistant", this.#source.models[0].id, "");
    answer.whole.classList.add("streaming");
    this.log.append(answer.whole);
    setText($("chat-status"), "The answer has begun.");
    const running = this.#running = new AbortController();
    this.show();
    const m = { sent: performance.now(), first: null, last: null, pieces: 0, usage: null, finish: null };
    let failure = "";
    try {
      await this.#stream(text, running.signal, answer, m);
    } catch (err) {
      if (!running.signal.aborted) failure = describe(err);
    }
    this.#running = null;
    answer.whole.classList.remove("streaming");
    if (failure) answer.whole.append(el("p", { class: "error" }, `Failed: ${failure}.`));
    if (answer.text.textContent) this.#messages.push({ role: "assistant", content: answer.text.textContent });
    else this.#messages.pop(); // a question without an answer isn't asked again with the next one
    answer.whole.append(measured(m, running.signal.aborted));
    setText($("chat-status"), failure ? `The answer failed: ${failure}` : running.signal.aborted ? "Stopped." : `The answer is complete: ${answer.text.textContent}`);
    this.#follow();
    this.show();
  }

  async #stream(text, signal, answer, m) {
    const body = {
      model: this.#source.models[0].id, stream: true, stream_options: { include_usage: true },
      max_tokens: integer($("chat-tokens"), 256), temperature: Number($("chat-temperature").value) || 0,
    };
    const chat = this.mode === "chat", system = $("chat-system").value.trim();
    if (chat) body.messages = [...(system ? [{ role: "system", content: system }] : []), ...this.#messages];
    else body.prompt = text;
    const reply = await this.#source.client.open(chat ? "v1/chat/completions" : "v1/completions", { body, signal });
    for await (const data of events(reply)) {
      if (data === "[DONE]") return;
      const chunk = JSON.parse(data);
      if (chunk.error) throw new StreamError(chunk.error.message);
      if (chunk.usage) m.usage = chunk.usage;
      const choice = chunk.choices?.[0];
      if (!choice) continue;
      if (choice.finish_reason) m.finish = choice.finish_reason;
      const said = (chat ? choice.delta?.content : choice.text) ?? "", thought = choice.delta?.reasoning_content ?? "";
      if (said || thought) {
        m.last = performance.now();
        m.first ??= m.last;
        m.pieces++;
        if (thought) answer.think(thought);
        if (said) answer.text.append(said);
        this.#follow();
      }
    }
    throw new StreamError("the answer broke off");
  }

  // follow keeps the end in sight, unless the reader has scrolled away from it.
  #follow() {
    const { log } = this;
    if (log.scrollHeight - log.scrollTop - log.clientHeight < 120) log.scrollTop = log.scrollHeight;
  }
}

const integer = (input, otherwise) => Math.max(1, Math.floor(Number(input.value)) || otherwise);

function bubble(role, who, text) {
  const words = el("div", { class: "text" }, text);
  const whole = el("div", { class: `msg ${role}` }, el("div", { class: "who" }, who), words);
  let thoughts = null;
  const think = (more) => {
    if (thoughts === null) words.before(thoughts = el("div", { class: "thought" }));
    thoughts.append(more);
  };
  return { whole, text: words, think };
}

// measured says what the page saw of an answer, and what the server counted. Tokens come in pieces of text: without the server's count
// of them a rate is of pieces.
function measured(m, stopped) {
  const tokens = m.usage?.completion_tokens ?? m.pieces;
  const per = m.last > m.first && tokens > 1 ? (tokens - 1) / ((m.last - m.first) / 1000) : null;
  const part = (name, label, value, text) => el("span", {}, `${label} `, el("b", { "data-measured": name }, number(value, text)));
  const first = m.first === null ? null : m.first - m.sent, u = m.usage;
  return el("div", { class: "measured" },
    part("ttft", "TTFT", first, millis(first)), part("rate", m.usage ? "tok/s" : "pieces/s", per, rate(per)),
    u && part("prompt", "prompt", u.prompt_tokens, count(u.prompt_tokens)),
    u && part("cached", "cached", u.prompt_tokens_details?.cached_tokens ?? 0, count(u.prompt_tokens_details?.cached_tokens ?? 0)),
    part("output", u ? "output" : "pieces", tokens, count(tokens)),
    el("span", { class: "note" }, stopped ? "stopped" : m.finish ?? ""));
}
