// What ended, the newest first, and how each request's time was spent.
import { $, el, number, setText, width } from "./dom.js";
import { clock, count, millis, rate, stamp } from "./format.js";

const shown = 40;
const columns = ["Ended", "Operation", "Origin", "Result", "Prompt", "Cached", "Output", "TTFT", "tok/s", "Duration", "Queue · prefill · decode"];
const numbers = new Set(["Prompt", "Cached", "Output", "TTFT", "tok/s", "Duration"]);

export class Activity {
  #shown = "";

  show(source, origin) {
    const mine = source.events.filter((e) => e["gen_ai.request.model"] === source.model || source.model === "").filter((e) => origin === "" || e["paddock.origin"] === origin);
    const events = mine.slice(0, shown);
    setText($("activity-note"), source.off.events ? "" : `ended requests, the newest ${count(events.length)}${source.missed > 0 ? `; ${count(source.missed)} were overwritten before they were read` : ""}`);
    const what = `${source.off.events} ${origin} ${source.model} ${events.map((e) => e.seq)}`;
    if (what === this.#shown) return;
    this.#shown = what;
    if (source.off.events) $("activity-body").replaceChildren(el("p", { class: "empty" }, "This server keeps no events (--no-events)."));
    else if (events.length === 0) $("activity-body").replaceChildren(el("p", { class: "empty" }, "No request has ended yet."));
    else $("activity-body").replaceChildren(el("div", { class: "scroll tall", tabindex: 0, role: "group", "aria-label": "Ended requests" },
      el("table", { class: "activity" }, el("thead", {}, el("tr", {}, columns.map((c) => el("th", { scope: "col", class: numbers.has(c) ? "num" : null }, c)))),
        el("tbody", {}, events.map(row)))));
  }
}

function row(e) {
  const cell = (label, content, cls) => el("td", { "data-label": label, class: cls ?? null }, content);
  const num = (label, v, format) => cell(label, number(v, format(v)), v === undefined ? "num unknown" : "num");
  const failed = e["error.type"];
  const result = failed ? el("span", { class: "tag fail" }, e["paddock.failure_reason"] || failed) : el("span", { class: "tag ok" }, [...new Set(e["gen_ai.response.finish_reasons"] ?? ["ok"])].join(" "));
  return el("tr", { "data-seq": e.seq },
    el("td", {}, el("time", { datetime: stamp(e.ts_ms) }, clock(e.ts_ms))), el("td", {}, e["gen_ai.operation.name"]),
    el("td", {}, e["paddock.origin"]), el("td", {}, result),
    num("prompt", e["gen_ai.usage.input_tokens"], count), num("cached", e["paddock.cached_tokens"], count), num("output", e["gen_ai.usage.output_tokens"], count),
    num("TTFT", e["paddock.ttft_ms"], millis), num("tok/s", e["paddock.decode_tok_s"], rate), num("took", e.duration_ms, millis), phases(e));
}

// phases are a request's time as a bar: what none of the three has is left grey.
function phases(e) {
  const parts = [["queue", e["paddock.queue_ms"]], ["prefill", e["paddock.prefill_ms"]], ["decode", e["paddock.decode_ms"]]];
  if (parts.every(([, ms]) => ms === undefined)) return el("td", { class: "phases" }, el("span", { class: "note" }, "never reached the engine"));
  const whole = Math.max(e.duration_ms, parts.reduce((sum, [, ms]) => sum + (ms ?? 0), 0));
  return el("td", { class: "phases" },
    el("div", { class: "split", "aria-hidden": "true" }, parts.map(([name, ms]) => width(el("span", { class: name }), whole > 0 ? (ms ?? 0) / whole : 0))),
    el("div", { class: "split-numbers" }, parts.map(([name, ms]) => el("span", { class: name[0] }, `${name} `, el("b", {}, number(ms, millis(ms)))))));
}
