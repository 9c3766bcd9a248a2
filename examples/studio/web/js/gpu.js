// The GPUs of the machine: what each reads, who runs on it, and why there is nothing to read.
import { $, el, number, setText, width } from "./dom.js";
import { bytes, count } from "./format.js";

const of = (unit) => (v) => `${count(v)} ${unit}`;

// readings are the lines of a card: a name, and the text of what it reads; a sensor that a part lacks is left out.
const readings = [
  ["Temperature", (g) => g.temp_c, of("°C")],
  ["Power", (g) => g.power_w, (v, g) => `${count(v)}${g.power_limit_w ? ` of ${count(g.power_limit_w)}` : ""} W`],
  ["SM clock", (g) => g.sm_clock_mhz, of("MHz")],
  ["Memory clock", (g) => g.mem_clock_mhz, of("MHz")],
  ["Fan", (g) => g.fan_pct, of("%")],
];

export function showGPUs(answer) {
  $("gpus").hidden = false;
  setText($("gpu-note"), answer.available ? `${answer.gpus.length} ${answer.gpus.length === 1 ? "card" : "cards"}` : "");
  if (!answer.available || answer.gpus.length === 0) {
    $("gpu-body").replaceChildren(el("p", { class: "empty" }, answer.reason || "No GPU can be read on this machine."));
    return;
  }
  $("gpu-body").replaceChildren(el("div", { class: "gpu-grid" }, answer.gpus.map(card)));
}

function card(g) {
  const known = (v) => v !== null && v !== undefined;
  const meter = (label, share, value, text, colour) => [el("span", { class: "label" }, label),
    el("div", { class: "meter", "aria-hidden": "true" }, width(el("div", { class: `fill ${colour}` }), share)), el("span", { class: "num" }, number(value, text))];
  const meters = [
    ...(known(g.util_gpu) ? meter("Use", g.util_gpu / 100, g.util_gpu, `${count(g.util_gpu)} %`, "c1") : []),
    ...(known(g.mem_used) ? meter("Memory", g.mem_total > 0 ? g.mem_used / g.mem_total : 0, g.mem_used, `${bytes(g.mem_used)}${known(g.mem_total) ? ` of ${bytes(g.mem_total)}` : ""}`, "c2") : []),
  ];
  const lines = readings.filter(([, value]) => known(value(g)));
  return el("article", { class: "gpu", "data-gpu": g.index },
    el("h3", {}, `${g.name}`, el("span", {}, `GPU ${g.index}`)),
    el("div", { class: "meters" }, meters),
    el("dl", { class: "pairs" }, lines.map(([label, value, text]) => el("div", {}, el("dt", {}, label), el("dd", {}, number(value(g), text(value(g), g)))))),
    processes(g.procs ?? []));
}

function processes(list) {
  if (list.length === 0) return el("p", { class: "note" }, "No process runs on it.");
  return el("table", {}, el("thead", {}, el("tr", {}, el("th", { scope: "col" }, "Process"), el("th", { scope: "col", class: "num" }, "Memory"))),
    el("tbody", {}, list.map((p) => el("tr", {}, el("td", {}, String(p.pid)), el("td", { class: "num" }, number(p.mem, bytes(p.mem)))))));
}
