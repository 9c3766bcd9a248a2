// Who waits for what, and how everything has ended.
import { $, el, number, width } from "./dom.js";
import { count } from "./format.js";

const reasons = [["capacity", "a place or pages"], ["preempted", "pages that it lost"], ["prefix", "a prefix being computed"],
  ["restoring", "pages from a tier"], ["grammar", "its grammar"], ["parked", "its reader"]];

export class Queue {
  constructor() {
    this.rows = reasons.map(([name, meaning]) => {
      const fill = el("div", { class: "fill c4" }), value = el("span", { class: "num", id: `waiting-${name}` }, "–");
      return { name, fill, value, parts: [el("span", { class: "label" }, `${name} `, el("span", { class: "note" }, `for ${meaning}`)), el("div", { class: "meter", "aria-hidden": "true" }, fill), value] };
    });
    $("queue").append(el("div", { class: "meters", role: "group", "aria-label": "Waiting by reason" }, this.rows.flatMap((r) => r.parts)));
    this.outcomes = $("outcomes-body");
  }

  show(source) {
    const m = source.current(), seq = m?.sequences;
    for (const r of this.rows) {
      const n = seq?.waiting_by_reason[r.name];
      r.value.replaceChildren(number(n, count(n)));
      width(r.fill, seq && seq.waiting > 0 ? n / seq.waiting : 0);
    }
    this.#outcomes(m, seq);
  }

  #outcomes(m, seq) {
    if (!m) {
      this.outcomes.replaceChildren(el("p", { class: "empty" }, "No model is open."));
      return;
    }
    const group = (title, pairs) => el("div", {}, el("h3", {}, title), el("dl", { class: "pairs" },
      pairs.map(([name, n]) => el("div", {}, el("dt", {}, name), el("dd", {}, number(n, count(n)))))));
    const named = (o) => Object.entries(o).map(([name, n]) => [name.replaceAll("_", " "), n]);
    this.outcomes.replaceChildren(
      group("Requests", [["ended", m.requests.ended], ["succeeded", m.requests.succeeded], ...named(m.requests.failed)]),
      group("Refused at admission", named(m.requests.rejected)),
      seq && group("Sequences", [["admitted", seq.admitted], ...named(seq.finished)]),
      seq && group("Lost work", [["preemptions", seq.preemptions], ["recomputed tokens", seq.recomputed_tokens], ["pages evicted", m.kv?.pages_evicted]]),
      m.spec && m.spec.drafts > 0 ? group("Speculation", [["drafts", m.spec.drafts], ["drafted", m.spec.draft_tokens], ["accepted", m.spec.accepted_tokens]]) : "");
  }
}
