"""Byte-level BPE with the qwen2 pre-tokenizer: training, encoding, decoding."""

import collections
import functools
import heapq

import regex

SPLIT = regex.compile(r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]


def byte_letters():
    """GPT-2's printable letter for every byte, in the order of its vocabulary."""
    plain = list(range(33, 127)) + list(range(161, 173)) + list(range(174, 256))
    table = {b: chr(b) for b in plain}
    n = 0
    for b in range(256):
        if b not in table:
            table[b] = chr(256 + n)
            n += 1
    return table


LETTER = byte_letters()
BYTE = {c: b for b, c in LETTER.items()}


def letters(piece):
    return [LETTER[b] for b in piece.encode("utf-8")]


def train(texts, size):
    """-> (tokens, merges). Deterministic: the most frequent pair, ties by the pair itself."""
    words = collections.Counter()
    for text in texts:
        words.update(SPLIT.findall(text))
    parts = [letters(w) for w in words]
    counts = list(words.values())
    pairs, where = collections.Counter(), collections.defaultdict(set)
    for i, p in enumerate(parts):
        for pair in zip(p, p[1:]):
            pairs[pair] += counts[i]
            where[pair].add(i)
    tokens = sorted(BYTE, key=lambda c: ord(c))
    merges = []
    heap = [(-n, pair) for pair, n in pairs.items()]
    heapq.heapify(heap)
    while len(tokens) + len(SPECIAL) < size and heap:
        n, pair = heapq.heappop(heap)
        if pairs[pair] != -n:
            if pairs[pair] > 0:
                heapq.heappush(heap, (-pairs[pair], pair))
            continue
        merged = pair[0] + pair[1]
        merges.append(pair)
        if merged not in tokens:
            tokens.append(merged)
        touched = set()
        for i in sorted(where.pop(pair)):
            old, new, at = parts[i], [], 0
            while at < len(old):
                if at + 1 < len(old) and old[at] == pair[0] and old[at + 1] == pair[1]:
                    new.append(merged)
                    at += 2
                else:
                    new.append(old[at])
                    at += 1
            for p in zip(old, old[1:]):
                pairs[p] -= counts[i]
            for p in zip(new, new[1:]):
                pairs[p] += counts[i]
                where[p].add(i)
                touched.add(p)
            parts[i] = new
        pairs[pair] = 0
        for p in touched:
            heapq.heappush(heap, (-pairs[p], p))
    return tokens + SPECIAL, merges


class Tokenizer:
    def __init__(self, tokens, merges):
        self.tokens = tokens
        self.ids = {t: i for i, t in enumerate(tokens)}
        self.ranks = {tuple(m): i for i, m in enumerate(merges)}
        self.merges = [tuple(m) for m in merges]
        self.pad, self.start, self.end = (self.ids[s] for s in SPECIAL)
        self._special = regex.compile("(" + "|".join(map(regex.escape, SPECIAL)) + ")")
        self._piece = functools.lru_cache(maxsize=200_000)(self._merge)

    def _merge(self, piece):
        parts = letters(piece)
        while len(parts) > 1:
            best = min(zip(parts, parts[1:]), key=lambda p: self.ranks.get(p, 1 << 30))
            if best not in self.ranks:
                break
            new, at = [], 0
            while at < len(parts):
                if at + 1 < len(parts) and (parts[at], parts[at + 1]) == best:
                    new.append(parts[at] + parts[at + 1])
                    at += 2
                else:
                    new.append(parts[at])
                    at += 1
            parts = new
        return tuple(self.ids[p] for p in parts)

    def encode(self, text):
        """Plain text; special tokens in it are text too."""
        out = []
        for piece in SPLIT.findall(text):
            out.extend(self._piece(piece))
        return out

    def encode_marked(self, text):
        """Text in which special tokens count as such."""
        out = []
        for part in self._special.split(text):
            if part in SPECIAL:
                out.append(self.ids[part])
            elif part:
                out.extend(self.encode(part))
        return out

    def decode(self, ids):
        out = bytearray()
        for i in ids:
            t = self.tokens[i]
            out += t.encode() if t in SPECIAL else bytes(BYTE[c] for c in t)
        return out.decode("utf-8", "replace")
