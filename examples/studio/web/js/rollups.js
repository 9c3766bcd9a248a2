// A runner's rollups over the time that is shown. What is there already isn't asked for again: only the newest slots are.
import { ranges, stepNames } from "./config.js";
import { addCounts } from "./quantile.js";

const wholeEvery = 300; // seconds after which everything is asked for again

export class Rollups {
  clear() {
    this.range = null;
    this.bounds = null;
    this.series = new Map(); // operation, origin, model, bounds → slots by start
    this.models = new Map(); // model → slots by start
    this.gaps = []; // {from, to}: times of which something may be missing
  }

  // history(query), if given, asks a manager, who remembers what a runner did before it was started anew.
  constructor(history = null) {
    this.history = history;
    this.clear();
  }

  // update asks for what is missing of a range up to now, in seconds.
  async update(client, range, now, signal) {
    const anew = this.range !== range || now - this.wholeAt > wholeEvery;
    const from = Math.floor(anew ? now - range.span : Math.max(now - range.span, this.to - 3 * range.step));
    const query = `from=${from}&step=${stepNames[range.step]}`, past = this.history !== null && range !== ranges.live;
    const answer = await (past ? this.history(query, signal) : client.get(`api/rollups?${query}`, signal));
    if (anew) {
      this.clear();
      this.range = range;
      this.wholeAt = now;
    }
    this.to = answer.to;
    this.offset = answer.from % range.step; // slots stay where they were when the clock is set
    this.#take(answer, now - range.span - range.step);
  }

  // A history may have series on other bounds, from before a runner's were changed: percentiles are of those on the newest.
  #take(answer, oldest) {
    const all = [answer.bounds].flat();
    this.bounds = all.at(-1) ?? this.bounds;
    this.gaps = (answer.gaps ?? []).map((g) => ({ from: g.from_ms / 1000, to: g.to_ms / 1000 }));
    for (const s of answer.series) {
      const bounds = JSON.stringify(all[s.bounds ?? 0]), key = JSON.stringify([s.gen_ai_operation_name, s.origin, s.gen_ai_request_model, bounds]);
      if (!this.series.has(key)) this.series.set(key, { origin: s.origin, model: s.gen_ai_request_model, bounds, slots: new Map() });
      merge(this.series.get(key).slots, s.slots, answer.from, oldest);
    }
    for (const m of answer.models) {
      if (!this.models.has(m.model)) this.models.set(m.model, new Map());
      merge(this.models.get(m.model), m.slots, answer.from, oldest);
    }
  }

  // slots are those of a model and an origin ("": all), one after the other without a gap, from a time on.
  //
  //	{at, step, whole, seconds, known, requests, prompt, cached, generated, duration, first, perToken, pagesMax, …}
  //
  // whole: the slot has ended; seconds: how much of it there was; known: not, where it lies in a gap and has nothing. A histogram is
  // null where nothing was observed.
  slots(model, origin, since, now) {
    const { range } = this;
    if (!range) return [];
    const series = [...this.series.values()].filter((s) => s.model === model && (origin === "" || s.origin === origin));
    const engine = this.models.get(model) ?? new Map(), newest = JSON.stringify(this.bounds);
    if (this.history !== null) for (const at of engine.keys()) since = Math.min(since, at); // what was before the runner's start
    const out = [];
    const first = Math.ceil((Math.max(now - range.span, since) - this.offset) / range.step) * range.step + this.offset;
    for (let at = first; at < now; at += range.step) {
      const e = engine.get(at);
      const slot = {
        at, step: range.step, whole: at + range.step <= now, seconds: Math.min(range.step, now - at),
        requests: 0, prompt: 0, cached: 0, generated: 0, duration: null, first: null, perToken: null,
        pagesMax: e?.kv_pages_max ?? 0, runningMax: e?.running_max ?? 0, waitingMax: e?.waiting_max ?? 0,
        queries: e?.prefix_cache_queries ?? 0, hits: e?.prefix_cache_hits ?? 0,
      };
      for (const s of series) add(slot, s.slots.get(at), s.bounds === newest);
      slot.known = e !== undefined || slot.requests > 0 || !this.gaps.some((g) => g.from < at + range.step && g.to > at);
      out.push(slot);
    }
    return out;
  }
}

function add(slot, counts, comparable) {
  if (!counts) return;
  slot.requests += counts.requests;
  slot.prompt += counts.prompt_tokens;
  slot.cached += counts.cached_tokens;
  slot.generated += counts.generated_tokens;
  if (!comparable) return;
  slot.duration = addCounts(slot.duration, counts.duration_seconds.counts);
  slot.first = addCounts(slot.first, counts.time_to_first_token_seconds.counts);
  slot.perToken = addCounts(slot.perToken, counts.time_per_output_token_seconds.counts);
}

// merge puts newer slots over older ones, and forgets those before oldest.
function merge(into, slots, from, oldest) {
  for (const at of into.keys()) if (at >= from || at < oldest) into.delete(at);
  for (const s of slots) into.set(s.start, s);
}
