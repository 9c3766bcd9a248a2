package datadriven

import (
	"strings"
	"testing"
)

const sample = `# Two commands.

echo a b key=3 text="x y"
input 1
input 2
----
a b
done

# The second prints an empty line.
echo long
----
----
one

two
----
----

# The end.
`

func TestParseAndWriteBack(t *testing.T) {
	commands, tail, err := parse("sample", sample)
	if err != nil {
		t.Fatal(err)
	}
	if len(commands) != 2 {
		t.Fatalf("%d commands", len(commands))
	}
	c := commands[0]
	if c.Name != "echo" || c.Pos != "sample:3" || strings.Join(c.Args, ",") != "a,b" || c.Int(t, "key", 0) != 3 ||
		c.String("text", "") != "x y" || c.Input != "input 1\ninput 2\n" || c.Want != "a b\ndone\n" {
		t.Errorf("first command: %+v", c)
	}
	if !c.Has("key") || c.Has("other") || c.Int(t, "other", 7) != 7 || c.String("none", "z") != "z" {
		t.Errorf("keys: %+v", c.Keys)
	}
	if commands[1].Want != "one\n\ntwo\n" {
		t.Errorf("second command wants %q", commands[1].Want)
	}
	var b strings.Builder
	for _, c := range commands {
		c.write(&b, c.Want)
	}
	b.WriteString(tail)
	if b.String() != sample {
		t.Errorf("written back:\n%s", b.String())
	}
}

func TestParseFaults(t *testing.T) {
	for text, want := range map[string]string{
		"cmd\nno separator\n":       "has no line of ----",
		"cmd\n----\n----\nunending": "has no end",
		"cmd a=1 a=2\n----\n":       "given twice",
		"cmd a=\"x\n----\n":         "unfinished quote",
	} {
		if _, _, err := parse("f", text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(sample)
	f.Add("a\n----")
	f.Add("a b=\"\\\"\"\n----\n----\n\n----\n----\n")
	f.Fuzz(func(t *testing.T, text string) {
		commands, tail, err := parse("f", text)
		if err != nil {
			return
		}
		// What is written back reads as the same again.
		var b strings.Builder
		for _, c := range commands {
			c.write(&b, c.Want)
		}
		b.WriteString(tail)
		again, _, err := parse("f", b.String())
		if err != nil || len(again) != len(commands) {
			t.Fatalf("%q was written back as %q: %d commands became %d (%v)", text, b.String(), len(commands), len(again), err)
		}
	})
}
