"""Holds pages of metrics to the parsers of Debian's python3-prometheus-client.

Reads frames from standard input: a line "FORMAT LENGTH", then LENGTH bytes of a
page; FORMAT is openmetrics (the strict parser) or classic. Answers each with one
line of JSON: {"error": ...}, or what the page holds.
"""

import json
import sys

from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics
from prometheus_client.parser import text_string_to_metric_families as classic

PARSERS = {"openmetrics": openmetrics, "classic": classic}


def read(parser, page):
    families = samples = exemplars = units = 0
    seen = {}
    for family in parser(page):
        families += 1
        # Without its suffix a counter a_total has the name of a gauge a, in classic
        # text alone; Go's own runtime has such a pair.
        if family.name in seen and (parser is openmetrics or seen[family.name] == family.type):
            raise ValueError("family twice: " + family.name)
        seen[family.name] = family.type
        units += bool(family.unit)
        for sample in family.samples:
            samples += 1
            if sample.value != sample.value:
                raise ValueError("NaN: %s%s" % (sample.name, sample.labels))
            exemplars += sample.exemplar is not None
    return {"families": families, "samples": samples, "exemplars": exemplars, "units": units, "types": seen}


def main():
    inp = sys.stdin.buffer
    for head in iter(inp.readline, b""):
        form, length = head.split()
        page = inp.read(int(length)).decode("utf-8")
        try:
            answer = read(PARSERS[form.decode()], page)
        except Exception as e:  # whatever the parser raises is its verdict
            answer = {"error": "%s: %s" % (type(e).__name__, e)}
        print(json.dumps(answer), flush=True)


main()
