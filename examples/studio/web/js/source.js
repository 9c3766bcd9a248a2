// What the page knows of one runner: it asks, keeps, and tells who listens ("stats", "rollups", "events", "models", "state").
import { ApiError, Client, describe } from "./api.js";
import { Live } from "./live.js";
import { Poller } from "./poll.js";
import { Rollups } from "./rollups.js";
import { ranges } from "./config.js";

const kept = 200; // events
const beyondAll = 2 ** 53; // a number that no event has: the answer says which is next
const seldom = 30000; // ms between questions about what is switched off

export class Source extends EventTarget {
  stats = null;
  models = null; // of /v1/models
  events = [];
  missed = 0; // events
  off = { stats: false, events: false };
  state = "waiting"; // ready, loading, draining, key, down
  why = "";
  model = "";
  takes = true; // requests, as far as a manager knows
  rangeName = "live";
  #problems = new Map(); // by question
  #next = null;
  #instance = "";
  #skew = 0; // seconds that the runner's clock is ahead of this one's

  // base is the runner's address relative to the page's. history: see Rollups; who has one is behind a relay, which has no /readyz.
  constructor(base, history = null) {
    super();
    this.client = new Client(base);
    this.live = new Live(ranges.live.span);
    this.rollups = new Rollups(history);
    this.asksReady = history === null;
    const poller = (name, ask, every) => new Poller(async (signal) => {
      const wait = await ask(signal);
      this.#settle(name, null);
      return wait;
    }, every, (err) => this.#settle(name, err));
    this.pollers = {
      models: poller("models", (s) => this.#askModels(s), 3000),
      stats: poller("stats", (s) => this.#askStats(s), 1000),
      rollups: poller("rollups", (s) => this.#askRollups(s), ranges.live.every),
      events: poller("events", (s) => this.#askEvents(s), 2000),
    };
  }

  start() { for (const p of Object.values(this.pollers)) p.start(); }
  stop() { for (const p of Object.values(this.pollers)) p.stop(); }
  retry() { for (const p of Object.values(this.pollers)) p.now(); }

  get range() { return ranges[this.rangeName]; }

  setRange(name) {
    this.rangeName = name;
    this.pollers.rollups.every = this.range.every;
    this.pollers.rollups.now();
  }

  setModel(name) {
    this.model = name;
    this.live.clear();
    this.#tell("stats", "rollups", "events");
  }

  // now is the runner's time in seconds, began the earliest that it can tell of.
  now() { return Date.now() / 1000 + this.#skew; }
  began() { return this.stats ? this.stats.ts_ms / 1000 - this.stats.uptime_s : 0; }

  // current are the chosen model's numbers, null while there is none.
  current() { return this.stats?.models.find((m) => m.model === this.model) ?? null; }

  #tell(...names) { for (const n of names) this.dispatchEvent(new Event(n)); }

  // settle takes how a question ended: the state is that of the first one that fails.
  #settle(name, err) {
    const failed = this.#problems.has(name);
    if (err === null) this.#problems.delete(name);
    else this.#problems.set(name, err);
    const first = Object.keys(this.pollers).find((n) => this.#problems.has(n));
    if (first !== undefined) this.#set(stateOf(this.#problems.get(first)), describe(this.#problems.get(first)));
    else if (this.models !== null) this.#set("ready", "");
    if (err === null && failed) for (const n of this.#problems.keys()) this.pollers[n].now(); // one is answered again: ask the others at once
  }

  #set(state, why) {
    if (state === this.state && why === this.why) return;
    this.state = state;
    this.why = why;
    this.#tell("state");
  }

  async #askStats(signal) {
    const stats = await this.#unlessOff("stats", () => this.client.get("api/stats", signal));
    if (stats === null) return seldom;
    if (this.#instance && this.#instance !== stats.service.instance_id) this.#forget();
    this.#instance = stats.service.instance_id;
    this.#skew = stats.ts_ms / 1000 - Date.now() / 1000;
    this.stats = stats;
    if (!stats.models.some((m) => m.model === this.model)) this.model = stats.models[0]?.model ?? "";
    this.live.add(stats, this.model);
    this.#tell("stats");
  }

  // A runner that has started anew has other events, and other models perhaps.
  #forget() {
    this.live.clear();
    this.rollups.clear();
    this.events = [];
    this.#next = null;
    this.missed = 0;
    this.models = null;
    this.pollers.models.now();
  }

  async #askModels(signal) {
    if (this.asksReady) await this.client.get("readyz", signal);
    else if (!this.takes) throw new ApiError(503, "not_ready", "the runner takes no requests now");
    if (this.models === null) {
      this.models = (await this.client.get("v1/models", signal)).data;
      this.#tell("models");
    }
  }

  async #askRollups(signal) {
    const got = await this.#unlessOff("stats", async () => {
      await this.rollups.update(this.client, this.range, this.now(), signal);
      return true;
    });
    if (got === null) return seldom;
    this.#tell("rollups");
  }

  async #askEvents(signal) {
    const ask = (since) => this.#unlessOff("events", () => this.client.get(`api/events?since=${since}&max=500`, signal));
    if (this.#next === null) {
      const head = await ask(beyondAll);
      if (head === null) return seldom;
      this.#next = Math.max(0, head.next - kept);
    }
    const page = await ask(this.#next);
    if (page === null) return seldom;
    if (page.next < this.#next) { // the runner has started anew
      this.events = [];
      this.missed = 0;
      this.#next = 0;
      return 0;
    }
    this.missed += this.events.length > 0 ? page.dropped : 0;
    this.#next = page.next;
    this.events = page.events.reverse().concat(this.events).slice(0, kept);
    this.#tell("events");
    if (page.events.length === 500) return 0;
  }

  // unlessOff is null where the runner answers that it doesn't keep what is asked for.
  async #unlessOff(what, ask) {
    let answer = null;
    try {
      answer = await ask();
    } catch (err) {
      if (!(err instanceof ApiError) || err.status !== 404) throw err;
    }
    if (this.off[what] !== (answer === null)) {
      this.off[what] = answer === null;
      this.#tell(what);
    }
    return answer;
  }
}

// stateOf is what a failure says of the runner.
function stateOf(err) {
  if (!(err instanceof ApiError)) return "down";
  if (err.status === 401) return "key";
  if (err.status === 503) return err.code === "loading" ? "loading" : "draining";
  return "down";
}
