// The charts of a runner, and what of its numbers goes into each.
import { Chart } from "./chart.js";
import { $, setText } from "./dom.js";
import { count, percent, rate, seconds } from "./format.js";
import { addCounts, quantile } from "./quantile.js";

const shares = [["p50", 0.5], ["p95", 0.95], ["p99", 0.99]];

export class Charts {
  constructor() {
    const line = (label, colour, format, dash) => ({ label, colour, format, dash });
    this.throughput = new Chart($("throughput"), { title: "Throughput", unit: "tokens per second", height: 190,
      series: [{ ...line("generated", 1, rate), area: true }, line("prompt", 2, rate, "dash"), line("prompt, cached", 3, rate, "dot")] });
    const latency = (id, title) => new Chart($(id), { title, heading: true,
      series: [line("p50", 1, seconds), line("p95", 2, seconds, "dash"), line("p99", 4, seconds, "dot")] });
    this.latency = { first: latency("ttft", "Time to first token"), perToken: latency("tpot", "Time per output token"), duration: latency("duration", "Request duration") };
    this.kv = new Chart($("kv"), { title: "KV pages", stacked: true, whole: true, series: [line("used", 1, count), line("cached", 3, count), line("free", 5, count)] });
    this.prefix = new Chart($("prefix"), { title: "Prefix hits", most: 1, series: [{ ...line("hit rate", 1, percent), area: true }] });
    this.queue = new Chart($("queue"), { title: "Queue", unit: "sequences", whole: true, series: [line("running", 1, count), line("waiting", 4, count, "dash")] });
    this.all = { throughput: this.throughput, ...this.latency, kv: this.kv, prefix: this.prefix, queue: this.queue };
  }

  recolour() { for (const c of Object.values(this.all)) c.recolour(); }

  // show draws what the source has, of requests with an origin ("": all).
  show(source, origin) {
    const now = source.now(), { span } = source.range, window = [now - span, now];
    const gaps = source.rollups.range === source.range ? source.rollups.gaps.filter((g) => g.to > now - span) : [];
    for (const c of Object.values(this.all)) c.gaps = gaps;
    setText($("throughput-note"), `tokens per second${gaps.length > 0 ? "; hatched: something may be missing, the runner ended or was not read" : ""}`);
    const slots = source.rollups.slots(source.model, origin, source.began() - source.range.step, now);
    this.#levels(source, slots, origin, window);
    for (const [name, chart] of Object.entries(this.latency)) {
      const bounds = source.rollups.bounds?.[boundsOf[name]];
      const columns = shares.map(([, q]) => slots.map((s) => (s[name] === null ? null : orHole(quantile(q, bounds, s[name])))));
      chart.set(slots.map(middle), columns, window);
      const all = slots.reduce((sum, s) => (s[name] === null ? sum : addCounts(sum, s[name])), null) ?? [];
      chart.total(shares.map(([, q]) => (bounds ? orHole(quantile(q, bounds, all)) : null)), all.reduce((a, b) => a + b, 0));
    }
    this.prefix.set(slots.map(middle), [slots.map((s) => (s.queries > 0 ? s.hits / s.queries : null))], window);
    const pages = source.current()?.kv;
    this.kv.most = pages?.pages_total || null;
    setText($("kv-note"), pages ? `${count(pages.pages_total)} × ${pages.page_size} tokens, ${pages.dtype}${source.rangeName === "live" ? "" : "; peak of each slot"}` : "");
  }

  // Of the last minutes there are samples; further back, sums and maxima of slots.
  #levels(source, slots, origin, window) {
    if (source.rangeName === "live") {
      const s = source.live.with(slots);
      const x = s.map((v) => v.at), column = (name) => s.map((v) => v[name]);
      if (origin === "") this.throughput.set(x, [column("generated"), column("prompt"), column("cached")], window);
      this.kv.set(x, [column("used"), column("revivable"), column("free")], window);
      this.queue.set(x, [column("running"), column("waiting")], window);
    } else {
      const x = slots.map(middle), total = source.current()?.kv?.pages_total ?? null;
      const level = (name) => slots.map((v) => (v.known ? v[name] : null));
      this.kv.set(x, [level("pagesMax"), slots.map(() => null), slots.map((v) => (total === null || !v.known ? null : Math.max(0, total - v.pagesMax)))], window);
      this.queue.set(x, [level("runningMax"), level("waitingMax")], window);
    }
    if (source.rangeName !== "live" || origin !== "") {
      const per = (name) => slots.map((v) => (v.seconds < 2 || !v.known ? null : v[name] / v.seconds));
      this.throughput.set(slots.map(middle), [per("generated"), per("prompt"), per("cached")], window);
    }
  }
}

const boundsOf = { first: "time_to_first_token_seconds", perToken: "time_per_output_token_seconds", duration: "duration_seconds" };

// middle is that of what there was of a slot: one in progress is on the chart at once.
const middle = (slot) => slot.at + slot.seconds / 2;

const orHole = (v) => (Number.isFinite(v) ? v : null);
