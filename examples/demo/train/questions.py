"""Questions and answers about the metric families."""

import csv
import os
import re

import grammar

HERE = os.path.dirname(os.path.abspath(__file__))
BASE = ["gen_ai_operation_name", "gen_ai_provider_name", "gen_ai_request_model", "origin"]

# Families that people mix up: questions that name two of them, and more questions about each.
NEAR = """
time_to_first_token request_queue_time request_prefill_time request_duration
time_per_output_token inter_token_latency request_decode_time iteration_seconds
kv_pages_used kv_pages_free kv_pages_cached kv_cache_usage_perc
paddock_prompt_tokens paddock_request_prompt_tokens paddock_prompt_cached_tokens paddock_prompt_tokens_by_source
paddock_generation_tokens paddock_request_generation_tokens paddock_iteration_tokens
prefix_cache_hits prefix_cache_queries prompt_cached_tokens kv_tier_hits
requests_running requests_waiting requests_waiting_by_reason requests_in_flight
request_success request_failure admission_rejections
requests_admitted requests_finished request_success
decode_drafts decode_draft_tokens decode_accepted_tokens decode_accepted_tokens_per_pos
num_preemptions recomputed_tokens kv_pages_evicted
estimated_flops estimated_read_bytes estimated_write_bytes
paddock_memory_bytes gpu_memory_used gpu_memory_total
kv_block_lifetime kv_block_idle kv_block_reuse_gap
build_info target_info cache_config_info gpu_info
gpu_power_watts gpu_power_limit gpu_energy
gpu_sm_clock gpu_memory_clock gpu_throttle_reasons
gpu_utilization gpu_memory_used gpu_temperature gpu_fan
"""

# Words that mean the same wherever they stand in a question. One direction each; several choices.
SAME = {
    "request": ["call", "query", "api call"], "requests": ["calls", "queries", "api calls"],
    "sequences": ["requests", "seqs", "generations"], "prompt": ["input", "prompt"],
    "tokens": ["toks", "tokens"], "time": ["duration", "time"], "number": ["count", "amount", "number"],
    "how many": ["what number of", "the count of"], "generated": ["produced", "emitted", "created", "written"],
    "average": ["mean", "typical"], "mean": ["average"], "metric": ["series", "measure", "number", "statistic", "gauge", "metric"],
    "show": ["display", "tell", "reveal"], "shows": ["displays", "tells", "reveals", "reports", "gives"], "see": ["view", "observe", "check", "look at"],
    "graph": ["plot", "chart", "draw"], "now": ["currently", "at present", "at this moment"], "right now": ["currently", "at the moment"],
    "GPU": ["gpu", "graphics card", "video card"], "memory": ["memory", "mem"], "users": ["clients", "customers", "people", "callers"],
    "user": ["client", "customer", "person"], "pages": ["blocks", "pages"], "page": ["block", "page"], "engine": ["server", "runner", "engine"],
    "failed": ["errored", "broke", "crashed"], "waiting": ["queued", "pending", "waiting"], "wait": ["queue", "hang around", "wait"],
    "answer": ["reply", "response"], "takes": ["needs", "takes"], "fast": ["quick", "fast", "speedy"], "slow": ["sluggish", "slow"],
    "often": ["frequently", "often"], "big": ["large", "big"], "total": ["overall", "whole", "total"], "watch": ["monitor", "keep an eye on"],
    "model": ["model", "LLM"], "paddock": ["the server", "the engine", "paddock"], "preempted": ["preempted", "bumped", "evicted from the batch"],
    "used": ["in use", "used"], "free": ["available", "free"], "seconds": ["secs", "seconds"], "speculation": ["speculative decoding", "spec decoding"],
    "draft": ["speculative", "draft"], "accepted": ["kept", "accepted"], "the KV cache": ["the cache", "KV", "the kv cache"],
}
SAME_PATTERN = re.compile(r"\b(" + "|".join(sorted(map(re.escape, SAME), key=len, reverse=True)) + r")\b")
SMALL = {"the", "a", "an", "of", "do", "does", "is", "are", "i", "me", "to", "for", "in", "that", "my", "it", "was", "were"}
KEYS = {"a": "qsz", "e": "wrd", "i": "uok", "o": "ipl", "t": "ryg", "n": "bmh", "s": "adw", "r": "etf", "l": "kop", "c": "xvd", "u": "yij", "m": "nk"}

OPEN = ["Hi. ", "Hello! ", "Hey, ", "Please help. ", "OK. ", "Another question. ", "Hi there. ", "Sorry to ask. ", "Good morning. ", "Thanks. Now: ", "Next: "]
CLOSE = [" Thanks.", " Thank you!", " Please.", " please", " thx", " Just the name.", " In one line.", " Be brief.", " I use Grafana.", " I use Prometheus.", " It is urgent.", " Which metric?", " What metric is it?", " Which one is it?"]


class Families:
    def __init__(self):
        with open(os.path.join(HERE, "families.tsv"), encoding="utf-8") as f:
            rows = list(csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE))
        self.names = [r["family"] for r in rows]
        self.rows = {r["family"]: r for r in rows}
        self.phrases = grammar.read_phrases(os.path.join(HERE, "phrases.txt"))
        self.frames = grammar.read_frames(os.path.join(HERE, "frames.txt"))
        assert set(self.phrases) == set(self.names), set(self.phrases) ^ set(self.names)
        self.near = []
        for line in NEAR.split("\n"):
            words = line.split()
            if words:
                self.near.append([self.find(w) for w in words])

    def find(self, part):
        if part in self.rows:
            return part
        hits = [n for n in self.names if part in n]
        assert hits, part
        return min(hits, key=len)

    def answer(self, name):
        return f"{name}: {self.rows[name]['help']}"

    def labels(self, name):
        out = []
        for label in filter(None, self.rows[name]["labels"].split(",")):
            out += BASE if label == "base" else [label]
        return out

    def sample(self, name):
        """A name of one of the family's samples, as a page has it."""
        kind = self.rows[name]["type"]
        return {"counter": [name, name + "_total"], "gauge": [name], "histogram": [name, name + "_bucket", name + "_sum", name + "_count"]}[kind]

    def pair(self, name, rng):
        """-> (frame, phrase): the kinds weighted by how many readings they are likely to be asked in."""
        kinds = self.phrases[name]
        kind = rng.choices(["n", "c", "d", "s"], [5, 3, 4, 1.5])[0]
        if kind not in kinds:
            kind = "n"
        rules = kinds[kind]
        rule = rng.choices(rules, [min(12, grammar.count(r)) ** 0.5 for r in rules])[0]
        phrase = grammar.expand(rule, rng)
        return rng.choice(self.frames[kind]), phrase


def fill(frame, phrase):
    text = frame.replace("{}", phrase)
    return text[0].upper() + text[1:]


def bare(text):
    """Letters and digits alone: two questions that differ in marks or case count as one."""
    return re.sub(r"[^a-z0-9]+", "", text.lower())


def reword(text, rng):
    """Swap some words for others of the same meaning."""
    keep = rng.choice([0.0, 0.35, 0.6])

    def swap(m):
        return rng.choice(SAME[m.group(1)]) if rng.random() < keep else m.group(1)

    return SAME_PATTERN.sub(swap, text)


def spoil(text, rng):
    """Typos and dropped words, as people type them."""
    if rng.random() < 0.3:
        words = text.split(" ")
        if len(words) > 4:
            keep = [w for w in words if not (w.lower() in SMALL and rng.random() < 0.6)]
            if len(keep) == len(words) and len(words) > 6 and rng.random() < 0.5:
                del keep[rng.randrange(len(keep))]
            text = " ".join(keep) or text
    if rng.random() < 0.25:
        for _ in range(rng.choice([1, 1, 1, 2, 2, 3])):
            at = rng.randrange(max(1, len(text) - 1))
            if not text[at:at + 1].isalpha():
                continue
            kind = rng.randrange(4)
            if kind == 0:
                text = text[:at] + text[at + 1:]
            elif kind == 1:
                text = text[:at] + text[at] + text[at:]
            elif kind == 2 and text[at + 1:at + 2].isalpha():
                text = text[:at] + text[at + 1] + text[at] + text[at + 2:]
            else:
                text = text[:at] + rng.choice(KEYS.get(text[at].lower(), "aeiou")) + text[at + 1:]
    case = rng.random()
    if case < 0.22:
        text = text.lower()
    elif case < 0.24:
        text = text.upper()
    if rng.random() < 0.2:
        text = text.rstrip("?.! ") or text
    return text


def dress(text, rng):
    text = spoil(reword(text, rng), rng)
    if rng.random() < 0.08:
        text = rng.choice(OPEN) + text
    if rng.random() < 0.08:
        text = text + rng.choice(CLOSE)
    return text


NAME_QUESTIONS = ["What is {}?", "What does {} mean?", "What does {} count?", "Explain {}.", "explain {}", "{}", "{}?", "What is {} for?", "Tell me about {}.",
                  "I see {} on the page. What is it?", "Describe {}.", "What does {} measure?", "what does {} show", "Meaning of {}?", "How do I read {}?",
                  "What exactly is {}?", "Define {}.", "My dashboard has {}. What does it say?", "Help for {}", "HELP {}", "What does the metric {} tell me?"]
TYPE_QUESTIONS = ["What type is {}?", "Is {} a counter or a gauge?", "Is {} a histogram?", "Which type does {} have?", "type of {}", "What kind of metric is {}?", "{}: counter, gauge or histogram?"]
LABEL_QUESTIONS = ["Which labels does {} have?", "What labels does {} carry?", "labels of {}", "How is {} labelled?", "By what can I group {}?", "List the labels of {}.", "{}: which labels?"]
TYPE_FOLLOW = ["And its type?", "What type is it?", "Counter or gauge?", "Is it a counter?", "what kind of metric is that", "Which type?"]
LABEL_FOLLOW = ["And its labels?", "Which labels does it have?", "What labels?", "How is it labelled?", "By what can I group it?", "labels?"]
BOTH_QUESTIONS = ["What is the difference between {} and {}?", "{} or {}: what is the difference?", "How do {} and {} differ?", "Compare {} and {}.", "difference between {} and {}", "Tell {} and {} apart.", "{} vs {}?"]
NOT_FRAMES = ["Not {1} but {0}: which metric?", "I want {0}, not {1}.", "Which metric is {0} and not {1}?", "{0}, not {1}", "{0} rather than {1}?", "I know {1}. Which metric shows {0}?",
              "I have {1} already, now I need {0}.", "Instead of {1} I want {0}.", "{0} without {1}: which metric?", "Besides {1}, how do I see {0}?", "Don't give me {1}, give me {0}."]


def kind_answer(fam, name):
    kind = fam.rows[name]["type"]
    tail = f" On the page its samples end in _total." if kind == "counter" else ""
    return f"{name} is a {kind}.{tail}"


def label_answer(fam, name):
    labels = fam.labels(name)
    if not labels:
        return f"{name} has no labels."
    return f"{name} has the label{'s' if len(labels) > 1 else ''} {', '.join(labels)}."


def exchange(fam, rng, held):
    """-> a list of (question, answer) turns about one family or two. held: bare texts of questions never to be shown."""
    group = rng.choice(fam.near) if rng.random() < 0.3 else None
    name = rng.choice(group or fam.names)
    roll = rng.random()
    if roll < 0.80:
        while True:
            asked = fill(*fam.pair(name, rng))
            text = dress(asked, rng)
            if bare(asked) not in held and bare(text) not in held:
                break
        turns = [(text, fam.answer(name))]
    elif roll < 0.85:
        near = rng.choice([g for g in fam.near if name in g] or fam.near)
        other = rng.choice([n for n in near if n != name])
        nouns = [grammar.expand(rng.choice(fam.phrases[n]["n"]), rng) for n in (name, other)]
        text = rng.choice(NOT_FRAMES).format(*nouns)
        turns = [(dress(text[0].upper() + text[1:], rng), fam.answer(name))]
    elif roll < 0.87:
        near = rng.choice([g for g in fam.near if name in g] or fam.near)
        other = rng.choice([n for n in near if n != name])
        both = [n if rng.random() < 0.5 else grammar.expand(rng.choice(fam.phrases[n]["n"]), rng) for n in (name, other)]
        turns = [(spoil(rng.choice(BOTH_QUESTIONS).format(*both), rng), f"{fam.answer(name)} {fam.answer(other)}")]
    elif roll < 0.94:
        text = rng.choice(NAME_QUESTIONS).format(rng.choice(fam.sample(name)))
        turns = [(text, fam.answer(name))]
    elif roll < 0.97:
        turns = [(rng.choice(TYPE_QUESTIONS).format(rng.choice(fam.sample(name)[:2])), kind_answer(fam, name))]
    else:
        turns = [(rng.choice(LABEL_QUESTIONS).format(rng.choice(fam.sample(name)[:1])), label_answer(fam, name))]
    if rng.random() < 0.06:
        turns.append((rng.choice(TYPE_FOLLOW), kind_answer(fam, name)))
    if rng.random() < 0.06:
        turns.append((rng.choice(LABEL_FOLLOW), label_answer(fam, name)))
    return turns
