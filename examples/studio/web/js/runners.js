// Which runners a machine has, and which one is looked at.
import { $, fillSelect } from "./dom.js";
import { Source } from "./source.js";

export class Runners {
  #list = [];
  #watched = "";

  // watch is told of the runner to look at.
  constructor(watch) {
    this.watch = watch;
    $("runner").addEventListener("change", () => this.choose($("runner").value));
  }

  // show takes a new list; the first runner that answers is looked at until the reader chooses.
  show(list) {
    this.#list = list;
    fillSelect($("runner"), list.map((r) => [r.id, `${r.name || r.id}${r.health && r.health !== "ok" ? ` (${r.health})` : ""}`]));
    $("runner-field").hidden = list.length === 0;
    if (list.length > 0 && !list.some((r) => r.id === this.#watched)) this.choose((list.find((r) => r.health === "ok") ?? list[0]).id);
  }

  choose(id) {
    if (id === this.#watched) return;
    this.#watched = id;
    $("runner").value = id;
    this.watch(new Source(`api/runners/${encodeURIComponent(id)}/`, false));
  }
}
