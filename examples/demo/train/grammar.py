"""Alternation grammars: "(a|b|) c $name" expands to one of its readings. Seeded by the caller's random.Random."""

import re


def parse(text, macros):
    """text -> a list of parts; a part is a string or a list of alternatives, each again a list of parts."""
    text = re.sub(r"\$([a-z]+)", lambda m: macros[m.group(1)], text)

    def sequence(at, stop):
        parts, plain = [], ""
        while at < len(text) and text[at] not in stop:
            if text[at] == "(":
                parts.append(plain)
                plain, choices = "", []
                while True:
                    inner, at = sequence(at + 1, "|)")
                    choices.append(inner)
                    if text[at] == ")":
                        break
                parts.append(choices)
                at += 1
            else:
                plain += text[at]
                at += 1
        parts.append(plain)
        return parts, at

    parts, end = sequence(0, "")
    assert end == len(text), text
    return parts


def choose(parts, rng):
    return "".join(part if isinstance(part, str) else choose(rng.choice(part), rng) for part in parts)


def expand(parts, rng):
    """One reading; empty alternatives leave no doubled space and none before a mark."""
    return re.sub(r" +([,.:;?!]|$)", r"\1", re.sub(r"\s+", " ", choose(parts, rng)).strip())


def count(parts):
    total = 1
    for part in parts:
        if not isinstance(part, str):
            total *= sum(count(c) for c in part)
    return total


def read_phrases(path):
    """-> {family: {kind: [parsed grammar]}}"""
    macros, families, here = {}, {}, None
    with open(path, encoding="utf-8") as f:
        for line in f:
            line = line.rstrip("\n")
            if not line or line.startswith("#"):
                continue
            if line.startswith("$"):
                name, text = line[1:].split(" = ", 1)
                macros[name] = re.sub(r"\$([a-z]+)", lambda m: macros[m.group(1)], text)
            elif line.startswith("@"):
                here = families.setdefault(line[1:], {})
            else:
                kind, text = line.split(": ", 1)
                here.setdefault(kind, []).append(parse(text, macros))
    return families


def read_frames(path):
    frames = {}
    with open(path, encoding="utf-8") as f:
        for line in f:
            line = line.rstrip("\n")
            if line and not line.startswith("#"):
                kind, text = line.split(": ", 1)
                frames.setdefault(kind, []).append(text)
    return frames
