package chat

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// hostile are templates that try to take a machine down. Each must end in a
// LimitError, whatever it does on the way.
var hostile = []struct{ name, src string }{
	{"nested ranges", `{% for a in range(99999) %}{% for b in range(99999) %}{% for c in range(99999) %}{% endfor %}{% endfor %}{% endfor %}`},
	{"nested ranges with output", `{% for a in range(99999) %}{% for b in range(99999) %}xxxxxxxxxxxxxxxx{% endfor %}{% endfor %}`},
	{"huge range", `{{ range(10**12) }}`},
	{"range of the whole line", `{{ range(-9223372036854775808, 9223372036854775807)|list }}`},
	{"string repetition", `{{ 'x' * 10**9 }}`},
	{"string repetition, big integer", `{{ 'x' * 10**30 }}`},
	{"repetition of a repetition", `{{ ('x' * 100000) * 100000 }}`},
	{"list repetition", `{{ [1] * 10**9 }}`},
	{"tuple repetition", `{{ (1,2) * 10**9 }}`},
	{"string doubling", `{% set ns = namespace(s='x') %}{% for i in range(200) %}{% set ns.s = ns.s + ns.s %}{% endfor %}`},
	{"string doubling by ~", `{% set ns = namespace(s='x') %}{% for i in range(200) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}`},
	{"string doubling by format", `{% set ns = namespace(s='x') %}{% for i in range(200) %}{% set ns.s = '%s%s' % (ns.s, ns.s) %}{% endfor %}`},
	{"string doubling by braces", `{% set ns = namespace(s='x') %}{% for i in range(200) %}{% set ns.s = '{0}{0}'.format(ns.s) %}{% endfor %}`},
	{"string doubling by join", `{% set ns = namespace(s='x') %}{% for i in range(200) %}{% set ns.s = [ns.s, ns.s]|join %}{% endfor %}`},
	{"string doubling by replace", `{% set ns = namespace(s='xx') %}{% for i in range(200) %}{% set ns.s = ns.s.replace('x', 'xx') %}{% endfor %}`},
	{"string doubling by replace filter", `{% set ns = namespace(s='xx') %}{% for i in range(200) %}{% set ns.s = ns.s|replace('', ns.s) %}{% endfor %}`},
	{"string doubling by repr", `{% set ns = namespace(s='x\\') %}{% for i in range(200) %}{% set ns.s = [ns.s]|string %}{% endfor %}`},
	{"string doubling by tojson", `{% set ns = namespace(s='"') %}{% for i in range(200) %}{% set ns.s = ns.s|tojson %}{% endfor %}`},
	{"string doubling by escape", `{% set ns = namespace(s='<') %}{% for i in range(200) %}{% set ns.s = ns.s|forceescape|string ~ '&' * 9 %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}`},
	{"string doubling by capture", `{% set ns = namespace(s='x') %}{% for i in range(200) %}{% set q %}{{ ns.s }}{{ ns.s }}{% endset %}{% set ns.s = q %}{% endfor %}`},
	{"list doubling", `{% set ns = namespace(l=[1]) %}{% for i in range(200) %}{% set ns.l = ns.l + ns.l %}{% endfor %}`},
	{"list growth", `{% set ns = namespace(l=[1]) %}{% for i in range(99999) %}{% set ns.l = ns.l + [i] %}{% endfor %}`},
	{"shared lists, printed", `{% set ns = namespace(l=[1]) %}{% for i in range(99) %}{% set ns.l = [ns.l, ns.l] %}{% endfor %}{{ ns.l }}`},
	{"shared lists, as json", `{% set ns = namespace(l=[1]) %}{% for i in range(99) %}{% set ns.l = [ns.l, ns.l] %}{% endfor %}{{ ns.l|tojson }}`},
	{"shared lists, compared", `{% set a = namespace(l=[1]) %}{% set b = namespace(l=[1]) %}{% for i in range(99) %}{% set a.l = [a.l, a.l] %}{% set b.l = [b.l, b.l] %}{% endfor %}{{ a.l == b.l }}`},
	{"shared lists, ordered", `{% set a = namespace(l=[1]) %}{% set b = namespace(l=[1]) %}{% for i in range(99) %}{% set a.l = [a.l, a.l] %}{% set b.l = [b.l, b.l] %}{% endfor %}{{ a.l < b.l }}`},
	{"shared tuples as a key", `{% set ns = namespace(l=(1,)) %}{% for i in range(99) %}{% set ns.l = (ns.l, ns.l) %}{% endfor %}{{ {ns.l: 1} }}`},
	{"nested data", `{% set ns = namespace(l=[]) %}{% for i in range(99999) %}{% set ns.l = [ns.l] %}{% endfor %}{{ ns.l }}`},
	{"nested data as json", `{% set ns = namespace(l=[]) %}{% for i in range(99999) %}{% set ns.l = [ns.l] %}{% endfor %}{{ ns.l|tojson }}`},
	{"nested data, compared", `{% set a = namespace(l=[]) %}{% set b = namespace(l=[]) %}{% for i in range(99999) %}{% set a.l = [a.l] %}{% set b.l = [b.l] %}{% endfor %}{{ a.l == b.l }}`},
	{"nested tuples as a key", `{% set ns = namespace(l=(1,)) %}{% for i in range(9999) %}{% set ns.l = (ns.l,) %}{% endfor %}{{ {ns.l: 1} }}`},
	{"macro recursion", `{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}`},
	{"mutual recursion", `{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}{{ a() }}{% endmacro %}{{ a() }}`},
	{"recursion by caller", `{% macro m() %}{% call m() %}{{ caller() }}{% endcall %}{% endmacro %}{{ m() }}`},
	{"recursion by default", `{% macro m(a=m()) %}{% endmacro %}{{ m() }}`},
	{"branching recursion", `{% macro m(n) %}{% if n %}{{ m(n-1) }}{{ m(n-1) }}{% endif %}{% endmacro %}{{ m(100) }}`},
	{"recursive loop", `{% for i in [1] recursive %}{{ loop([1]) }}{% endfor %}`},
	{"recursion through high macros", `{% macro m() %}` + strings.Repeat("{% if 1 %}", 300) + "{{ m() }}" + strings.Repeat("{% endif %}", 300) + `{% endmacro %}{{ m() }}`},
	{"recursion through high expressions", `{% macro m() %}{{ ` + strings.Repeat("[", 300) + "m()" + strings.Repeat("]", 300) + ` }}{% endmacro %}{{ m() }}`},
	{"stacked generators", `{% set ns = namespace(g=[1]) %}{% for i in range(99999) %}{% set ns.g = ns.g|map('string') %}{% endfor %}{{ ns.g|list }}`},
	{"stacked unique", `{% set ns = namespace(g=[1]) %}{% for i in range(99999) %}{% set ns.g = ns.g|unique %}{% endfor %}{{ ns.g|list }}`},
	{"power", `{{ 10 ** (10 ** 10) }}`},
	{"power of powers", `{{ (9 ** 9 ** 9) ** 9 ** 9 ** 9 }}`},
	{"repeated squaring", `{% set ns = namespace(n=3) %}{% for i in range(100) %}{% set ns.n = ns.n * ns.n %}{% endfor %}`},
	{"json indent", `{{ [[[1]]]|tojson(indent=10**9) }}`},
	{"json indent, big integer", `{{ [[[1]]]|tojson(indent='x' * 10**9) }}`},
	{"json indent by many", `{{ [[[[range(9999)|list]]]]|tojson(indent=99999) }}`},
	{"json separators", `{{ (range(9999)|list)|tojson(separators=('x' * 99999, ':')) }}`},
	{"indent filter", `{{ 'x'|indent(10**9, true) }}`},
	{"indent filter by many lines", `{{ ('x\n' * 99999)|indent(99999) }}`},
	{"center", `{{ 'x'|center(10**9) }}`},
	{"ljust", `{{ 'x'.ljust(10**9) }}`},
	{"zfill", `{{ 'x'.zfill(10**9) }}`},
	{"expandtabs", `{{ '\t'.expandtabs(10**9) }}`},
	{"format width", `{{ '%999999999d' % 1 }}`},
	{"format width by argument", `{{ '%*d' % (10**9, 1) }}`},
	{"format precision", `{{ '%.999999999f' % 1 }}`},
	{"brace width", `{{ '{:999999999}'.format(1) }}`},
	{"brace width by argument", `{{ '{:{}}'.format(1, 10**9) }}`},
	{"many wide formats", `{{ ('%1000000d' * 999) % ((1,) * 999) }}`},
	{"batch fill", `{{ [1]|batch(10**9, 'x')|list }}`},
	{"slices", `{{ [1]|slice(10**9)|list }}`},
	{"sum of lists", `{% set l = [[1] * 999] * 9999 %}{{ l|sum(start=[]) }}`},
	{"sort of equal long strings", `{% set s = 'x' * 1000000 %}{{ ([s] * 99999)|sort|length }}{{ ([s] * 99999)|sort|length }}`},
	{"search in a long string", `{% set s = 'a' * 10000000 %}{% for i in range(99999) %}{% if s.find('aaaaaaaab') > 0 %}{% endif %}{% endfor %}`},
	{"in over a long string", `{% set s = 'a' * 10000000 %}{% for i in range(99999) %}{% if 'b' in s %}{% endif %}{% endfor %}`},
	{"equal long strings", `{% set s = 'a' * 10000000 %}{% set t = 'a' * 10000000 %}{% for i in range(99999) %}{% if s == t %}{% endif %}{% endfor %}`},
	{"length of a long string", `{% set s = 'ä' * 5000000 %}{% for i in range(99999) %}{% if s|length == 1 %}{% endif %}{% endfor %}`},
	{"index into a long string", `{% set s = 'ä' * 5000000 %}{% for i in range(99999) %}{% if s[4999999] == 1 %}{% endif %}{% endfor %}`},
	{"strip of a long string", `{% set s = ' ' * 5000000 ~ 'x' %}{% for i in range(99999) %}{% if s|trim == '' %}{% endif %}{% endfor %}`},
	{"split into letters", `{% set s = 'a,' * 5000000 %}{% for i in range(99999) %}{% if s.split(',') %}{% endif %}{% endfor %}`},
	{"lines", `{% set s = '\n' * 5000000 %}{% for i in range(99999) %}{% if s.splitlines() %}{% endif %}{% endfor %}`},
	{"case of a long string", `{% set s = 'ä' * 5000000 %}{% for i in range(99999) %}{% if s|upper %}{% endif %}{% endfor %}`},
	{"list of a long string", `{% set s = 'ä' * 5000000 %}{{ s|list|length }}`},
	{"unique of many", `{% for i in range(99999) %}{% if range(99999)|unique|list %}{% endif %}{% endfor %}`},
	{"groupby of many", `{% for i in range(99999) %}{% if ([[1]] * 99999)|groupby(0)|list %}{% endif %}{% endfor %}`},
	{"index of a list", `{% set l = range(99999)|list %}{% for i in l %}{% if l.index(99998) %}{% endif %}{% endfor %}`},
	{"in over a list", `{% set l = range(99999)|list %}{% for i in l %}{% if -1 in l %}{% endif %}{% endfor %}`},
	{"dict from pairs", `{% for i in range(99999) %}{% if dict([[1,2]] * 9999) %}{% endif %}{% endfor %}`},
	{"arguments", `{% macro m() %}{{ varargs|length }}{% endmacro %}{% for i in range(99999) %}{{ m(*range(99999)) }}{% endfor %}`},
	{"output", `{% set s = 'x' * 1000000 %}{% for i in range(99999) %}{{ s }}{% endfor %}`},
	{"namespace names", `{% for i in range(99999) %}{% for j in range(99) %}{% set ns = namespace(a=1, b=2, c=3, d=4) %}{% endfor %}{% endfor %}`},
	{"strftime", `{{ strftime_now('%c' * 9999999) }}`},
	{"filesizes and rounds", `{% for i in range(99999) %}{% for j in range(999) %}{{ 1e300|round(-300) }}{% endfor %}{% endfor %}`},
	{"endless digits", `{% for i in range(99999) %}{% for j in range(99999) %}{% if 3**9000 // 7**3000 %}{% endif %}{% endfor %}{% endfor %}`},
	{"big integers in bases", `{% for i in range(99999) %}{% for j in range(99999) %}{% if '%x' % 3**9000 %}{% endif %}{% endfor %}{% endfor %}`},
	{"big integers as text", `{% set n = 3**8000 %}{% for i in range(99999) %}{% for j in range(99999) %}{% if n|string %}{% endif %}{% endfor %}{% endfor %}`},

	{"long chain of constants", `{% for i in range(99999) %}{% for j in range(99999) %}{% if ` + strings.Repeat("0 or ", 9999) + `0 %}{% endif %}{% endfor %}{% endfor %}`},
	{"long concatenation of nothing", `{% for i in range(99999) %}{% for j in range(99999) %}{% set a = ` + strings.Repeat("'' ~ ", 9999) + `'' %}{% endfor %}{% endfor %}`},
	{"long keys", `{% set s = 'a' * 10000000 %}{% set d = {s: 1} %}{% for i in range(99999) %}{% if d[s] and d.get(s) and s in d %}{% endif %}{% endfor %}`},
	{"lists of long equal strings", `{% set a = ['a' * 10000000] * 9999 %}{% set b = ['a' * 10000000] * 9999 %}{% if a == b %}{% endif %}`},
	{"a frame of many variables", `{% for i in range(99999) %}{% for j in range(99999) %}` + strings.Join(numbered("{%% set v%d = 1 %%}", 5000), "") + `{% endfor %}{% endfor %}`},
	{"a frame of many variables, unset", `{% for i in range(99999) %}{% for j in range(99999) %}{% if false %}` + strings.Join(numbered("{%% set v%d = 1 %%}", 5000), "") + `{% endif %}{% endfor %}{% endfor %}`},
	{"deep closures", "{% set v = 1 %}" + strings.Join(numbered("{%% macro m%d() %%}", 190), "") + "{% for i in range(99999) %}{% for j in range(99999) %}{% if v %}{% endif %}{% endfor %}{% endfor %}" + strings.Join(reversed(numbered("{%% endmacro %%}{{ m%d() }}", 190)), "")},

	{"deep parentheses", "{{ " + strings.Repeat("(", 100000) + "1" + strings.Repeat(")", 100000) + " }}"},
	{"deep lists", "{{ " + strings.Repeat("[", 100000) + strings.Repeat("]", 100000) + " }}"},
	{"deep dicts", "{{ " + strings.Repeat("{1:", 100000) + "1" + strings.Repeat("}", 100000) + " }}"},
	{"deep not", "{{ " + strings.Repeat("not ", 100000) + "1 }}"},
	{"deep minus", "{{ " + strings.Repeat("-", 3) + " " + strings.Repeat("- ", 100000) + "1 }}"},
	{"deep if", strings.Repeat("{% if 1 %}", 50000) + strings.Repeat("{% endif %}", 50000)},
	{"deep for", strings.Repeat("{% for i in [1] %}", 20000) + strings.Repeat("{% endfor %}", 20000)},
	{"deep inline if", "{{ " + strings.Repeat("1 if 1 else ", 50000) + "1 }}"},
	{"deep inline if without else", "{{ 1" + strings.Repeat(" if 1", 50000) + " }}"},
	{"deep calls", "{{ " + strings.Repeat("f(", 50000) + strings.Repeat(")", 50000) + " }}"},
	{"deep targets", "{% set " + strings.Repeat("(", 50000) + "a" + strings.Repeat(")", 50000) + " = 1 %}"},
	{"long attribute chain", "{{ a" + strings.Repeat(".a", 100000) + " }}"},
	{"long call chain", "{{ a" + strings.Repeat("()", 100000) + " }}"},
	{"long filter chain", "{{ a" + strings.Repeat("|upper", 100000) + " }}"},
	{"long product", "{{ 1" + strings.Repeat("*1", 100000) + " }}"},
	{"long power", "{{ 1" + strings.Repeat("**1", 100000) + " }}"},
	{"long filter block", "{% filter " + strings.Repeat("upper|", 50000) + "upper %}{% endfilter %}"},
	{"long source", strings.Repeat("x", MaxSourceBytes+1)},
	{"long integer", "{{ " + strings.Repeat("9", 100000) + " }}"},
	{"many parameters", "{% macro m(a" + strings.Repeat(",a", 100000) + ") %}{% endmacro %}"},
}

func numbered(format string, n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf(format, i)
	}
	return out
}

func reversed(s []string) []string {
	slices.Reverse(s)
	return s
}

func TestHostileTemplatesHitALimit(t *testing.T) {
	var opt Options
	if testing.Short() { // under the race detector, all the steps take minutes
		opt.Limits.Steps = 500_000
	}
	for _, c := range hostile {
		t.Run(c.name, func(t *testing.T) {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			tpl, err := Compile(c.src)
			if err == nil {
				var out string
				out, err = tpl.Render(NewMap(0), opt)
				if err == nil {
					t.Fatalf("rendered to %d bytes", len(out))
				}
			}
			runtime.ReadMemStats(&after)
			var limit *LimitError
			var syntax *SyntaxError
			if !errors.As(err, &limit) && !(c.name == "many parameters" && errors.As(err, &syntax)) {
				t.Fatalf("want a LimitError, got %v", err)
			}
			// All that was ever allocated, dead or alive: the limits on values and
			// output, with room for what append and builders double, and for steps.
			const most = 2 << 30
			if got := after.TotalAlloc - before.TotalAlloc; got > most {
				t.Errorf("allocated %d bytes on the way to %v", got, err)
			}
		})
	}
}

// Long chains that need no depth are fine: templates are written by programs too.
func TestLongButFlat(t *testing.T) {
	for name, src := range map[string]string{
		"sum":                  "{{ 1" + strings.Repeat("+1", 50000) + " }}",
		"concat":               "{{ 1" + strings.Repeat("~1", 50000) + " }}",
		"or":                   "{{ 0" + strings.Repeat(" or 0", 50000) + " }}",
		"compare":              "{{ 1" + strings.Repeat(" < 1", 50000) + " }}",
		"elif":                 "{% if 0 %}" + strings.Repeat("{% elif 0 %}", 50000) + "{% endif %}",
		"ifs":                  strings.Repeat("{% if 0 %}{% set a = 1 %}{% endif %}", 20000),
		"list":                 "{{ [" + strings.Repeat("1,", 50000) + "]|length }}",
		"strings":              "{{ '" + strings.Repeat("' '", 50000) + "' }}",
		"names":                strings.Repeat("{{ a }}", 50000),
		"comments":             strings.Repeat("{# #}", 100000),
		"names in deep frames": strings.Repeat("{% with %}", 300) + strings.Join(numbered("{{ a%d }}", 50000), "") + strings.Repeat("{% endwith %}", 300),
	} {
		tpl, err := Compile(src)
		if err == nil {
			_, err = tpl.Render(NewMap(0), Options{})
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestCycle: a namespace can hold itself; it prints as Python prints it.
func TestCycle(t *testing.T) {
	out, err := mustCompile(t, `{% set ns = namespace() %}{% set ns.l = [ns] %}{{ ns }}`).Render(nil, Options{})
	if want := "<Namespace {'l': [<Namespace {...}>]}>"; err != nil || out != want {
		t.Errorf("got %q, %v, want %q", out, err, want)
	}
}
