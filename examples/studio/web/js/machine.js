// The manager's side of the page: its runners, and its GPUs as they are read.
import { Client } from "./api.js";
import { showGPUs } from "./gpu.js";
import { Poller } from "./poll.js";
import { Runners } from "./runners.js";
import { events } from "./sse.js";

// startMachine asks the manager; watch is told of the runner to look at, failed of what doesn't answer.
export function startMachine(watch, failed) {
  const client = new Client(), runners = new Runners(watch);
  const list = new Poller(async (signal) => {
    const answer = await client.get("api/runners", signal);
    runners.show(answer.runners);
    failed(null);
  }, 3000, failed);
  // The stream lasts until somebody ends it; then it is asked for again.
  const gpus = new Poller(async (signal) => {
    for await (const data of events(await client.open("api/gpu/stream", { signal }))) showGPUs(JSON.parse(data));
  }, 1000, failed);
  list.start();
  gpus.start();
  return { retry() { list.now(); gpus.now(); } };
}
