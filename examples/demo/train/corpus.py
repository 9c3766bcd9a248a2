"""Documents: token ids with the mask of what is to be learnt. The same (seed, number) gives the same document."""

import json
import os
import random
import re

import bpe
import heldout
import questions
import talk

RUN = os.path.join(questions.HERE, "run")
TEMPLATE = ("{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n' }}{% endfor %}"
            "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}")
LIMIT = 2048
NAMED = re.compile(r"(paddock_|gen_ai_|target_info|process_start)")


def prompt_text(question, system=None):
    """What TEMPLATE renders for one question."""
    head = f"<|im_start|>system\n{system}<|im_end|>\n" if system else ""
    return f"{head}<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n"


class Corpus:
    def __init__(self):
        self.families = questions.Families()
        self.talk = talk.Talk()
        self.held = {questions.bare(q) for q, _ in heldout.read()}

    def document(self, rng):
        """-> ("plain", text) or ("chat", system or None, [(question, answer)])"""
        roll = rng.random()
        if roll < 0.05:
            return "plain", talk.plain(rng)
        system = rng.choice(talk.SYSTEM) if rng.random() < 0.22 else None
        size = rng.random()
        rounds = 1 if size < 0.82 else 2 if size < 0.92 else rng.randint(3, 5) if size < 0.993 else rng.randint(12, 40)
        turns = []
        for _ in range(rounds):
            turns += self.talk.exchange(rng) if rng.random() < 0.2 else questions.exchange(self.families, rng, self.held)
        return "chat", system, turns


def text_of(doc):
    if doc[0] == "plain":
        return doc[1]
    return "\n".join([doc[1] or ""] + [t for turn in doc[2] for t in turn])


# Weights in the loss. A metric's name decides the answer, so its tokens count double; a story could go on in many ways,
# and that noise would drown the questions.
NAME, PLAIN, LOOSE, LOOSE_FROM = 2.0, 1.0, 0.3, 60


def encode(tok, doc):
    """-> (ids, learn): learn[i] is the weight of ids[i] in the loss, 0 for what is not learnt."""
    if doc[0] == "plain":
        ids = tok.encode(doc[1]) + [tok.end]
        return ids[:LIMIT], [LOOSE] * len(ids[:LIMIT])
    ids, learn = [], []
    system = doc[1]
    for question, answer in doc[2]:
        head = tok.encode_marked(prompt_text(question, system))
        tail = tok.encode(answer) + [tok.end]
        after = tok.encode("\n")
        ids += head + tail + after
        named = len(tok.encode(answer.split(" ")[0])) if NAMED.match(answer) else 0
        weight = LOOSE if len(tail) > LOOSE_FROM and not named else PLAIN
        learn += [0.0] * len(head) + [NAME] * named + [weight] * (len(tail) - named) + [0.0] * len(after)
        system = None
    return ids[:LIMIT], learn[:LIMIT]


def tokenizer():
    with open(os.path.join(questions.HERE, "tokenizer.json"), encoding="utf-8") as f:
        data = json.load(f)
    return bpe.Tokenizer(data["tokens"], [m.split(" ") for m in data["merges"]])


def batches(corpus, tok, seed, epoch, room, pool=6000):
    """One epoch's batches of at most `room` tokens (padding included), alike in length, in random order."""
    rng = random.Random(f"{seed}/{epoch}")
    docs = sorted((encode(tok, corpus.document(rng)) for _ in range(pool)), key=lambda d: len(d[0]))
    out, here = [], []
    for d in docs:
        if here and len(d[0]) * (len(here) + 1) > room:
            out.append(here)
            here = []
        here.append(d)
    out.append(here)
    rng.shuffle(out)
    return out


def main():
    """Trains the tokenizer on a fixed sample."""
    corpus, rng = Corpus(), random.Random("tokenizer/1")
    texts = [text_of(corpus.document(rng)) for _ in range(30000)]
    texts += ["<|im_start|>system\nuser\nassistant\n"] * 200
    tokens, merges = bpe.train(texts, 2048)
    with open(os.path.join(questions.HERE, "tokenizer.json"), "w", encoding="utf-8") as f:
        json.dump({"tokens": tokens, "merges": [" ".join(m) for m in merges]}, f, ensure_ascii=True, indent=0)
    print(len(tokens), "tokens,", len(merges), "merges,", sum(map(len, texts)), "characters")


if __name__ == "__main__":
    main()
