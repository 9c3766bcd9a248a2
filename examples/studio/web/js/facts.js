// What is served, by which program, in how much memory.
import { $, el, number } from "./dom.js";
import { isManager, managerURL } from "./config.js";
import { age, bytes, count } from "./format.js";

export function showFacts(source) {
  const { stats, models } = source, m = source.current();
  const rows = [];
  const add = (name, ...content) => rows.push(el("dt", {}, name), el("dd", {}, content));
  if (models) {
    add("Served as", models.map((c) => c.id).join(", "));
    add("Answers", operationsOf(models).map((o) => o.replaceAll("_", " ")).join(", "));
    add("Longest context", number(models[0].max_model_len, `${count(models[0].max_model_len)} tokens`));
  }
  if (m?.kv && m.kv.pages_total > 0) {
    add("KV pages", number(m.kv.pages_total, count(m.kv.pages_total)), ` × ${count(m.kv.page_size)} tokens`);
    add("KV type", m.kv.dtype);
  }
  for (const [kind, n] of Object.entries(m?.memory_bytes ?? {})) add(kind === "kv" ? "KV memory" : `${kind[0].toUpperCase()}${kind.slice(1)}`, number(n, bytes(n)));
  if (stats) {
    add("Up for", age(stats.uptime_s));
    add("Version", [stats.build.version, stats.build.commit && stats.build.commit !== "unknown" ? stats.build.commit.slice(0, 12) : ""].filter(Boolean).join(" "));
    add("Go", stats.build.goversion);
    add("Instance", stats.service.instance_id);
  }
  if (!isManager) add("GPUs", "shown by the machine's ", el("a", { href: managerAddress() }, "manager"));
  $("facts-body").replaceChildren(...(stats || models ? rows : [el("dt", {}, "Nothing is known yet."), el("dd")]));
}

// operationsOf is what the model can be asked; a server that doesn't say is taken to write.
export const operationsOf = (models) => models?.[0]?.operations ?? ["text_completion", "chat"];

// managerAddress is the one that the server was told, else where a manager usually is.
export const managerAddress = () => managerURL || `http://${location.hostname}:11500/`;
