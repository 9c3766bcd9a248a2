package studio

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// themes are the colours of tokens.css by name, and whether the dark ones are the same for who chose them as for whose system is dark.
func themes(t *testing.T) (light, dark map[string]string) {
	t.Helper()
	blocks := regexp.MustCompile(`(?s):root[^{]*\{(.*?)\}`).FindAllStringSubmatch(own(t)["css/tokens.css"], -1)
	if len(blocks) != 3 {
		t.Fatalf("tokens.css has %d blocks", len(blocks))
	}
	tokens := func(block string) map[string]string {
		out := map[string]string{}
		for _, m := range regexp.MustCompile(`--([\w-]+):\s*([^;]+);`).FindAllStringSubmatch(block, -1) {
			out[m[1]] = m[2]
		}
		return out
	}
	dark = tokens(blocks[1][1])
	for name, v := range tokens(blocks[2][1]) {
		if dark[name] != v {
			t.Errorf("dark %s is %q where the system is dark, %q where it was chosen", name, dark[name], v)
		}
	}
	if len(dark) != len(tokens(blocks[2][1])) {
		t.Error("the dark blocks have different tokens")
	}
	return tokens(blocks[0][1]), dark
}

// luminance is the relative luminance of #rrggbb, as WCAG 2 defines it.
func luminance(t *testing.T, colour string) float64 {
	t.Helper()
	n, err := strconv.ParseUint(strings.TrimPrefix(colour, "#"), 16, 32)
	if err != nil || len(colour) != 7 {
		t.Fatalf("%q is no colour", colour)
	}
	part := func(shift int) float64 {
		c := float64(n>>shift&0xff) / 255
		if c <= 0.04045 {
			return c / 12.92
		}
		return math.Pow((c+0.055)/1.055, 2.4)
	}
	return 0.2126*part(16) + 0.7152*part(8) + 0.0722*part(0)
}

// TestContrast: text can be read in both themes (4.5 : 1), and lines be seen (3 : 1).
func TestContrast(t *testing.T) {
	light, dark := themes(t)
	for theme, c := range map[string]map[string]string{"light": light, "dark": dark} {
		check := func(front, back string, least float64) {
			a, b := luminance(t, c[front])+0.05, luminance(t, c[back])+0.05
			if ratio := max(a, b) / min(a, b); ratio < least {
				t.Errorf("%s: %s on %s has a contrast of %.2f, want %v", theme, front, back, ratio, least)
			}
		}
		for _, back := range []string{"surface", "raised"} {
			for _, text := range []string{"ink", "soft", "faint", "accent", "s1", "s2", "s3", "bad", "warn"} {
				check(text, back, 4.5)
			}
			for _, line := range []string{"s4", "s5", "axis", "focus"} {
				check(line, back, 3)
			}
		}
		for _, pair := range [][2]string{{"good", "good-ground"}, {"warn", "warn-ground"}, {"bad", "bad-ground"}, {"accent-ink", "accent"}, {"ink", "warn-ground"}, {"ink", "area3"}, {"soft", "area3"}, {"soft", "warn-ground"}} {
			check(pair[0], pair[1], 4.5)
		}
	}
}
