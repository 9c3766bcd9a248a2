"""Everything that is not a metric question: talk about paddock, lists, counting, stories, plain text."""

import os

import grammar

HERE = os.path.dirname(os.path.abspath(__file__))

ONES = "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty".split()
LISTS = {
    "colours": "red blue green yellow orange purple brown black white grey pink silver".split(),
    "fruits": "apple pear plum cherry peach grape lemon orange melon fig banana apricot".split(),
    "animals": "horse cow sheep goat dog cat hen duck goose fox hare owl".split(),
    "days of the week": "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split(),
    "months": "January February March April May June July August September October November December".split(),
    "vegetables": "carrot potato onion bean pea leek beet cabbage turnip spinach pumpkin garlic".split(),
    "trees": "oak elm ash birch pine fir maple willow beech larch cedar poplar".split(),
    "tools": "hammer saw drill rake spade axe chisel file plane wrench knife shovel".split(),
    "seasons": "spring summer autumn winter".split(),
    "planets": "Mercury Venus Earth Mars Jupiter Saturn Uranus Neptune".split(),
    "metrics": ["paddock_num_requests_running", "paddock_num_requests_waiting", "paddock_generation_tokens", "paddock_prompt_tokens", "paddock_kv_cache_usage_perc",
                "gen_ai_server_time_to_first_token_seconds", "paddock_request_failure", "paddock_prefix_cache_hits"],
    "endpoints": ["/v1/models", "/v1/chat/completions", "/v1/completions", "/metrics", "/healthz", "/readyz"],
    "sounds": "bark moo neigh quack hoot purr bleat hiss crow buzz".split(),
    "horses": "Juniper Clover Bramble Copper Misty Thistle Barley Pepper Willow Hazel".split(),
}
ORDERED = {"days of the week", "months", "seasons", "planets"}
LIST_ASK = ["List {n} {what}.", "Name {n} {what}.", "Give me {n} {what}.", "Tell me {n} {what}.", "list {n} {what}", "{n} {what}, please.", "I need {n} {what}.", "Write a list of {n} {what}.", "Can you name {n} {what}?"]
COUNT_ASK = ["Count from {a} to {b}.", "count from {a} to {b}", "Count to {b}, starting at {a}.", "Please count from {a} to {b}.", "Write the numbers from {a} to {b}.", "Numbers {a} to {b}?"]
COUNT_TO = ["Count to {b}.", "count to {b}", "Please count to {b}.", "Can you count to {b}?", "Count up to {b}."]
DOWN_ASK = ["Count down from {b} to {a}.", "Count backwards from {b} to {a}.", "Count down from {b}.", "countdown from {b}"]
ADD_ASK = ["What is {a} plus {b}?", "{a} + {b}?", "How much is {a} and {b}?", "Add {a} and {b}.", "{a}+{b}="]
REPEAT_ASK = ["Repeat after me: {}", "Say this: {}", "Repeat: {}", "Please repeat: {}", "Say \"{}\"", "Echo {}"]

SYSTEM = ["You are a helpful assistant.", "You are a helpful assistant. Answer briefly.", "You answer questions about paddock.", "Be brief.", "You are paddock's demo model.", "Answer in one sentence.",
          "You are an expert for metrics.", "You help people who run a server.", "Be polite and short.", "You are a friendly assistant who knows Prometheus.", "Answer with the name of the metric first.",
          "You are a monitoring assistant. The user runs paddock in production and wants to know which metric to look at.", "You work in an operations team. Keep every answer short and exact."]

NAMES = "Mia Tom Anna Ben Lena Max Ida Paul Nora Leo Ruth Sam Ella Finn Clara Otto Vera Hugo Greta Karl".split()
BEASTS = ["pony", "horse", "foal", "mare", "donkey", "goat", "fox", "hare", "dog", "cat", "hen", "owl", "mouse", "goose", "lamb"]
LOOKS = ["small", "brown", "grey", "old", "young", "white", "quick", "shy", "brave", "lazy", "clever", "tired", "happy", "black", "quiet"]
PLACES = ["in a green paddock", "behind an old barn", "near a wide river", "at the edge of the wood", "on a hill above the town", "in a valley with tall grass", "beside a mill", "by the sea", "under a great oak", "on a farm in the north"]
WANTS = ["wanted to see the sea", "wished to learn to count", "looked for a friend", "dreamed of running fast", "wanted to find the end of the rainbow", "longed for fresh apples", "wanted to jump over the fence", "wished for snow", "wanted to sing", "hoped to win the race"]
MEETS = ["met {o} who knew the way", "found {o} asleep in the hay", "heard {o} calling from the hill", "saw {o} at the gate", "helped {o} out of the mud", "asked {o} for advice", "shared some bread with {o}", "followed {o} down to the river"]
SAYS = ["Come with me", "Do not be afraid", "Wait until the rain is over", "The gate is open", "I know a better way", "One step after the other", "You are stronger than you think", "Let us go together", "Listen to the wind", "It is not far"]
GOES = ["They walked all day and rested when the stars came out.", "The path was long, and the wind was cold.", "They crossed a bridge of stone and a field of barley.", "It rained in the night, but the morning was bright.",
        "At noon they drank from a clear spring.", "A storm came, and they hid under a cart.", "They counted the fence posts: one, two, three, four, five.", "Nobody said a word until the moon rose.", "A miller gave them flour and a lantern.",
        "The road went up and up until they saw the whole valley.", "Twice they lost the way, and twice they found it again.", "An old bell rang somewhere far away."]
ENDS = ["In the end they came home, tired and glad.", "And from that day on they were friends.", "So the gate stayed open, and nobody was alone again.", "And if you go there today, you can still hear them laugh.", "That night everybody slept well.",
        "It was a good day, and there were many more to come.", "And the grass grew green again in spring.", "They never forgot what they had seen."]
STARTS = ["Once upon a time there was {a}", "Once upon a time, {p}, there lived {a}", "Once there was {a}", "There was once {a}", "Long ago, {p}, there was {a}", "One day {a} came out of the barn", "In a land far away lived {a}", "It was a bright morning, and {a} stood {p}"]
STORY_ASK = ["Tell me a story.", "Tell me a story about {a}.", "Write a short story.", "A story, please.", "tell me a story", "Write a story about {a}.", "Can you tell a story?", "I want to hear a story about {a}.", "Continue: Once upon a time"]

FACTS = """
The scheduler lets every sequence catch up with its own tokens, a few at each step.
A step computes the new tokens of all sequences in the batch.
Pages of the cache hold sixteen tokens each.
When two prompts start alike, the second one finds the pages of the first.
A slow reader never holds up the others.
A request that nobody reads is parked and ended after a while.
Each token is stamped when it is made, and the stamps go into the histograms.
The counters on the page add up to what the clients saw.
Used pages and free pages together are all pages.
An idle engine holds no pages and runs no sequences.
A cancelled request gives its pages back within one step.
The queue is bounded, and a full queue says so at once.
Tenants share the machine fairly, one turn after the other.
The draft of a speculation is checked before a single token is kept.
Weights are read once at each step, so a larger batch costs little more.
The prompt is computed in chunks, and other streams go on meanwhile.
A page that no sequence holds can still be found by a later prompt.
Reading the metrics takes no lock that a token needs.
The same request gives the same bits, alone or in a crowd.
A good error says what went wrong, how much, and what to do.
The clock starts when the head of the request has been read.
Nothing is cut off in silence.
The model file is checked before its first byte is trusted.
Long prompts make the first token late, and long queues make it later.
A graph of waiting sequences shows when the machine is too small.
A rate over a counter tells the speed, and a quantile over a histogram tells the pain.
The cache is full when live sequences hold every page.
Preemption frees pages, and the work is done again later.
Horses run in a paddock; requests run in a batch.
The gate of the paddock is the queue, and the fence is the page pool.
""".strip().split("\n")


class Talk:
    def __init__(self):
        self.blocks = []
        with open(os.path.join(HERE, "talk.txt"), encoding="utf-8") as f:
            for block in f.read().split("\n\n"):
                asks = [grammar.parse(x[3:], {}) for x in block.split("\n") if x.startswith("q: ")]
                answers = [grammar.parse(x[3:].replace("(", "\x01").replace(")", "\x02"), {}) for x in block.split("\n") if x.startswith("a: ")]
                if asks:
                    self.blocks.append((asks, answers))

    def exchange(self, rng):
        roll = rng.random()
        if roll < 0.62:
            asks, answers = rng.choice(self.blocks)
            answer = rng.choice(answers)[0].replace("\x01", "(").replace("\x02", ")")
            return [(grammar.expand(rng.choice(asks), rng), answer)]
        if roll < 0.72:
            return [listing(rng)]
        if roll < 0.86:
            return [counting(rng)]
        if roll < 0.90:
            words = " ".join(rng.choice(rng.choice([NAMES, BEASTS, LOOKS, LISTS["colours"], LISTS["trees"], ONES])) for _ in range(rng.randint(1, 6)))
            return [(rng.choice(REPEAT_ASK).format(words), words)]
        return [story_asked(rng)]


def a(noun):
    return ("an " if noun[0] in "aeiou" else "a ") + noun


def listing(rng):
    what = rng.choice(list(LISTS))
    items = LISTS[what]
    n = rng.randint(2, min(len(items), 8))
    pick = items[:n] if what in ORDERED else rng.sample(items, n)
    word = ONES[n] if rng.random() < 0.6 else str(n)
    text = rng.choice(LIST_ASK).format(n=word, what=what)
    return text[0].upper() + text[1:], "\n".join(f"{i + 1}. {item}" for i, item in enumerate(pick))


def counting(rng):
    roll = rng.random()
    low = rng.choice([1, 1, 1, rng.randint(2, 90)])
    high = low + rng.randint(2, 24)
    if roll < 0.4:
        return rng.choice(COUNT_ASK).format(a=low, b=high), ", ".join(map(str, range(low, high + 1)))
    if roll < 0.7:
        high = rng.randint(2, 40)
        return rng.choice(COUNT_TO).format(b=high if rng.random() < 0.7 or high > 20 else ONES[high]), ", ".join(map(str, range(1, high + 1)))
    if roll < 0.85:
        return rng.choice(DOWN_ASK).format(a=1, b=min(high, 30)), ", ".join(map(str, range(min(high, 30), 0, -1)))
    x, y = rng.randint(0, 10), rng.randint(0, 10)
    return rng.choice(ADD_ASK).format(a=x, b=y), f"{x} plus {y} is {x + y}."


def story(rng, hero=None):
    hero = hero or f"{rng.choice(LOOKS)} {rng.choice(BEASTS)}"
    name = rng.choice(NAMES)
    beast = hero.split()[-1]
    lines = [rng.choice(STARTS).format(a=a(hero), p=rng.choice(PLACES)) + rng.choice([f" called {name}.", f". Its name was {name}.", f" named {name}."])]
    lines.append(rng.choice([f"{name} {rng.choice(WANTS)}.", f"The {beast} {rng.choice(WANTS)}, but nobody knew how.", f"Every evening {name} {rng.choice(WANTS)}."]))
    for _ in range(rng.randint(1, 3)):
        other = a(f"{rng.choice(LOOKS)} {rng.choice(BEASTS)}")
        lines.append(rng.choice(["One day", "The next morning", "Then", "Soon", "After a while", "In spring"]) + f" {name} " + rng.choice(MEETS).format(o=other) + ".")
        if rng.random() < 0.6:
            lines.append(f"\"{rng.choice(SAYS)},\" said the {other.split()[-1]}.")
        for line in rng.sample(GOES, rng.randint(1, 2)):
            lines.append(line)
    lines.append(rng.choice(ENDS))
    return " ".join(lines)


def story_asked(rng):
    hero = f"{rng.choice(LOOKS)} {rng.choice(BEASTS)}"
    ask = rng.choice(STORY_ASK)
    return ask.format(a=a(hero)), story(rng, hero if "{a}" in ask else None)


def plain(rng):
    """A text without a chat: what a bare completion continues."""
    roll = rng.random()
    if roll < 0.5:
        return "\n\n".join(story(rng) for _ in range(rng.choice([1, 1, 1, 2])))
    if roll < 0.8:
        return " ".join(rng.sample(FACTS, rng.randint(2, 9)))
    if roll < 0.9:
        start = rng.choice([1, 1, rng.randint(1, 100)])
        return rng.choice(["", "Count: ", "Numbers: ", "The numbers are "]) + rng.choice([", ", " "]).join(map(str, range(start, start + rng.randint(8, 60))))
    line = rng.choice(FACTS + ["the quick brown fox jumps over the lazy dog", "red green blue", "hello hello hello", "one two three", "a b c d", "the cat sat on the mat"])
    return rng.choice([" ", "\n"]).join([line] * rng.randint(3, 12))
