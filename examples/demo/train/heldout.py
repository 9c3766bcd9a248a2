"""Draws the 100 held-out frame x phrase pairs, once, before any training: every family, and 36 of them twice."""

import hashlib
import os
import random

import questions

PATH = os.path.join(questions.HERE, "heldout.tsv")


def read(path=PATH):
    """-> [(question, family)]"""
    with open(path, encoding="utf-8") as f:
        rows = [line.rstrip("\n").split("\t") for line in f]
    head = rows[0]
    return [(r[head.index("question")], r[head.index("family")]) for r in rows[1:] if len(r) == len(head)]


def main():
    assert not os.path.exists(PATH), "heldout.tsv is fixed; it is never drawn again"
    fam, rng = questions.Families(), random.Random(20260729)
    names = fam.names + rng.sample(fam.names, 100 - len(fam.names))
    seen, lines = set(), ["question\tfamily\tframe\tphrase"]
    for name in names:
        while True:
            frame, phrase = fam.pair(name, rng)
            if frame.strip("{}?. !") and phrase not in seen:
                break
        seen.add(phrase)
        lines.append("\t".join([questions.fill(frame, phrase), name, frame, phrase]))
    text = "\n".join(lines) + "\n"
    with open(PATH, "w", encoding="utf-8") as f:
        f.write(text)
    print(hashlib.sha256(text.encode()).hexdigest())


if __name__ == "__main__":
    main()
