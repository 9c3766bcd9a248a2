// A chart over time: uPlot's canvas, a legend with the values at the cursor, the same as a sentence and as a table, and arrow keys.
import { $, el, number, setText } from "./dom.js";
import { clock, count, moment, tick } from "./format.js";

const uPlot = globalThis.uPlot;
const reach = 400; // rows of a table

// Chart shows series {label, colour: 1–5, dash, format}, of which those of a stacked one lie on each other, the first at the bottom.
export class Chart {
  #plot = null;
  #x = [];
  #columns = [];
  #window = [0, 1];
  #cursor = null;
  gaps = []; // {from, to}: times of which something may be missing, hatched

  // whole: it counts things, so that its axis has no parts of one. most: the axis ends there.
  constructor(host, { title, series, stacked = false, height = 150, most = null, whole = false, heading = false, unit = "" }) {
    Object.assign(this, { series, stacked, height, most, whole, title, unit, resting: heading ? "newest" : "" });
    this.canvas = el("div", { class: "plot", tabindex: 0, role: "img", "aria-label": title });
    this.empty = el("p", { class: "plot-empty" }, "nothing yet");
    this.canvas.append(this.empty);
    this.values = series.map(() => el("span", { class: "value" }, "–"));
    this.when = el("span", { class: "when" });
    this.totals = series.map(() => el("td", { class: "num" }, "–"));
    this.seen = el("td", { class: "num" });
    this.legend = heading ? this.#summary() : el("ul", { class: "legend" },
      series.map((s, i) => el("li", {}, this.#key(s), el("span", { class: "name" }, s.label), this.values[i])), el("li", {}, this.when));
    this.toggle = el("button", { type: "button", class: "button small", "aria-pressed": "false", "aria-label": `${title} as a table`, onclick: () => this.#flip() }, "Table");
    this.table = el("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": `${title}, table`, hidden: true });
    const head = heading ? el("div", { class: "chart-head" }, el("h3", {}, title), this.toggle) : null;
    if (!heading) host.querySelector("header").append(el("span", { class: "spring" }), this.toggle);
    host.append(el("div", { class: "chart" }, head, this.canvas, this.table, this.legend));
    this.canvas.addEventListener("keydown", (e) => this.#move(e));
    this.canvas.addEventListener("blur", () => this.#leave());
    new ResizeObserver(() => this.#resize()).observe(this.canvas);
  }

  // set shows columns over the times x, of a window [from, to]; null is a hole.
  set(x, columns, window) {
    this.#x = x;
    this.#columns = columns;
    this.#window = window;
    const any = columns.some((c) => c.some((v) => v !== null));
    this.empty.hidden = any;
    if (this.#plot === null) this.#draw();
    else this.#plot.setData(this.#data());
    this.#legend(this.#cursor !== null && this.#cursor < x.length ? this.#cursor : null);
    this.canvas.setAttribute("aria-label", this.#sentence());
    if (!this.table.hidden) this.#fill();
  }

  #key(s) { return el("span", { class: `key c${s.colour} ${this.stacked ? "box" : s.dash ?? ""}`, "aria-hidden": "true" }); }

  // A legend as a table: the newest values, or those at the cursor, and those of all the time that is shown.
  #summary() {
    this.when.textContent = "newest";
    return el("table", { class: "summary" },
      el("thead", {}, el("tr", {}, el("td"), this.series.map((s) => el("th", { scope: "col", class: "num" }, this.#key(s), s.label)), el("th", { scope: "col", class: "num" }, "of"))),
      el("tbody", {}, el("tr", {}, el("th", { scope: "row" }, this.when), this.values.map((v) => el("td", { class: "num" }, v)), el("td")),
        el("tr", {}, el("th", { scope: "row" }, "shown"), this.totals, this.seen)));
  }

  // total says the values of all the time that is shown, and of how many observations.
  total(values, n) {
    values.forEach((v, i) => this.totals[i].replaceChildren(number(v, this.series[i].format(v))));
    this.seen.replaceChildren(number(n, count(n)));
  }

  // What is shown, and on which plot, for tests to read.
  get data() { return { x: this.#x, columns: this.#columns }; }
  get plot() { return this.#plot; }

  // recolour draws anew in the colours of now.
  recolour() {
    this.#plot?.destroy();
    this.#plot = null;
    if (this.#x.length > 0) this.#draw();
  }

  // A stacked chart's data are sums, the largest first, so that each area covers what lies behind it.
  #data() {
    if (!this.stacked) return [this.#x, ...this.#columns];
    const below = this.#x.map(() => 0);
    const sums = this.#columns.map((c) => c.map((v, k) => (v === null ? null : (below[k] += v))));
    return [this.#x, ...sums.reverse()];
  }

  #draw() {
    const width = this.canvas.clientWidth;
    if (width === 0) return; // hidden: the resize observer draws it
    const css = getComputedStyle(document.documentElement);
    const colour = (name) => css.getPropertyValue(name).trim();
    const dashes = { dash: [6, 4], dot: [2, 3] };
    const lines = this.series.map((s) => ({
      label: s.label, stroke: colour(`--s${s.colour}`), width: 1.6, dash: dashes[s.dash],
      fill: this.stacked ? colour(`--area${Math.min(3, [1, 1, 2, 2, 3, 3][s.colour])}`) : s.area ? colour("--area1") : undefined,
      points: { show: true, size: 5, fill: colour(`--s${s.colour}`), filter: lonely },
      spanGaps: false,
    }));
    if (this.stacked) lines.reverse();
    const axis = { stroke: colour("--axis"), font: `11px ${css.getPropertyValue("--sans")}`, grid: { stroke: colour("--grid"), width: 1 }, ticks: { show: false } };
    this.#plot = new uPlot({
      width, height: this.height, padding: [8, 22, 0, 0], legend: { show: false },
      cursor: { y: false, points: { size: 6 }, drag: { x: false, y: false } },
      scales: {
        x: { time: true, range: () => this.#window },
        y: { range: (_, __, top) => [0, this.most ?? niceTop(this.whole ? Math.max(top, 3.8) : top)] },
      },
      axes: [
        { ...axis, size: 24, gap: 4, space: 64, incrs: times, values: (_, at) => at.map((s) => tick(s, at.length > 1 ? at[1] - at[0] : 60)) },
        { ...axis, size: 52, gap: 4, space: 28, ...(this.whole ? { incrs: wholes } : {}), values: (_, at) => at.map((v) => this.series[0].format(v)) },
      ],
      series: [{}, ...lines],
      hooks: { drawClear: [(u) => hatch(u, this.gaps, colour("--line-strong"))], setCursor: [(u) => this.#point(u.cursor.idx)] },
    }, this.#data(), this.canvas);
  }

  #resize() {
    if (this.#plot === null) {
      if (this.#x.length > 0) this.#draw();
    } else if (this.canvas.clientWidth > 0 && this.canvas.clientWidth !== this.#plot.width) {
      this.#plot.setSize({ width: this.canvas.clientWidth, height: this.height });
    }
  }

  #point(i) {
    this.#cursor = i ?? null;
    this.#legend(this.#cursor);
  }

  // The legend has the values at the cursor, else the newest.
  #legend(i) {
    const at = i ?? this.#newest();
    this.#columns.forEach((c, k) => {
      const v = at < 0 ? null : c[at];
      const text = this.series[k].format(v);
      if (this.values[k].textContent !== text) this.values[k].replaceChildren(number(v, text));
    });
    setText(this.when, i === null ? this.resting : `${this.resting ? "" : "at "}${moment(this.#x[i], this.#span())}`);
  }

  #newest() {
    for (let i = this.#x.length - 1; i >= 0; i--) if (this.#columns.some((c) => c[i] !== null)) return i;
    return -1;
  }

  #span() { return this.#window[1] - this.#window[0]; }

  #sentence() {
    const at = this.#newest();
    if (at < 0) return `${this.title}: nothing yet`;
    const parts = this.series.map((s, k) => {
      const seen = this.#columns[k].filter((v) => v !== null);
      if (seen.length === 0) return `${s.label} unknown`;
      return `${s.label} ${s.format(this.#columns[k][at])}, at most ${s.format(seen.reduce((a, b) => Math.max(a, b)))}`;
    });
    return `${this.title}${this.unit ? `, ${this.unit}` : ""}, at ${clock(this.#x[at] * 1000)}: ${parts.join("; ")}. Arrow keys move through time.`;
  }

  #move(e) {
    const n = this.#x.length, now = this.#cursor ?? this.#newest();
    const to = { ArrowLeft: now - 1, ArrowRight: now + 1, Home: 0, End: n - 1, PageUp: now - 10, PageDown: now + 10 }[e.key];
    if (e.key === "Escape") return this.#leave();
    if (to === undefined || this.#plot === null || n === 0) return undefined;
    e.preventDefault();
    const i = Math.max(0, Math.min(n - 1, to));
    this.#plot.setCursor({ left: this.#plot.valToPos(this.#x[i], "x"), top: 8 });
    setText($("readout"), `${moment(this.#x[i], this.#span())}: ${this.series.map((s, k) => `${s.label} ${s.format(this.#columns[k][i])}`).join(", ")}`);
    return undefined;
  }

  #leave() { this.#plot?.setCursor({ left: -10, top: -10 }); }

  #flip() {
    this.table.hidden = !this.table.hidden;
    this.canvas.hidden = !this.table.hidden;
    this.toggle.setAttribute("aria-pressed", String(!this.table.hidden));
    if (!this.table.hidden) this.#fill();
  }

  #fill() {
    const rows = [];
    for (let i = this.#x.length - 1; i >= 0 && rows.length < reach; i--) {
      if (this.#columns.every((c) => c[i] === null)) continue;
      rows.push(el("tr", {}, el("th", { scope: "row" }, moment(this.#x[i], this.#span())), this.#columns.map((c, k) => el("td", { class: "num" }, number(c[i], this.series[k].format(c[i]))))));
    }
    this.table.replaceChildren(rows.length === 0 ? el("p", { class: "empty" }, "nothing yet")
      : el("table", {}, el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Time"), this.series.map((s) => el("th", { scope: "col", class: "num" }, s.label)))), el("tbody", {}, rows)));
  }
}

// hatch marks times below the lines.
function hatch(u, gaps, colour) {
  const { ctx, bbox } = u, apart = 7 * devicePixelRatio;
  for (const g of gaps) {
    const clamp = (s) => Math.max(bbox.left, Math.min(bbox.left + bbox.width, u.valToPos(s, "x", true)));
    const left = clamp(g.from), width = Math.max(2, clamp(g.to) - left);
    ctx.save();
    ctx.beginPath();
    ctx.rect(left, bbox.top, width, bbox.height);
    ctx.clip();
    ctx.beginPath();
    for (let x = left - bbox.height; x < left + width; x += apart) {
      ctx.moveTo(x, bbox.top + bbox.height);
      ctx.lineTo(x + bbox.height, bbox.top);
    }
    ctx.strokeStyle = colour;
    ctx.lineWidth = devicePixelRatio;
    ctx.stroke();
    ctx.restore();
  }
}

// lonely are the points that no line reaches: both neighbours are holes.
function lonely(u, k) {
  const c = u.data[k], out = [];
  for (let i = 0; i < c.length; i++) {
    const hole = (j) => j < 0 || j >= c.length || c[j] === null || c[j] === undefined;
    if (c[i] !== null && c[i] !== undefined && hole(i - 1) && hole(i + 1)) out.push(i);
  }
  return out;
}

const wholes = [1, 2, 5, 10, 20, 25, 50, 100, 200, 250, 500].flatMap((n) => [n, n * 1e3, n * 1e6]).sort((a, b) => a - b);

const times = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400, 2 * 86400, 5 * 86400, 10 * 86400];

// niceTop is a round number a little above the largest value.
function niceTop(top) {
  if (!(top > 0)) return 1;
  const size = 10 ** Math.floor(Math.log10(top));
  for (const step of [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10]) if (step * size >= top * 1.04) return step * size;
  return 12 * size;
}
