package metrics

import (
	"fmt"
	"strings"
	"testing"
)

func TestParseTraceparent(t *testing.T) {
	const good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	for s, want := range map[string]bool{
		good:                                     true,
		good[:53] + "00":                         true,  // not sampled
		good[:53] + "ff":                         true,  // flags to come
		"cc" + good[2:]:                          true,  // a version to come
		"cc" + good[2:] + "-what-comes":          true,  // and what it adds
		"cc" + good[2:] + "x":                    false, // adds must stand apart
		good + "-":                               false, // version 00 has no more
		good + "-00":                             false,
		"ff" + good[2:]:                          false,
		"":                                       false,
		good[:54]:                                false,
		" " + good:                               false,
		good + " ":                               false,
		strings.ToUpper(good):                    false,
		strings.Replace(good, "4bf9", "4Bf9", 1): false,
		strings.Replace(good, "4bf9", "4gf9", 1): false,
		strings.Replace(good, "-00f0", "_00f0", 1):                false,
		"00-00000000000000000000000000000000-00f067aa0ba902b7-01": false,
		"00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01": false,
		"0x" + good[2:]:         false,
		good[:53] + "0g":        false,
		good + ", " + good:      false,
		strings.Repeat("0", 55): false,
	} {
		trace, span, ok := ParseTraceparent(s)
		if ok != want {
			t.Errorf("%q: %v, want %v", s, ok, want)
		}
		if ok && (fmt.Sprintf("%x", trace) != s[3:35] || fmt.Sprintf("%x", span) != s[36:52]) || !ok && (trace != [16]byte{} || span != [8]byte{}) {
			t.Errorf("%q: trace %x, span %x", s, trace, span)
		}
	}
}

func FuzzParseTraceparent(f *testing.F) {
	for _, s := range []string{"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x", "ff--", "00-"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		trace, span, ok := ParseTraceparent(s)
		if !ok {
			if trace != [16]byte{} || span != [8]byte{} {
				t.Errorf("%q: ids of nothing", s)
			}
			return
		}
		if trace == [16]byte{} || span == [8]byte{} || !strings.HasPrefix(s[2:], fmt.Sprintf("-%x-%x-", trace, span)) {
			t.Errorf("%q: trace %x, span %x", s, trace, span)
		}
	})
}
