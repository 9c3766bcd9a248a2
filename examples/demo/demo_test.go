package demo

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// The held-out pairs were fixed before the training began; a changed file would make its score worthless.
const heldOutSHA256 = "de19b57c1bd1a1fe92b0021afc3708201a27838278b1e3b31a1b12b71dad5efe"

const maxModelBytes = 4 << 20

func lines(t *testing.T, name string) []string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("train", name))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(raw), "\r\n", "\n")
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// rows splits a tab-separated file under its header into maps; every row must have all columns.
func rows(t *testing.T, name string, columns ...string) []map[string]string {
	t.Helper()
	all := lines(t, name)
	if got := all[0]; got != strings.Join(columns, "\t") {
		t.Fatalf("%s: header %q, want the columns %v", name, got, columns)
	}
	var out []map[string]string
	for n, line := range all[1:] {
		cells := strings.Split(line, "\t")
		if len(cells) != len(columns) {
			t.Fatalf("%s:%d: %d columns, want %d", name, n+2, len(cells), len(columns))
		}
		row := make(map[string]string)
		for i, c := range columns {
			row[c] = cells[i]
		}
		out = append(out, row)
	}
	return out
}

func families(t *testing.T) map[string]map[string]string {
	t.Helper()
	out := make(map[string]map[string]string)
	for _, row := range rows(t, "families.tsv", "family", "type", "labels", "help") {
		if out[row["family"]] != nil {
			t.Errorf("families.tsv: %s is there twice", row["family"])
		}
		out[row["family"]] = row
	}
	return out
}

func TestModelIsSmallAndGGUF(t *testing.T) {
	raw, err := Files.ReadFile(Name)
	if err != nil {
		t.Fatal(err)
	}
	if len(raw) > maxModelBytes {
		t.Errorf("%s has %d bytes, more than %d", Name, len(raw), maxModelBytes)
	}
	if !strings.HasPrefix(string(raw), "GGUF\x03\x00\x00\x00") {
		t.Errorf("%s does not begin as GGUF version 3: % x", Name, raw[:min(8, len(raw))])
	}
}

func TestFamiliesAreWellFormed(t *testing.T) {
	name := regexp.MustCompile(`^[a-z][a-z0-9_]*[a-z0-9]$`)
	label := regexp.MustCompile(`^[a-z][a-z0-9_]*$`)
	help := regexp.MustCompile(`^[A-Z][ -~]*\.$`)
	seen := make(map[string]string)
	all := families(t)
	if len(all) < 60 {
		t.Errorf("only %d families", len(all))
	}
	for family, row := range all {
		if !name.MatchString(family) || strings.HasSuffix(family, "_total") {
			t.Errorf("%s: not the name of a family", family)
		}
		switch row["type"] {
		case "counter", "gauge", "histogram":
		default:
			t.Errorf("%s: unknown type %q", family, row["type"])
		}
		for _, l := range strings.Split(row["labels"], ",") {
			if l != "" && !label.MatchString(l) {
				t.Errorf("%s: bad label %q", family, l)
			}
		}
		if !help.MatchString(row["help"]) {
			t.Errorf("%s: HELP is no sentence: %q", family, row["help"])
		}
		if other, ok := seen[row["help"]]; ok {
			t.Errorf("%s and %s have one HELP; an answer could not tell them apart", family, other)
		}
		seen[row["help"]] = family
	}
}

func TestHeldOutPairsAreTheOnesFixedBeforeTraining(t *testing.T) {
	sum := sha256.Sum256([]byte(strings.Join(lines(t, "heldout.tsv"), "\n") + "\n"))
	if got := hex.EncodeToString(sum[:]); got != heldOutSHA256 {
		t.Errorf("heldout.tsv has the SHA-256 %s, want %s", got, heldOutSHA256)
	}
	known := families(t)
	pairs := rows(t, "heldout.tsv", "question", "family", "frame", "phrase")
	if len(pairs) != 100 {
		t.Errorf("%d held-out pairs, want 100", len(pairs))
	}
	seen := make(map[string]bool)
	for _, p := range pairs {
		if known[p["family"]] == nil {
			t.Errorf("%q asks for an unknown family %s", p["question"], p["family"])
		}
		made := strings.Replace(p["frame"], "{}", p["phrase"], 1)
		if !strings.EqualFold(made, p["question"]) {
			t.Errorf("%q is not its frame and phrase %q", p["question"], made)
		}
		if seen[p["question"]] {
			t.Errorf("%q is there twice", p["question"])
		}
		seen[p["question"]] = true
	}
}

// Each kind of phrase needs at least 40 frames, and each family phrases to put into them.
func TestQuestionsAreVaried(t *testing.T) {
	frames := make(map[string]int)
	for _, line := range lines(t, "frames.txt") {
		if kind, frame, ok := strings.Cut(line, ": "); ok && !strings.HasPrefix(line, "#") {
			if strings.Count(frame, "{}") != 1 {
				t.Errorf("frame %q has not one place for the phrase", frame)
			}
			frames[kind]++
		}
	}
	for _, kind := range []string{"n", "c", "d", "s"} {
		if frames[kind] < 40 {
			t.Errorf("%d frames of kind %s, want 40", frames[kind], kind)
		}
	}
	known, phrases, here := families(t), make(map[string]int), ""
	for _, line := range lines(t, "phrases.txt") {
		if family, ok := strings.CutPrefix(line, "@"); ok {
			here = family
			if known[family] == nil {
				t.Errorf("phrases for an unknown family %s", family)
			}
		} else if kind, _, ok := strings.Cut(line, ": "); ok && here != "" && frames[kind] > 0 {
			phrases[here]++
		}
	}
	for family := range known {
		if phrases[family] < 5 {
			t.Errorf("%s has %d phrase rules, want 5", family, phrases[family])
		}
	}
}
