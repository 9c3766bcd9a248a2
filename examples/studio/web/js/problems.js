// The state of the server, in words, and what can be done about it.
import { ApiError, describe } from "./api.js";
import { $, el, setText } from "./dom.js";

const names = { waiting: "connecting", ready: "ready", loading: "loading the model", draining: "draining", key: "key wanted", down: "not connected" };
const advice = {
  loading: "The model is being loaded. What is shown here begins when it is.",
  draining: "The server ends what it runs and takes nothing new.",
  key: "The server wants a key from here.",
  down: "No answer from the server; trying again.",
};

export function showState(source, openKey) {
  const pill = $("status");
  pill.dataset.state = source.state;
  setText(pill, names[source.state]);
  const lines = [];
  if (advice[source.state]) lines.push([advice[source.state], source.state === "draining" || source.state === "loading" ? "" : source.why]);
  if (source.off.stats && source.state === "ready") lines.push(["This server keeps no metrics (--no-metrics): charts and numbers stay empty.", ""]);
  write($("problems"), lines, source.state === "key" ? openKey : null);
}

// showMachine says that the manager itself doesn't answer (err), or that it has no runner.
export function showMachine(err, runners, openKey) {
  const key = err instanceof ApiError && err.status === 401;
  const lines = [];
  if (err !== null) lines.push([key ? "The manager wants a key from here." : "No answer from the manager; trying again.", describe(err)]);
  else if (runners === 0) lines.push(["The manager has no runner. It finds those that are started on this machine, and takes others by --runner.", ""]);
  write($("machine-problems"), lines, key ? openKey : null);
  if (runners === 0 && $("status").dataset.state === "waiting") setText($("status"), err === null ? "no runner" : key ? "key wanted" : "not connected");
}

// write renews the lines only where they are others, so that they are read out once.
function write(host, lines, openKey) {
  const text = lines.map((l) => l.join(" ")).join("\n");
  if (host.dataset.text === text) return;
  host.dataset.text = text;
  host.replaceChildren(...lines.map(([what, why]) => el("p", {}, what, why && el("span", { class: "note" }, why),
    openKey && el("button", { type: "button", class: "button small", onclick: openKey }, "Enter a key"))));
}
