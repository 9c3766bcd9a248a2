"""The training loop. Muon for the matrices, Adam for the embedding and the norms; the rate is warm-up, flat, then a
linear way down over the last --decay steps, so that --steps may still be changed while the rate is flat.

Usage: train.py --steps N --decay D      (resumes from run/last.pt when there is one)
"""

import argparse
import multiprocessing
import os
import time

import torch

import corpus
import heldout
from model import Llama

ROOM = 1400   # tokens of one micro-batch: its activations stay in the cache
MICRO = 2     # micro-batches a step and worker, of unlike lengths
WARM = 60
MUON_RATE, ADAM_RATE, FLOOR = 0.02, 2e-3, 0.03
DEV = os.path.join(os.path.dirname(os.path.abspath(__file__)), "dev.tsv")


def orthogonal(g):
    """Newton-Schulz: the nearest matrix with all singular values near 1, for a stack of matrices."""
    flip = g.shape[1] > g.shape[2]
    x = g.transpose(1, 2) if flip else g
    x = x / (x.norm(dim=(1, 2), keepdim=True) + 1e-7)
    for _ in range(5):
        a = x.transpose(1, 2) @ x
        x = 3.4445 * x + x @ (-4.7750 * a + 2.0315 * (a @ a))
    return x.transpose(1, 2) if flip else x


class Muon:
    """Over (parameter, gradient) pairs, grouped by shape. Its momentum lies in shared memory, for the checkpoint."""

    def __init__(self, pairs, momentum=0.95):
        self.momentum, self.groups = momentum, {}
        for p, g in pairs:
            self.groups.setdefault(tuple(p.shape), []).append((p, g))
        self.buffers = {shape: torch.zeros(len(ps), *shape).share_memory_() for shape, ps in self.groups.items()}

    @torch.no_grad()
    def step(self, rate):
        for shape, pairs in self.groups.items():
            grad = torch.stack([g for _, g in pairs])
            buf = self.buffers[shape].lerp_(grad, 1 - self.momentum)
            way = orthogonal(grad.lerp(buf, self.momentum)) * (rate * max(1.0, shape[0] / shape[1]) ** 0.5)
            for (p, _), w in zip(pairs, way):
                p.mul_(1 - rate * 0.05).sub_(w)


def rate_at(step, steps, decay):
    if step < WARM:
        return (step + 1) / WARM
    left = (steps - step) / max(1, decay)
    return 1.0 if left >= 1 else FLOOR + (1 - FLOOR) * left


def tensors(tok, docs):
    """-> ids, targets and weights, each (documents, time), padded on the right."""
    longest = max(len(ids) for ids, _ in docs)
    ids = torch.full((len(docs), longest), tok.pad, dtype=torch.long)
    targets, weights = torch.zeros_like(ids), torch.zeros(len(docs), longest)
    for n, (row, learn) in enumerate(docs):
        ids[n, :len(row)] = torch.tensor(row)
        targets[n, :len(row) - 1] = torch.tensor(row[1:])
        weights[n, :len(row) - 1] = torch.tensor(learn[1:])
    return ids, targets, weights


@torch.no_grad()
def forced(model, tok, families, rows):
    """Share of rows whose whole answer is the most likely token everywhere: a quick bound from below of the greedy score."""
    right = 0
    for question, family in rows:
        head = tok.encode_marked(corpus.prompt_text(question))
        tail = tok.encode(families.answer(family)) + [tok.end]
        guess = model.logits(torch.tensor([head + tail]))[0].argmax(-1).tolist()
        right += guess[len(head) - 1:-1] == tail
    return right / len(rows)


class Worker:
    """One of two processes that share the weights; each fills a gradient of its own from documents of its own.
    Two single-threaded processes meet once a step; two threads of one process would meet at every operation."""

    def __init__(self, rank, model, grads, seed, epoch, at):
        self.rank, self.model, self.seed, self.epoch, self.at = rank, model, seed, epoch, at
        self.params = list(model.parameters())
        for p, g in zip(self.params, grads):
            p.grad = g
        self.data, self.tok = corpus.Corpus(), corpus.tokenizer()
        self.fill()

    def fill(self):
        self.todo = corpus.batches(self.data, self.tok, f"{self.seed}/{self.rank}", self.epoch, ROOM)

    def work(self):
        """Gradient of the sum of losses over this worker's share of a step -> (sum of losses, their weight, tokens)."""
        if self.at + MICRO > len(self.todo):
            self.epoch, self.at = self.epoch + 1, 0
            self.fill()
        for p in self.params:
            p.grad.zero_()
        total, count, seen = 0.0, 0.0, 0
        for docs in self.todo[self.at:self.at + MICRO]:
            ids, targets, weights = tensors(self.tok, docs)
            loss = self.model.loss(ids, targets, weights)
            loss.backward()
            total, count, seen = total + float(loss), count + float(weights.sum()), seen + ids.numel()
        self.at += MICRO
        return total, count, seen


def add_up(pairs, count):
    """Both workers' gradients -> their mean, in the first worker's."""
    with torch.no_grad():
        for a, b in pairs:
            a.add_(b).div_(count)


def follow(rank, model, grads, muon, pairs, seed, epoch, at, pipe):
    setup()
    w = Worker(rank, model, grads, seed, epoch, at)
    while True:
        pipe.send(w.work() + (w.epoch, w.at))
        count, rate = pipe.recv()
        if not count:
            return
        add_up(pairs, count)
        muon.step(rate)
        pipe.send(None)
        pipe.recv()


def setup():
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--steps", type=int, required=True)
    args.add_argument("--decay", type=int, required=True)
    args.add_argument("--seed", type=int, default=1)
    args.add_argument("--run", default=corpus.RUN)
    args.add_argument("--save-every", type=int, default=200)
    args.add_argument("--score-every", type=int, default=200)
    args = args.parse_args()
    setup()
    torch.manual_seed(args.seed)
    os.makedirs(args.run, exist_ok=True)
    last = os.path.join(args.run, "last.pt")

    model = Llama().share_memory()
    grads = [[torch.zeros_like(p).share_memory_() for p in model.parameters()] for _ in range(2)]
    # Each worker sums and applies the gradients of its half of the matrices; the first one does the rest too.
    halves, rest, others = ([], []), [], []
    for (name, p), g, h in zip(model.named_parameters(), *grads):
        if p.dim() == 2 and name != "embed":
            halves[int(name.split(".")[1]) % 2].append((p, g, h))
        else:
            rest.append((g, h))
            others.append(p)
    muons = [Muon([(p, g) for p, g, _ in half]) for half in halves]
    sums = [[(g, h) for _, g, h in half] for half in halves]
    adam = torch.optim.Adam(others, lr=ADAM_RATE, betas=(0.9, 0.95), eps=1e-10)
    step, spots = 0, [(0, 0), (0, 0)]
    if os.path.exists(last):
        state = torch.load(last)
        model.load_state_dict(state["model"])
        adam.load_state_dict(state["adam"])
        for muon, saved in zip(muons, state["muon"]):
            for shape, buf in saved.items():
                muon.buffers[shape].copy_(buf)
        step, spots = state["step"], state["spots"]
        print(f"resumed at step {step}", flush=True)

    pipe, far = multiprocessing.Pipe()
    mate = multiprocessing.Process(target=follow, args=(1, model, grads[1], muons[1], sums[1], args.seed, *spots[1], far), daemon=True)
    mate.start()
    me = Worker(0, model, grads[0], args.seed, *spots[0])
    rows = heldout.read()
    dev = heldout.read(DEV) if os.path.exists(DEV) else []
    began, seen, loss_sum, loss_count = time.time(), 0, 0.0, 0
    while step < args.steps:
        mine = me.work()
        theirs = pipe.recv()
        count, rate = mine[1] + theirs[1], rate_at(step, args.steps, args.decay)
        pipe.send((count, MUON_RATE * rate))
        add_up(sums[0] + rest, count)
        muons[0].step(MUON_RATE * rate)
        torch.nn.utils.clip_grad_norm_(others, 1.0)
        for group in adam.param_groups:
            group["lr"] = ADAM_RATE * rate
        adam.step()
        pipe.recv()
        step += 1
        loss_sum, loss_count, seen = loss_sum + mine[0] + theirs[0], loss_count + count, seen + mine[2] + theirs[2]
        if step % 20 == 0:
            print(f"step {step} loss {loss_sum / loss_count:.4f} rate {rate:.3f} tokens/s {seen / (time.time() - began):.0f} at {time.strftime('%H:%M:%S')}", flush=True)
            began, seen, loss_sum, loss_count = time.time(), 0, 0.0, 0
        if step % args.score_every == 0:
            line = f"score at {step}: held-out {forced(model, me.tok, me.data.families, rows):.2f}"
            if dev:
                line += f" dev {forced(model, me.tok, me.data.families, dev):.2f}"
            print(line, flush=True)
        if step % args.save_every == 0 or step == args.steps:
            spots = [(me.epoch, me.at), theirs[3:]]
            torch.save(dict(model=model.state_dict(), adam=adam.state_dict(), muon=[m.buffers for m in muons], step=step, spots=spots), last + ".new")
            os.replace(last + ".new", last)
        pipe.send(None)  # the weights are whole again: the next step may begin
    pipe.recv()
    pipe.send((0, 0))
    mate.join()
    print("done", flush=True)


if __name__ == "__main__":
    main()
