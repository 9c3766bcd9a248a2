// Which runners a machine has, and which one is looked at.
import { $, fillSelect } from "./dom.js";
import { Source } from "./source.js";

const words = { unreachable: "does not answer", waiting: "not asked yet" };

export class Runners {
  #watched = "";
  #source = null;

  // client asks the manager; watch is told of the runner to look at.
  constructor(client, watch) {
    this.client = client;
    this.watch = watch;
    $("runner").addEventListener("change", () => this.#choose($("runner").value));
  }

  // show takes a new list. The first runner that answers is looked at until the reader chooses another; one that is there under two
  // addresses is there once.
  show(list) {
    const all = list.filter((r) => !r.same_as);
    fillSelect($("runner"), all.map((r) => [r.id, label(r, all)]));
    $("runner-field").hidden = all.length === 0;
    if (all.length > 0 && !all.some((r) => r.id === this.#watched)) this.#choose((all.find((r) => r.health === "ok") ?? all[0]).id);
    const mine = all.find((r) => r.id === this.#watched);
    if (mine) this.#source.takes = mine.health !== "ok" || mine.ready;
    return all.length;
  }

  #choose(id) {
    if (id === this.#watched) return;
    this.#watched = id;
    $("runner").value = id;
    const runner = encodeURIComponent(id);
    this.#source = new Source(`api/runners/${runner}/`, (query, signal) => this.client.get(`api/usage?${query}&runner=${runner}`, signal));
    this.watch(this.#source);
  }
}

// label is a runner's name, and where it is if another has the same one.
function label(r, all) {
  const twice = all.filter((o) => o.name === r.name).length > 1;
  const said = r.health !== "ok" ? words[r.health] ?? r.health : r.ready ? "" : "takes no requests";
  return [r.name || r.id, twice && r.name !== r.id ? r.id : "", said && `(${said})`].filter(Boolean).join(" ");
}
