package chat

import (
	"errors"
	"testing"

	"github.com/paddock-go/paddock/internal/bounded"
)

// TestMemoryBound: what Render allocates stays within the bound that Limits states,
// for templates that take all they can get of one of them.
func TestMemoryBound(t *testing.T) {
	lim := fuzzLimits
	for _, src := range []string{
		`{% for i in range(99999) %}{% for j in range(99999) %}{% set x = i * 1000 %}{% endfor %}{% endfor %}`,
		`{% for i in range(99999) %}{% for j in range(99999) %}{% set x = [1]|map('string') %}{% endfor %}{% endfor %}`,
		`{% for i in range(99999) %}{% for j in range(99999) %}{% set x = namespace(a=1, b=2) %}{% endfor %}{% endfor %}`,
		`{% for i in range(99999) %}{% for j in range(99999) %}{% set x = {i: {j: 1}} %}{% endfor %}{% endfor %}`,
		`{% macro m(a, b=1) %}{% endmacro %}{% for i in range(99999) %}{% for j in range(99999) %}{{ m(1, b=2) }}{% endfor %}{% endfor %}`,
		`{% for i in range(99999) %}{% for j in range(99999) %}{{ '%s%d' % ('a', i) }}{% endfor %}{% endfor %}`,
		`{% for i in range(99999) %}{% for j in range(99999) %}{{ '{}{}'.format('a', i) }}{% endfor %}{% endfor %}`,
		`{% for i in range(99999) %}{% for j in range(99999) %}{% if {}.a is defined %}{% endif %}{% endfor %}{% endfor %}`,
		`{% for i in range(99999) %}{% for j in range(99999) %}{% set x = 1.5|tojson %}{% endfor %}{% endfor %}`,
		`{% for i in range(99999) %}{% for j in range(99999) %}{% set x = 2.5 ** 0.5 %}{% endfor %}{% endfor %}`,
		`{% for i in range(99999) %}{% for j in range(99999) %}{% set x = 3 ** 999 // 7 ** 300 %}{% endfor %}{% endfor %}`,
		`{% for i in range(99999) %}{% for j in range(99999) %}{% set x = strftime_now('%c') %}{% endfor %}{% endfor %}`,
		`{% for i in range(99999) %}xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx{% endfor %}`,
		`{% set s = 'x' * 9999 %}{% for i in range(99999) %}{% set x = s ~ s %}{% endfor %}`,
		`{% set s = '\r' * 99999 %}{% for i in range(99999) %}{% set x = s.splitlines() %}{% endfor %}`,
		`{% set s = 'ΐ' * 99999 %}{% for i in range(99999) %}{% set x = s|upper %}{% endfor %}`,
		`{% set s = '\x07' * 99999 %}{% for i in range(99999) %}{% set x = [s]|string %}{% set y = s|tojson %}{% endfor %}`,
		`{% set s = 'a b\n' * 9999 %}{% for i in range(99999) %}{% set x = s|wordwrap(5) %}{% set y = s.split() %}{% endfor %}`,
		`{% set s = 'x' * 9999 %}{% for i in range(99999) %}{% set x = {}.fromkeys(range(999), s).items()|unique|list %}{% endfor %}`,
		`{% for i in range(99999) %}{% set x = range(9999)|list|sort|groupby(none)|list %}{% endfor %}`,
		`{% for i in range(99999) %}{% set x = range(9999)|map('string')|batch(1)|list %}{% endfor %}`,
		`{% for i in range(99999) %}{% set x = {}.fromkeys(range(9999)) %}{% set y = x.copy() %}{% endfor %}`,
	} {
		tpl := mustCompile(t, src)
		var err error
		bounded.Hold(t, rendering(lim), len(src), func() { _, err = tpl.Render(nil, Options{Limits: lim}) })
		var limit *LimitError
		if !errors.As(err, &limit) {
			t.Errorf("%s: %v, want a LimitError", src, err)
		}
	}
}

// BenchmarkHostile gives the time of a step at its worst, of what takes all steps.
func BenchmarkHostile(b *testing.B) {
	for _, h := range hostile {
		tpl, err := Compile(h.src)
		if err != nil {
			continue
		}
		b.Run(h.name, func(b *testing.B) {
			taken := int64(0)
			for b.Loop() {
				r := tpl.newRun(nil, Options{})
				tpl.init.enter(r)
				_, _ = tpl.body.exec(r)
				taken += r.lim.Steps - r.steps
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(max(taken, 1)), "ns/step")
		})
	}
	ctx := costContext()
	for _, op := range costs {
		tpl := mustCompile(b, "{% for i in range(99999) %}{% if "+op+" %}{% endif %}{% endfor %}")
		b.Run(op, func(b *testing.B) {
			taken := int64(0)
			for b.Loop() {
				r := tpl.newRun(ctx, Options{Limits: Limits{Steps: 1 << 20, ValueBytes: 1 << 40}, Now: goldenNow})
				tpl.init.enter(r)
				_, _ = tpl.body.exec(r)
				taken += r.lim.Steps - r.steps
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(max(taken, 1)), "ns/step")
		})
	}
}
