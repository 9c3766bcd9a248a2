// The numbers of now, large.
import { $, el, number, setText } from "./dom.js";
import { count, percent, rate } from "./format.js";

const tiles = [
  { name: "generated", label: "Generated", unit: "tok/s", value: (m) => m.rates.generated_tokens_per_s, format: rate, sub: (m) => `${count(m.tokens.generated)} in all` },
  { name: "prompt", label: "Prompt", unit: "tok/s", value: (m) => m.rates.prompt_tokens_per_s, format: rate, sub: (m) => `${count(m.tokens.prompt)} in all` },
  { name: "cached", label: "Prompt, cached", unit: "tok/s", value: (m) => m.rates.cached_tokens_per_s, format: rate, sub: (m) => `${count(m.tokens.cached)} in all` },
  { name: "requests", label: "Requests", unit: "/s", value: (m) => m.rates.requests_per_s, format: rate, sub: (m) => `${count(m.requests.ended)} ended` },
  { name: "running", label: "Running", unit: "", value: (m) => m.sequences?.running, format: count, sub: (m, s) => `${count(s.in_flight)} in flight` },
  { name: "waiting", label: "Waiting", unit: "", value: (m) => m.sequences?.waiting, format: count, sub: (m) => (m.sequences ? `${count(m.sequences.preemptions)} preemptions` : "") },
  { name: "kv", label: "KV in use", unit: "", value: (m) => m.kv?.usage, format: percent, sub: (m) => (m.kv ? `${count(m.kv.pages_used)} of ${count(m.kv.pages_total)}` : "") },
  { name: "prefix", label: "Prefix hits", unit: "", value: (m) => m.prefix_cache?.hit_rate, format: percent, sub: (m) => (m.prefix_cache ? `${count(m.prefix_cache.hits)} tokens` : "") },
];

export class Tiles {
  constructor() {
    this.parts = tiles.map((t) => {
      const value = el("span", {}, "–"), sub = el("dd", { class: "sub" });
      $("tiles").append(el("div", { id: `tile-${t.name}` }, el("dt", {}, t.label), el("dd", { class: "big" }, value, t.unit && el("small", {}, t.unit)), sub));
      return { value, sub };
    });
  }

  show(source) {
    const m = source.current();
    tiles.forEach((t, i) => {
      const v = m ? t.value(m) : undefined, { value, sub } = this.parts[i];
      value.replaceChildren(number(v, t.format(v)));
      setText(sub, m ? t.sub(m, source.stats) : "");
    });
  }
}
