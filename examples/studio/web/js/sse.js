// Server-sent events of an answer's body: the data of each, as text. EventSource can bring no key, fetch can.
export async function* events(answer) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "", data = [];
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return; // an event that its empty line hasn't ended is none
      rest += value;
      const lines = rest.split(/\r\n|\n|\r(?!$)/); // a \r at the end may be half of a \r\n
      rest = lines.pop();
      for (const line of lines) {
        if (line === "") {
          if (data.length > 0) yield data.join("\n");
          data = [];
        } else if (line.startsWith("data:")) {
          data.push(line.slice(line[5] === " " ? 6 : 5));
        }
      }
    }
  } finally {
    reader.cancel().catch(() => {}); // whoever stops listening ends the answer
  }
}
