package chat

import (
	"errors"
	"math/big"
	"runtime"
	"strings"
	"testing"
)

// costSize is the size of the values that costs works on: bytes of a string, items of
// a list.
const costSize = 1 << 17

// costContext has large values of all kinds. None of them was paid for: they are what
// a request may bring along.
func costContext() *Map {
	rep := strings.Repeat
	items := make([]Value, costSize)
	for i := range items {
		items[i] = integer(i)
	}
	last := append(append([]Value(nil), items[:costSize-1]...), integer(-1))
	wide, wide2, nones, longKeys := NewMap(costSize), NewMap(costSize), NewMap(costSize), NewMap(8)
	for i := range costSize {
		k, h := integer(i), simpleHash(integer(i))
		wide.put(k, h, k)
		wide2.put(integer(i), h, integer(i+i/(costSize-1)))
		nones.put(k, h, None)
	}
	for i := range 8 {
		longKeys.Set(rep("k", costSize)+string(rune('a'+i)), None)
	}
	// A tuple that holds others to the depth that is allowed: its hash is made again
	// for each level.
	var nest Value = &tuple{items: []Value{text(rep("x", 1<<15))}}
	for range 100 {
		nest = &tuple{items: []Value{nest}}
	}
	odd := new(big.Int).Exp(big.NewInt(7), big.NewInt(5000), nil)
	ctx := NewMap(0)
	for name, v := range map[string]Value{
		"s": text(rep("a", costSize)), "s2": text(rep("a", costSize)), // equal, not the same
		"end": text(rep("a", costSize-1) + "b"), "u": text(rep("ä", costSize/2)),
		"ws": text(rep(" ", costSize) + "1"), "cap": text("A" + rep("a", costSize) + "A"),
		"name": text("_" + rep("a", costSize)), "num": text(rep("0", costSize)),
		"commas": text(rep(",", costSize)),
		"tabs":   text(rep("\t", costSize)), "lines": text(rep("\r", costSize)),
		"m": markup(rep("<", costSize)), "pct": text(rep("%%", costSize/2)), "key": text("%(" + rep("a", costSize) + ")s"),
		"braces": text(rep("{{", costSize/2)), "field": text("{0[" + rep("a", costSize) + "]}"),
		"d1": NewMap(1).Set(rep("a", costSize), None), "l": &list{items}, "t": &tuple{items: items},
		"last": &list{last}, "same": &list{append([]Value(nil), items...)},
		"wide": wide, "wide2": wide2, "nones": nones, "longkeys": longKeys,
		"deep": nest, "deepbad": &tuple{items: []Value{nest, &list{}}}, "big": bigint{odd}, "big2": bigint{new(big.Int).Set(odd)},
		"bigkey": func() Value { m := NewMap(1); m.put(bigint{odd}, hashBig(odd), None); return m }(),
		"keys":   &dictView{wide, viewKeys}, "keys2": &dictView{wide2, viewKeys}, "r": &rangeValue{0, maxRange, 1, maxRange},
	} {
		ctx.Set(name, v)
	}
	return ctx
}

// costs are operations whose work grows with what they work on: found or not, in
// vain or not. One that fails ends a rendering and stands under costsOfErrors.
var costs = strings.Split(strings.TrimSpace(`
s[100000]
s[999999]
s[-100000]
s[-999999]
u[999999]
u[-999999]
s[9:100000]
s[::2]
s[::-1]
u[-99999:]
l[::2]
l[::-1]
s == s2
s != s2
s == end
s < end
s >= s2
s in s2
'b' in s
'b' not in s
s in [s2]
-1 in l
-1 in t
-1 in r
-1 in wide.values()
s in d1
end in d1
s in longkeys
s in d1.keys()
l == last
l == same
last < l
[l] == [last]
wide == wide2
wide.items() == wide2.items()
keys == keys2
s.upper == s2.upper
s is sameas s2
s is eq s2
s is lt s2
-1 is in l
s is lower
s is upper
s is filter
s is test
big is sameas big2
big == big2
d1[s]
d1[end]
longkeys[s]
s[s]
l[s]
wide[s]
r[s]
d1.get(s)
d1.get(end)
{s: 1}
{deep: 1}
deep in d1
{1: 2}[deep]
{1: 2}[deepbad]
[deep]|unique|list
dict.fromkeys is defined or d1.fromkeys([deep])
l|attr(s)
wide|attr(name)
d1.copy().fromkeys(l)
wide.copy()
dict(wide)
dict(**{s: 1})
namespace(**{s: 1})
namespace(wide)
s ~ 'x'
s + 'x'
s * 2
l + [1]
l * 2
big * 3
big // 7
big % 7
-big
big|string
big ~ ''
'%d' % big
'%x' % big
'{:d}'.format(big)
bigkey|tojson
[bigkey]|string
{big: 1}[big2]
s|length
u|length
s|upper
u|upper
s|lower
s|title
s|capitalize
s|trim('a')
s|trim(s2)
'x'|trim(s)
'x'.strip(s)
ws|trim
ws.strip()
ws.lstrip()
ws.rstrip(ws)
ws|int
ws|float
s|escape
s|forceescape
m|replace('x', s)
s|replace('b', 'c')
s|replace('a', 'c')
s|replace(s2, 'c')
s|indent
lines|indent
m|indent(s)
s|format
pct|format
pct % ()
key % d1
'%s' % s
'%r' % s
'%a' % u
'%.100000s' % s
'%9s' % s
'%300000d' % 1
'%.300000d' % 1
'{}'.format(s)
'{!r}'.format(s)
'{!a}'.format(u)
'{:.100000}'.format(s)
'{:>300000}'.format(1)
'{:0300000,d}'.format(1)
'{:0300000,.1f}'.format(1.5)
'{:09000_x}'.format(1)
braces.format()
field.format(d1)
s|center(9)
s|center(300000)
s|truncate(999999)
'x'|truncate(999999, true, s)
s|truncate(100000)
s|wordcount
s|urlencode
s|wordwrap
m|striptags
[s]|join
l|join
l|join('', attribute=s)
l|map(attribute=s)|first
l|sum
l|list|sort
l|sort
l|sort(attribute=s)
[1]|sort(attribute=commas)
l|sort(reverse=true)
wide|dictsort
[[1]]|groupby(s)
l|batch(2)|list
l|slice(9)|list
l|batch(300000, 1)|first
l|unique|list
l|min
l|max
l|first == l|map('string')|list
l|reverse|first
s|reverse
s|list
l|select('eq', -1)|list
l|reject|first == 1 or l|reject|list
l|map('abs')|list
wide|items|list
nones|xmlattr
{s: 1}|xmlattr
{'x': s}|xmlattr
l|string
s|string == s2
l|tojson
s|tojson
wide|tojson
wide|tojson(sort_keys=true)
[1,2]|tojson(separators=(s, s))
{1: 2, 3: 4}|tojson(separators=(',', s))
[[1]]|tojson(indent=s)
[[1]]|tojson(indent=300000)
s.upper()
s.lower()
s.casefold()
s.title()
s.capitalize()
s.swapcase()
s.startswith(s2)
s.startswith(end)
s.startswith((end, end))
s.startswith('b', 100000)
s.endswith(s2)
end.endswith(s, 1)
s.removeprefix(s2)
s.removeprefix(end)
s.removesuffix(s2)
s.replace('b', 'c')
s.replace(s2, 'c')
s.split('b')
s.split('a')
s.split()
ws.split(none, 1)
s.rsplit('a', 9)
s.rsplit()
s.splitlines()
lines.splitlines()
s.partition('b')
s.rpartition('b')
s.join(['x', 'y'])
''.join(s)
m.join(['x', s])
s.find('b')
s.rfind('b')
s.find('b', 100000)
s.count('b')
s.count('a', 1)
s.count('a', 1, 100000)
s.center(9)
s.ljust(9)
s.rjust(300000)
num.zfill(300000)
tabs.expandtabs()
s.expandtabs()
s.isspace()
s.isalpha()
s.isalnum()
s.isdecimal()
num.isdigit()
num.isnumeric()
s.isascii()
s.islower()
cap.isupper()
cap.istitle()
s.isprintable()
s.isidentifier()
(s ~ ' ').isidentifier()
s.translate({})
s.translate(l)
s.maketrans(s, s)
l.count(-1)
t.count(-1)
r.count(-1)
last.index(-1)
last[1:] == l[1:]
strftime_now(s)
strftime_now('%300000d')
[1]|map('string', **{s: 1})
[1]|batch(d1[end])
[1]|slice(d1[end])
[1]|select(d1[end])
`), "\n")

// costsOfErrors are operations that fail once they looked at all there is.
var costsOfErrors = strings.Split(strings.TrimSpace(`
s.index('b')
s.rindex('b')
l.index(-1)
t.index(-1)
s.split('')
key % {}
key % {'b': 1}
field.format({})|int + s
('%s' ~ s) % ()
[1] + s|list|string
raise_exception(l)
(l + [s])|sort
(l + [s])|max
'x'.join(l|map('string')|list + [1])
`), "\n")

// exceed runs src under a limit of steps and tells how many bytes of text were there
// in the end, and how many steps were taken.
func exceed(t *testing.T, src string, ctx *Map, steps int64) (out int, taken int64, err error) {
	t.Helper()
	tpl := mustCompile(t, src)
	r := tpl.newRun(ctx, Options{Limits: Limits{Steps: steps, ValueBytes: 1 << 40, OutputBytes: 1 << 30}, Now: goldenNow})
	tpl.init.enter(r)
	_, err = tpl.body.exec(r)
	return len(r.out), steps - r.steps, err
}

// TestCosts: no operation takes fewer steps than its work is worth. Each is done again
// and again under a limit of steps until that is reached. It is done so often as the
// steps allow, and never for next to nothing, as it was where something returned
// before it paid.
func TestCosts(t *testing.T) {
	ctx := costContext()
	const steps, most = 1 << 16, 48
	for i, op := range costs {
		if testing.Short() && i%8 != 0 {
			continue
		}
		n, _, err := exceed(t, "{% for i in range(99999) %}.{% if "+op+" %}{% endif %}{% endfor %}", ctx, steps)
		var limit *LimitError
		if !errors.As(err, &limit) || limit.What != "steps" {
			t.Errorf("%s: %v after %d times, want the limit of steps", op, err, n)
		} else if n > most {
			t.Errorf("%s: done %d times in %d steps, at most %d", op, n, steps, most)
		}
	}
}

// TestCostsOfErrors: an operation that fails is paid for as well.
func TestCostsOfErrors(t *testing.T) {
	ctx := costContext()
	const least = costSize / 64
	for _, op := range costsOfErrors {
		_, taken, err := exceed(t, "{% if "+op+" %}{% endif %}", ctx, 1<<30)
		var limit *LimitError
		if err == nil || errors.As(err, &limit) {
			t.Errorf("%s: %v, want another error", op, err)
		} else if taken < least {
			t.Errorf("%s: %d steps, want %d", op, taken, least)
		}
	}
}

// TestCostsComeFirst: what can't be paid for is not begun, so next to nothing is
// allocated.
func TestCostsComeFirst(t *testing.T) {
	ctx := costContext()
	const most = costSize / 4
	var before, after runtime.MemStats
	for i, op := range costs {
		if testing.Short() && i%8 != 0 {
			continue
		}
		tpl := mustCompile(t, "{% if "+op+" %}{% endif %}")
		opt := Options{Limits: Limits{Steps: 100}, Now: goldenNow}
		least := uint64(1 << 40)
		var err error
		for range 3 { // others in this process allocate as well
			runtime.ReadMemStats(&before)
			_, err = tpl.Render(ctx, opt)
			runtime.ReadMemStats(&after)
			least = min(least, after.TotalAlloc-before.TotalAlloc)
		}
		var limit *LimitError
		if !errors.As(err, &limit) {
			t.Errorf("%s: %v, want the limit of steps", op, err)
		}
		if least > most {
			t.Errorf("%s: %d bytes allocated within 100 steps, at most %d", op, least, most)
		}
	}
}
