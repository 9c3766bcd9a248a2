package chat

import (
	"errors"
	"runtime"
	"strings"
	"testing"
)

var jsonSeeds = []string{
	`{"a": [1, 2.5, -0, -0.0, 1e3, true, false, null, "x\u00e9\ud83d\ude00\n"], "b": {}, "a": []}`,
	`9007199254740993`, `123456789012345678901234567890`, `48.0`, `1e-07`, `1E400`, `"\ud83d"`, ` [ ] `, `{"":""}`,
	`[[[[[[]]]]]]`, `nul`, `01`, `1.`, `.5`, `-`, `"`, `"\x"`, "\"\x01\"", `[1,]`, `{"a":1,}`, `{a:1}`, `1 2`, ``,
}

// TestDecodeJSONKeepsWhatTemplatesSee: order, kinds of number, and the place of
// a key that comes twice, as Python prints them.
func TestDecodeJSONKeepsWhatTemplatesSee(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{`{"z": 1, "a": 2, "m": 3}`, `{'z': 1, 'a': 2, 'm': 3}`},
		{`{"a": 1, "b": 2, "a": 3}`, `{'a': 3, 'b': 2}`},
		{`{"a":1,"b":2,"c":3,"d":4,"e":5,"f":6,"g":7,"h":8,"i":9,"j":10,"b":0}`, `{'a': 1, 'b': 0, 'c': 3, 'd': 4, 'e': 5, 'f': 6, 'g': 7, 'h': 8, 'i': 9, 'j': 10}`},
		{`[48, 48.0, 1e2, 1E-07, -0, -0.0]`, `[48, 48.0, 100.0, 1e-07, 0, -0.0]`},
		{`[9007199254740993, 9223372036854775807, 9223372036854775808, -123456789012345678901234567890]`, `[9007199254740993, 9223372036854775807, 9223372036854775808, -123456789012345678901234567890]`},
		{`1e400`, `inf`},
		{`"\ud83d\ude00 \ud83d \u0041\/\b"`, `😀 ` + "\ufffd" + ` A/` + "\b"},
		{` [ true , false , null ] `, `[True, False, None]`},
	} {
		v, err := DecodeJSON([]byte(c.in), 0)
		if err != nil {
			t.Errorf("%s: %v", c.in, err)
			continue
		}
		r := &run{lim: Limits{}.withDefaults(), steps: 1e6, mem: 1e6}
		if got, err := r.str(v); got != c.want || err != nil {
			t.Errorf("%s: got %s %v, want %s", c.in, got, err, c.want)
		}
	}
}

func TestDecodeJSONRefuses(t *testing.T) {
	for _, c := range []struct {
		in     string
		offset int
	}{
		{``, 0}, {`nul`, 0}, {`01`, 1}, {`1.`, 2}, {`.5`, 0}, {`-`, 1}, {`1e`, 2}, {`"abc`, 4}, {`"\x"`, 1}, {`"\u12"`, 1}, {"\"\x01\"", 1},
		{`[1,]`, 3}, {`[1 2]`, 3}, {`{"a":1,}`, 7}, {`{a:1}`, 1}, {`{"a" 1}`, 5}, {`1 2`, 2}, {`NaN`, 0}, {`Infinity`, 0}, {"\"\xff\"", 1}, {`'a'`, 0}, {`"\`, 1},
	} {
		_, err := DecodeJSON([]byte(c.in), 0)
		var bad *JSONError
		if !errors.As(err, &bad) {
			t.Errorf("%q: want a JSONError, got %v", c.in, err)
		} else if bad.Offset != c.offset {
			t.Errorf("%q: offset %d, want %d (%v)", c.in, bad.Offset, c.offset, err)
		}
	}
}

func TestDecodeJSONLimits(t *testing.T) {
	nested := func(n int) []byte { return []byte(strings.Repeat("[", n) + strings.Repeat("]", n)) }
	for _, c := range []struct {
		in    []byte
		depth int
		ok    bool
	}{
		{nested(64), 0, true}, {nested(65), 0, false}, {nested(3), 3, true}, {nested(4), 3, false},
		{[]byte(strings.Repeat("[", 1<<20)), 0, false},
		{[]byte(strings.Repeat(`{"a":`, 1<<18)), 0, false},
		{[]byte(strings.Repeat("9", maxIntDigits)), 0, true},
		{[]byte(strings.Repeat("9", maxIntDigits+1)), 0, false},
	} {
		_, err := DecodeJSON(c.in, c.depth)
		var limit *LimitError
		if c.ok && err != nil || !c.ok && !errors.As(err, &limit) {
			t.Errorf("%.20q (%d bytes), depth %d: %v", c.in, len(c.in), c.depth, err)
		}
	}
}

// TestDecodeJSONMemory holds the documented multiple of the input, on the kinds
// of text that cost most.
func TestDecodeJSONMemory(t *testing.T) {
	const n = 1 << 18
	for name, in := range map[string]string{
		"numbers":      "[" + strings.Repeat("7,", n/2) + "7]",
		"large ones":   "[" + strings.Repeat("777,", n/4) + "7]",
		"lists":        "[" + strings.Repeat("[],", n/3) + "[]]",
		"objects":      "[" + strings.Repeat("{},", n/3) + "{}]",
		"small maps":   "[" + strings.Repeat(`{"":0},`, n/7) + "{}]",
		"lists of one": "[" + strings.Repeat("[0],", n/4) + "[]]",
		"strings":      "[" + strings.Repeat(`"",`, n/3) + `""]`,
		"escapes":      `"` + strings.Repeat(`\n`, n/2) + `"`,
	} {
		data := []byte(in)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if _, err := DecodeJSON(data, 0); err != nil {
			t.Fatal(err)
		}
		runtime.ReadMemStats(&after)
		per := int64(after.TotalAlloc - before.TotalAlloc)
		t.Logf("%s: %.1f", name, float64(per)/float64(len(data)))
		if most := int64(len(data)) * jsonMemoryFactor; per > most {
			t.Errorf("%s: %d bytes for %d of input, %d times", name, per, len(data), per/int64(len(data)))
		}
	}
}

const jsonMemoryFactor = 64
