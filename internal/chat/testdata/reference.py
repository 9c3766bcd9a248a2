"""Fills in what Jinja makes of the templates in reference.jsonl.

Run it here, with Jinja2 3.1.6 installed, after adding a line {"t": "..."}; it
rewrites the file. Each line then has "out", the text, or "fails": "syntax" or
"runtime". The environment is set up as the transformers library does it.
"""
import copy, datetime, json, pathlib
import jinja2, jinja2.ext, jinja2.sandbox

HERE = pathlib.Path(__file__).parent
NOW = datetime.datetime(2025, 7, 14, 9, 5, 7)


class Generation(jinja2.ext.Extension):
    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        call = self.call_method("body_text")
        return jinja2.nodes.CallBlock(call, [], [], body).set_lineno(line)

    def body_text(self, caller):
        return caller()


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


env = jinja2.sandbox.ImmutableSandboxedEnvironment(
    trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols]
)
env.filters["tojson"] = tojson
env.globals["raise_exception"] = raise_exception
env.globals["strftime_now"] = NOW.strftime


def outcome(template, context):
    try:
        compiled = env.from_string(template)
    except Exception:
        return {"fails": "syntax"}
    try:
        return {"out": compiled.render(**copy.deepcopy(context))}
    except Exception:
        return {"fails": "runtime"}


def main():
    context = json.loads((HERE / "context.json").read_text())
    path = HERE / "reference.jsonl"
    rows = [json.loads(line) for line in path.read_text().strip("\n").split("\n")]
    with path.open("w") as f:
        for row in rows:
            line = {"t": row["t"], **outcome(row["t"], context)}
            f.write(json.dumps(line, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
