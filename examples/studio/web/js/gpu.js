// The GPUs of the machine: what each reads, who runs on it, and why there is nothing to read.
import { Chart } from "./chart.js";
import { $, el, number, setText, width } from "./dom.js";
import { bytes, count, percent } from "./format.js";

const span = 300; // seconds of history
const known = (v) => v !== null && v !== undefined;
const of = (unit) => (v) => `${count(v)} ${unit}`;

// readings are the lines of a card: a name, and the text of what it reads. A sensor that a part lacks is left out.
const readings = [
  ["temp", "Temperature", (g) => g.temp_c, of("°C")],
  ["power", "Power", (g) => g.power_w, (v, g) => `${count(v)}${known(g.power_limit_w) ? ` of ${count(g.power_limit_w)}` : ""} W`],
  ["sm", "SM clock", (g) => g.sm_clock_mhz, of("MHz")],
  ["mem", "Memory clock", (g) => g.mem_clock_mhz, of("MHz")],
  ["fan", "Fan", (g) => g.fan_pct, of("%")],
];

export class GPUs {
  #cards = new Map(); // by what the card is called for good

  // show takes the manager's answer: its cards, and why none or no newer reading is there.
  show(answer) {
    $("gpus").hidden = false;
    const n = answer.gpus.length, reason = (answer.reason ?? "").replace(/^nvml: /, "");
    setText($("gpu-note"), answer.available ? `${n} ${n === 1 ? "card" : "cards"}` : "");
    const body = $("gpu-body");
    if (this.grid === undefined) {
      this.why = el("p", { class: "empty" });
      this.grid = el("div", { class: "gpu-grid" });
      body.replaceChildren(this.why, this.grid);
    }
    this.why.hidden = n > 0 && reason === "";
    setText(this.why, reason ? `Not read here: ${reason}` : "This machine has no GPU that its driver shows.");
    const here = new Set();
    for (const g of answer.gpus) {
      const key = g.uuid || String(g.index);
      here.add(key);
      if (!this.#cards.has(key)) {
        const card = new Card(g);
        this.#cards.set(key, card);
        this.grid.append(card.host);
      }
      this.#cards.get(key).show(g, answer);
    }
    for (const [key, card] of this.#cards) {
      if (here.has(key)) continue;
      card.host.remove();
      this.#cards.delete(key);
    }
  }

  recolour() { for (const c of this.#cards.values()) c.chart.recolour(); }
}

class Card {
  #samples = []; // {at, use, memory}, one a second

  constructor(g) {
    this.title = el("h3");
    this.host = el("article", { class: "gpu", "aria-label": `GPU ${g.index}` }, el("header", {}, this.title));
    this.trouble = el("p", { class: "trouble" });
    this.meters = el("div", { class: "meters" });
    this.lines = el("dl", { class: "pairs" });
    this.processes = el("div");
    this.host.append(this.trouble, this.meters);
    this.chart = new Chart(this.host, { title: `GPU ${g.index}`, most: 1, height: 96,
      series: [{ label: "use", colour: 1, format: percent, area: true }, { label: "memory", colour: 2, format: percent, dash: "dash" }] });
    this.host.append(this.lines, this.processes);
  }

  show(g, answer) {
    this.title.replaceChildren(g.name || "GPU", el("span", {}, ` ${g.index}${known(g.pci) ? ` · ${g.pci}` : ""}`));
    this.title.title = g.uuid;
    const down = (g.throttle ?? []).filter((t) => t !== "gpu_idle"); // which is no trouble
    const trouble = [g.lost && `Can't be asked: ${g.lost}`, down.length > 0 && `Clocks are held down: ${down.map((t) => t.replaceAll("_", " ")).join(", ")}`].filter(Boolean);
    setText(this.trouble, trouble.join(". "));
    this.trouble.hidden = trouble.length === 0;
    const memory = known(g.mem_used) && g.mem_total > 0 ? g.mem_used / g.mem_total : null;
    this.meters.replaceChildren(...meter("util", "Use", known(g.util_gpu) ? g.util_gpu / 100 : null, g.util_gpu, `${count(g.util_gpu)} %`, "c1"),
      ...meter("memory", g.unified ? "Memory (the machine's)" : "Memory", memory, g.mem_used, `${bytes(g.mem_used)}${known(g.mem_total) ? ` of ${bytes(g.mem_total)}` : ""}`, "c2"));
    this.lines.replaceChildren(...readings.filter(([, , value]) => known(value(g))).map(([name, label, value, text]) =>
      el("div", {}, el("dt", {}, label), el("dd", { "data-reading": name }, number(value(g), text(value(g), g))))));
    this.processes.replaceChildren(...processes(g.procs ?? []));
    this.#draw(answer.ts / 1000, known(g.util_gpu) ? g.util_gpu / 100 : null, memory);
  }

  #draw(at, use, memory) {
    const last = this.#samples.at(-1);
    if (last === undefined || at - last.at >= 1) this.#samples.push({ at, use, memory });
    while (this.#samples[0].at < at - span) this.#samples.shift();
    const column = (name) => this.#samples.map((s) => s[name]);
    this.chart.set(column("at"), [column("use"), column("memory")], [at - span, at]);
  }
}

function meter(name, label, share, value, text, colour) {
  if (!known(value)) return [];
  return [el("span", { class: "label" }, label), el("div", { class: "meter", "aria-hidden": "true" }, width(el("div", { class: `fill ${colour}` }), share)),
    el("span", { class: "num", "data-reading": name }, number(value, text))];
}

function processes(list) {
  if (list.length === 0) return [];
  return [el("table", {}, el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Process"), el("th", { scope: "col", class: "num" }, "Memory"))),
    el("tbody", {}, list.map((p) => el("tr", {}, el("td", {}, String(p.pid)), el("td", { class: "num" }, number(p.mem, bytes(p.mem)))))))];
}
