package metrics

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

// checkOpenMetrics reads a page as strictly as OpenMetrics 1.0 is written: it returns the first rule that the page breaks. It shares
// nothing with the writer.
func checkOpenMetrics(page string) error {
	c := omChecker{names: map[string]bool{}}
	if !utf8.ValidString(page) {
		return fmt.Errorf("not UTF-8")
	}
	body, ok := strings.CutSuffix(page, "# EOF\n")
	if !ok {
		return fmt.Errorf("no # EOF at the end")
	}
	for line := range strings.Lines(body) {
		if err := c.line(strings.TrimSuffix(line, "\n")); err != nil {
			return fmt.Errorf("%q: %w", line, err)
		}
	}
	return c.endFamily()
}

type omChecker struct {
	names   map[string]bool // of all families so far, with what their types add
	family  string
	typ     string
	meta    map[string]bool // kinds of comment seen of this family
	samples int
	series  map[string]bool // lines' names and labels
	groups  map[string]bool // labels without le and quantile, of groups that have ended
	group   string
	hist    *omHist
}

type omHist struct {
	le, last    float64
	buckets     int
	count, sum  *float64
	negative    bool
	gauge       bool
	stamp       string
	firstSample bool
}

var (
	omNameRE   = regexp.MustCompile(`^[a-zA-Z_:][a-zA-Z0-9_:]*$`)
	omLabelRE  = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)
	omNumberRE = regexp.MustCompile(`^([+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|[+-]?Inf|NaN)$`)
	omStampRE  = regexp.MustCompile(`^-?\d+(\.\d+)?$`)
	omAdds     = map[string][]string{"counter": {"_total", "_created"}, "histogram": {"_bucket", "_count", "_sum", "_created"},
		"gaugehistogram": {"_bucket", "_gcount", "_gsum"}, "summary": {"", "_count", "_sum", "_created"}, "gauge": {""}, "unknown": {""}}
)

func (c *omChecker) line(line string) error {
	if line == "" {
		return fmt.Errorf("an empty line")
	}
	if strings.HasPrefix(line, "#") {
		return c.comment(line)
	}
	return c.sample(line)
}

func (c *omChecker) comment(line string) error {
	parts := strings.SplitN(line, " ", 4)
	if len(parts) < 4 || parts[0] != "#" {
		return fmt.Errorf("no comment of the format's")
	}
	kind, name, text := parts[1], parts[2], parts[3]
	if !omNameRE.MatchString(name) {
		return fmt.Errorf("bad name")
	}
	if name != c.family {
		if err := c.endFamily(); err != nil {
			return err
		}
		*c = omChecker{names: c.names, family: name, meta: map[string]bool{}, series: map[string]bool{}, groups: map[string]bool{}}
	}
	if c.samples > 0 || c.meta[kind] {
		return fmt.Errorf("a comment out of place")
	}
	c.meta[kind] = true
	switch kind {
	case "TYPE":
		if _, ok := omAdds[text]; !ok {
			return fmt.Errorf("no such type")
		}
		c.typ = text
	case "UNIT":
		if !strings.HasSuffix(name, "_"+text) {
			return fmt.Errorf("the unit isn't the name's end")
		}
	case "HELP":
		if strings.Contains(strings.NewReplacer(`\\`, "", `\"`, "", `\n`, "").Replace(text), `\`) {
			return fmt.Errorf("a stray backslash")
		}
	default:
		return fmt.Errorf("no such comment")
	}
	return nil
}

func (c *omChecker) endFamily() error {
	if err := c.endGroup(); err != nil {
		return err
	}
	if c.family == "" {
		return nil
	}
	if c.typ == "" {
		return fmt.Errorf("%s has no type", c.family)
	}
	names := map[string]bool{c.family: true}
	for _, add := range omAdds[c.typ] {
		names[c.family+add] = true
	}
	for name := range names {
		if c.names[name] {
			return fmt.Errorf("%s is there twice", name)
		}
		c.names[name] = true
	}
	return nil
}

func (c *omChecker) sample(line string) error {
	name, labels, rest, err := omSeries(line)
	if err != nil {
		return err
	}
	add, ok := strings.CutPrefix(name, c.family)
	if !ok || add == "" && !(c.typ == "gauge" || c.typ == "unknown" || c.typ == "summary") || add == "_created" || !contains(omAdds[c.typ], add) {
		return fmt.Errorf("a %s named %s has no such sample", c.typ, c.family)
	}
	value, exemplar, traced := strings.Cut(rest, " # ")
	value, stamp, timed := strings.Cut(value, " ")
	if !omNumberRE.MatchString(value) || timed && !omStampRE.MatchString(stamp) {
		return fmt.Errorf("bad value or timestamp")
	}
	v, _ := strconv.ParseFloat(value, 64)
	if c.series[name+"{"+labelText(labels, "")] {
		return fmt.Errorf("a series twice")
	}
	c.series[name+"{"+labelText(labels, "")] = true
	c.samples++
	if add != "" && add != "_gsum" && !(v >= 0) {
		return fmt.Errorf("a count that is no count")
	}
	if (add == "_bucket" || strings.HasSuffix(add, "count")) && v != math.Trunc(v) {
		return fmt.Errorf("a count that isn't whole")
	}

	own := map[string]string{"histogram": "le", "gaugehistogram": "le", "summary": "quantile"}[c.typ]
	if group := labelText(labels, own); group != c.group || c.samples == 1 {
		if err := c.endGroup(); err != nil {
			return err
		}
		if c.groups[group] {
			return fmt.Errorf("a group in two places")
		}
		c.groups[group], c.group = true, group
		if own == "le" {
			c.hist = &omHist{le: math.Inf(-1), gauge: c.typ == "gaugehistogram", stamp: stamp}
		}
	}
	if c.hist != nil {
		if err := c.hist.add(add, labels["le"], v, stamp); err != nil {
			return err
		}
	}
	if c.typ == "summary" && add == "" {
		if q, err := strconv.ParseFloat(labels["quantile"], 64); err != nil || !(q >= 0 && q <= 1) || v < 0 {
			return fmt.Errorf("bad quantile")
		}
	}
	if !traced {
		return nil
	}
	if add != "_total" && add != "_bucket" {
		return fmt.Errorf("an exemplar out of place")
	}
	return c.exemplar(exemplar)
}

func (c *omChecker) exemplar(text string) error {
	_, labels, rest, err := omSeries("x" + text)
	if err != nil {
		return err
	}
	runes := 0
	for name, value := range labels {
		runes += utf8.RuneCountInString(name) + utf8.RuneCountInString(value)
	}
	value, stamp, timed := strings.Cut(rest, " ")
	if runes > 128 || !omNumberRE.MatchString(value) || timed && !omStampRE.MatchString(stamp) {
		return fmt.Errorf("a bad exemplar")
	}
	if v, _ := strconv.ParseFloat(value, 64); c.hist != nil && !(v > c.hist.last && v <= c.hist.le) {
		return fmt.Errorf("an exemplar outside its bucket (%v, %v]", c.hist.last, c.hist.le)
	}
	return nil
}

func (h *omHist) add(add, le string, v float64, stamp string) error {
	if stamp != h.stamp {
		return fmt.Errorf("two times in a histogram")
	}
	switch add {
	case "_bucket":
		bound, err := strconv.ParseFloat(le, 64)
		if err != nil || !(bound > h.le) || h.count != nil && v < *h.count || le != string(appendFloat(nil, bound, true)) {
			return fmt.Errorf("a bucket out of order")
		}
		h.negative = h.negative || bound < 0
		h.last, h.le, h.count = h.le, bound, &v
		h.buckets++
	case "_count", "_gcount":
		if h.count == nil || v != *h.count {
			return fmt.Errorf("the count isn't the last bucket's")
		}
		h.firstSample = true
	case "_sum", "_gsum":
		h.sum = &v
	}
	return nil
}

func (c *omChecker) endGroup() error {
	h := c.hist
	c.hist = nil
	switch {
	case h == nil:
		return nil
	case !math.IsInf(h.le, 1):
		return fmt.Errorf("%s: no bucket +Inf", c.family)
	case h.firstSample != (h.sum != nil):
		return fmt.Errorf("%s: a sum without a count, or a count without a sum", c.family)
	case h.sum != nil && !h.gauge && h.negative, h.sum != nil && *h.sum < 0 && !h.negative:
		return fmt.Errorf("%s: a sum that can't be", c.family)
	}
	return nil
}

// omSeries reads name{label="value",…} and a space; the rest follows.
func omSeries(line string) (name string, labels map[string]string, rest string, err error) {
	labels = map[string]string{}
	i := strings.IndexAny(line, "{ ")
	if i < 0 || !omNameRE.MatchString(line[:i]) {
		return "", nil, "", fmt.Errorf("bad name")
	}
	name, rest = line[:i], line[i:]
	if rest[0] == ' ' {
		return name, labels, rest[1:], nil
	}
	rest = rest[1:]
	for !strings.HasPrefix(rest, "} ") {
		label, after, ok := strings.Cut(rest, `="`)
		if _, twice := labels[label]; !ok || twice || !omLabelRE.MatchString(label) {
			return "", nil, "", fmt.Errorf("bad label %q", label)
		}
		value, end := "", -1
		for j := 0; j < len(after); j++ {
			if after[j] == '\\' {
				if j++; j == len(after) || !strings.ContainsRune(`\n"`, rune(after[j])) {
					return "", nil, "", fmt.Errorf("bad escape")
				}
				continue
			}
			if after[j] == '"' {
				end = j
				break
			}
		}
		if end < 0 {
			return "", nil, "", fmt.Errorf("an open quote")
		}
		value, rest = after[:end], after[end+1:]
		labels[label] = value
		if !strings.HasPrefix(rest, "}") {
			if rest, ok = strings.CutPrefix(rest, ","); !ok || strings.HasPrefix(rest, "}") {
				return "", nil, "", fmt.Errorf("bad separator")
			}
		}
	}
	return name, labels, rest[2:], nil
}

// labelText is a set of labels without one of them, in one order.
func labelText(labels map[string]string, without string) string {
	var pairs []string
	for name, value := range labels {
		if name != without {
			pairs = append(pairs, name+`="`+value+`"`)
		}
	}
	return strings.Join(sorted(pairs), ",")
}

func TestCheckerFindsWhatIsWrong(t *testing.T) {
	for _, page := range []string{
		"", "# TYPE a gauge\na 1\n", "# TYPE a gauge\na 1\n\n# EOF\n", "# TYPE a gauge\na 1\na 1\n# EOF\n", "a 1\n# EOF\n",
		"# TYPE a counter\na 1\n# EOF\n", "# TYPE a counter\na_total NaN\n# EOF\n", "# TYPE a gauge\na 1 # {x=\"y\"} 1\n# EOF\n",
		"# TYPE a gauge\na 1\n# TYPE a counter\na_total 1\n# EOF\n", "# TYPE a counter\na_total 1\n# TYPE a_total gauge\na_total 1\n# EOF\n",
		"# TYPE a gauge\n# UNIT a bytes\na 1\n# EOF\n", "# TYPE a summary\na{quantile=\"2\"} 1\n# EOF\n", "# TYPE a.b gauge\na.b 1\n# EOF\n",
		"# TYPE h histogram\nh_bucket{le=\"1.0\"} 1\n# EOF\n", "# TYPE h histogram\nh_bucket{le=\"1\"} 1\nh_bucket{le=\"+Inf\"} 1\n# EOF\n",
		"# TYPE h histogram\nh_bucket{le=\"1.0\"} 2\nh_bucket{le=\"+Inf\"} 1\n# EOF\n", "# TYPE h histogram\nh_bucket{le=\"+Inf\"} 1\nh_count 2\nh_sum 1\n# EOF\n",
		"# TYPE h histogram\nh_bucket{le=\"1.0\"} 1 # {x=\"y\"} 2\nh_bucket{le=\"+Inf\"} 1\n# EOF\n",
		"# TYPE h histogram\nh_bucket{le=\"+Inf\"} 1 # {x=\"" + strings.Repeat("y", 128) + "\"} 2\n# EOF\n",
		"# TYPE a gauge\na{x=\"1\"} 1\na{x=\"2\"} 1\na{x=\"1\"} 1\n# EOF\n", "# TYPE a gauge\na{x=\"1\",x=\"2\"} 1\n# EOF\n", "# TYPE a gauge\na{x=\"\\t\"} 1\n# EOF\n",
		"# TYPE a gauge\na 1\n# EOF\n# EOF\n", "# TYPE a gauge\na 0x1\n# EOF\n",
	} {
		if checkOpenMetrics(page) == nil {
			t.Errorf("nothing is wrong with %q", page)
		}
	}
}
