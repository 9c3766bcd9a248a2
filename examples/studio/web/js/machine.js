// The manager's side of the page: its runners, and its GPUs as they are read.
import { Client } from "./api.js";
import { GPUs } from "./gpu.js";
import { Poller } from "./poll.js";
import { Runners } from "./runners.js";
import { events } from "./sse.js";

// startMachine asks the manager. watch is told of the runner to look at; say of what doesn't answer (an error), and how many runners
// there are.
export function startMachine(watch, say) {
  const client = new Client(), runners = new Runners(client, watch), gpus = new GPUs();
  const list = new Poller(async (signal) => say(null, runners.show((await client.get("api/runners", signal)).runners)), 3000, (err) => say(err, 0));
  // The stream lasts until somebody ends it; then it is asked for again. Whether the manager answers, the list tells.
  const stream = new Poller(async (signal) => {
    for await (const data of events(await client.open("api/gpu/stream", { signal }))) gpus.show(JSON.parse(data));
  }, 1000);
  list.start();
  stream.start();
  return {
    gpus,
    retry() { list.now(); stream.now(); },
    recolour() { gpus.recolour(); },
  };
}
