// The newest minutes of a runner's numbers, as they were read: one sample per answer of /api/stats.
export class Live {
  #samples = [];

  constructor(span) { this.span = span; }

  add(stats, name) {
    const m = stats.models.find((m) => m.model === name);
    if (!m) return;
    const at = stats.ts_ms / 1000;
    const last = this.#samples.at(-1);
    if (last && at <= last.at) return;
    const kv = m.kv, seq = m.sequences;
    this.#samples.push({
      at,
      generated: m.rates.generated_tokens_per_s, prompt: m.rates.prompt_tokens_per_s, cached: m.rates.cached_tokens_per_s,
      used: kv?.pages_used ?? null, revivable: kv?.pages_cached ?? null, free: kv ? kv.pages_free - kv.pages_cached : null,
      running: seq?.running ?? null, waiting: seq?.waiting ?? null,
    });
    while (this.#samples.length > 0 && this.#samples[0].at < at - this.span) this.#samples.shift();
  }

  clear() { this.#samples = []; }

  // with are the samples, and where there are none, slots of rollups as samples: what happened before the page was opened, or while
  // nobody saw it.
  with(slots) {
    const out = [];
    let i = 0;
    for (const slot of slots) {
      const end = slot.at + slot.step;
      let any = false;
      for (; i < this.#samples.length && this.#samples[i].at < end; i++) {
        out.push(this.#samples[i]);
        any = true;
      }
      if (any || !slot.whole) continue;
      out.push({
        at: slot.at + slot.step, generated: slot.generated / slot.step, prompt: slot.prompt / slot.step, cached: slot.cached / slot.step,
        used: slot.pagesMax, revivable: null, free: null, running: slot.runningMax, waiting: slot.waitingMax,
      });
    }
    return out.concat(this.#samples.slice(i)).sort((a, b) => a.at - b.at);
  }
}
