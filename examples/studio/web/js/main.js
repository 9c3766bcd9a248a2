// Puts the page together: one runner at a time, and everything that shows it.
import { Activity } from "./activity.js";
import { Charts } from "./charts.js";
import { Chat } from "./chat.js";
import { isManager, managerURL } from "./config.js";
import { $, fillSelect } from "./dom.js";
import { showFacts } from "./facts.js";
import { startKeyDialog } from "./keydialog.js";
import { startMachine } from "./machine.js";
import { showMachine, showState } from "./problems.js";
import { Queue } from "./queue.js";
import { Source } from "./source.js";
import { startTheme } from "./theme.js";
import { Tiles } from "./tiles.js";

const charts = new Charts(), tiles = new Tiles(), queue = new Queue(), activity = new Activity(), chat = new Chat();
let source = null;

const chosenOrigin = () => $("origin").value;
const openKey = startKeyDialog(() => { source?.retry(); machine?.retry(); });

const shows = {
  stats: () => {
    tiles.show(source);
    queue.show(source);
    showFacts(source);
    fillSelect($("model"), (source.stats?.models ?? []).map((m) => [m.model, m.model]));
    $("model-field").hidden = (source.stats?.models.length ?? 0) < 2;
    showState(source, openKey);
    shows.rollups();
  },
  rollups: () => charts.show(source, chosenOrigin()),
  events: () => activity.show(source, chosenOrigin()),
  models: () => {
    showFacts(source);
    chat.show();
    document.title = source.models?.[0] ? `${source.models[0].id} · paddock studio` : "paddock studio";
  },
  state: () => {
    showState(source, openKey);
    chat.show();
  },
};

// watch turns the page to another runner.
function watch(next) {
  source?.stop();
  source = next;
  source.rangeName = document.querySelector("input[name=range]:checked").value;
  source.pollers.rollups.every = source.range.every;
  for (const [name, show] of Object.entries(shows)) next.addEventListener(name, () => { if (source === next) show(); });
  chat.use(source);
  for (const show of Object.values(shows)) show();
  source.start();
}

$("range").addEventListener("change", (e) => { if (source) source.setRange(e.target.value); });
$("origin").addEventListener("change", () => { if (source) { shows.rollups(); shows.events(); } });
$("model").addEventListener("change", () => source?.setModel($("model").value));
startTheme(() => { charts.recolour(); machine?.recolour(); });

if (managerURL && !isManager) {
  $("manager-link").href = managerURL;
  $("manager-link").hidden = false;
}
const machine = isManager ? startMachine(watch, (err, n) => showMachine(err, n, openKey)) : null;
if (!isManager) watch(new Source(""));

// What tests read.
globalThis.studio = { charts, machine, get source() { return source; } };
