"""Greedy answers of an exported file, with the weights as the file holds them (Q8_0, dequantised).
Right = the answer contains the HELP sentence of the family asked for.

Usage: evaluate.py [FILE.gguf] [-v]    scores heldout.tsv, and wordings.tsv and dev.tsv where present
       evaluate.py FILE.gguf --ask "question" | --continue "Once upon a time"
"""

import argparse
import os

import torch

import bpe
import corpus
import export
import gguf
import heldout
import questions
from model import Llama

HERE = questions.HERE


@torch.no_grad()
def greedy(model, tok, ids, limit):
    cache = [None] * model.shape["layers"]
    logits = model.logits(torch.tensor([ids]), cache)[0, -1]
    out = []
    while len(out) < limit:
        token = int(logits.argmax())
        if token == tok.end:
            break
        out.append(token)
        logits = model.logits(torch.tensor([[token]]), cache, len(ids) + len(out) - 1)[0, -1]
    return out


def main():
    args = argparse.ArgumentParser()
    args.add_argument("file", nargs="?", default=os.path.join(HERE, "..", "demo.gguf"))
    args.add_argument("-v", action="store_true", help="print what is wrong")
    args.add_argument("--ask")
    args.add_argument("--system")
    args.add_argument("--continue", dest="text")
    args.add_argument("--limit", type=int, default=120)
    args = args.parse_args()
    torch.set_num_threads(1)
    meta, _ = gguf.read(args.file)
    tok = bpe.Tokenizer(meta["tokenizer.ggml.tokens"], [m.split(" ") for m in meta["tokenizer.ggml.merges"]])
    model = export.load(args.file, Llama())
    if args.ask or args.text:
        text = args.text or corpus.prompt_text(args.ask, args.system)
        print(tok.decode(greedy(model, tok, tok.encode_marked(text), args.limit)))
        return
    families = questions.Families()
    for name in ("heldout.tsv", "wordings.tsv", "dev.tsv"):
        path = os.path.join(HERE, name)
        if not os.path.exists(path):
            print(f"{name}: not there")
            continue
        rows, right = heldout.read(path), 0
        for question, family in rows:
            ids = greedy(model, tok, tok.encode_marked(corpus.prompt_text(question)), args.limit)
            answer = tok.decode(ids)
            if families.rows[family]["help"] in answer:
                right += 1
            elif args.v and name != "wordings.tsv":  # its questions stay unseen by whoever tunes the generator
                print(f"  {question} [{family}] -> {answer}")
        print(f"{name}: {right} of {len(rows)} right ({100 * right / len(rows):.0f} %)")


if __name__ == "__main__":
    main()
