package kern

// keyTile is a few groups of a span that pass all queries at once, so that their
// keys and values stay in the first cache meanwhile.
type keyTile struct {
	groups []int32
	col    int // of its first key in AttendScratch.p
	// The groups whose keys, or values, will be read after this tile's: kernels
	// ask for them in advance.
	next       []int32
	nextValues bool
}

// attendFuncs are the kernels of attention over one tile. Query i is head
// i mod Heads of row i ÷ Heads; it has row i of AttendScratch.p and of the
// accumulators of AttendScratch.span.
type attendFuncs struct {
	// scores fills p for all queries and all keys of the tile's groups with
	// q·k × scale.
	scores func(sc *AttendScratch, a *AttendArgs, t *keyTile)
	// softmax turns the scores of whole groups into weights, in which −∞ stands
	// for a key that is not seen, and returns the largest score and the sum.
	softmax func(s []float32) (m, l float32)
	// values adds p × v to the accumulators of n queries from q on, for the keys
	// from…to of the tile, in order, fused.
	values func(sc *AttendScratch, a *AttendArgs, t *keyTile, q, n, from, to int)
	// merge is acc = fma(acc2, b, acc × a).
	merge func(acc, acc2 []float32, a, b float32)
}

var portableAttend = attendFuncs{scores: scores, softmax: softmax, values: values, merge: mergeValues}

// attendSpan fills sc.span for the span that begins at position s.
func (k *Kernels) attendSpan(sc *AttendScratch, a *AttendArgs, s int) {
	lo, hi := a.bounds()
	// Whole groups that hold a key someone sees.
	g0 := max(lo, s) / GroupTokens
	g1 := (min(hi, s+SpanKeys) + GroupTokens - 1) / GroupTokens
	groups := a.Groups[g0:g1]
	n := len(groups) * GroupTokens
	base := g0 * GroupTokens // the position of column 0 of sc.p
	size := a.tileGroups()
	for at := 0; at < len(groups); at += size {
		t := &sc.tile
		t.cut(groups, at, size)
		if len(t.next) == 0 && a.V != nil {
			t.next, t.nextValues = groups[:min(size, len(groups))], true
		}
		k.attend.scores(sc, a, t)
	}
	for q := range a.Rows * a.Heads {
		from, to := a.inSpan(q/a.Heads, s)
		if from >= to {
			sc.span.l[q] = 0
			continue
		}
		p := sc.p[q*SpanKeys:][:n]
		if a.Cap != 0 {
			k.vec.softcap(p[from-base:to-base], a.Cap)
		}
		unseen(p[:from-base])
		unseen(p[to-base:])
		sc.span.m[q], sc.span.l[q] = k.attend.softmax(p)
		clear(sc.span.acc[q*a.VDim : (q+1)*a.VDim])
	}
	for at := 0; at < len(groups); at += size {
		t, args := &sc.tile, a
		t.cut(groups, at, size)
		t.nextValues = true
		if len(t.next) == 0 { // the keys of the span after this one
			t.next, t.nextValues = a.Groups[g1:min(g1+size, len(a.Groups))], false
		}
		if a.V == nil {
			args, t.groups = sc.keys.turn(a, t.groups)
			t.next, t.nextValues = nil, false
		}
		k.tileValues(sc, args, t, s, base)
	}
}

// tileValues adds a tile's values to all queries that see any of them. Queries go
// in fours: over the keys that all of them see together, over the others row by
// row.
func (k *Kernels) tileValues(sc *AttendScratch, a *AttendArgs, t *keyTile, s, base int) {
	inTile := func(row int) (from, to int) {
		from, to = a.inSpan(row, s)
		return max(from-base-t.col, 0), min(to-base-t.col, len(t.groups)*GroupTokens)
	}
	nq := a.Rows * a.Heads
	for q := 0; q < nq; {
		n := together(nq - q)
		from, to := 0, len(t.groups)*GroupTokens
		for row := q / a.Heads; row*a.Heads < q+n; row++ {
			f, e := inTile(row)
			from, to = max(from, f), min(to, e)
		}
		to = max(from, to)
		for at := q; at < q+n; { // what comes before
			end := min((at/a.Heads+1)*a.Heads, q+n)
			if f, e := inTile(at / a.Heads); f < min(e, from) {
				k.attend.values(sc, a, t, at, end-at, f, min(e, from))
			}
			at = end
		}
		if from < to {
			k.attend.values(sc, a, t, q, n, from, to)
		}
		for at := q; at < q+n; { // what comes after
			end := min((at/a.Heads+1)*a.Heads, q+n)
			if f, e := inTile(at / a.Heads); max(f, to) < e {
				k.attend.values(sc, a, t, at, end-at, max(f, to), e)
			}
			at = end
		}
		q += n
	}
}

// together is how many of the queries left share a pass over a tile: four, or
// less so that the last do not go alone.
func together(left int) int {
	passes := (left + 3) / 4
	return (left + passes - 1) / passes
}

// tileGroups is how many groups pass all queries at once. A single query reads
// each but once, and wants many at a time for chains that don't wait for one
// another.
func (a *AttendArgs) tileGroups() int {
	if a.Rows*a.Heads == 1 && a.V != nil {
		return maxTile
	}
	return sharedTile
}

const (
	maxTile    = 8
	sharedTile = 4
)

// cut makes t the tile of size groups that begins at group at of a span.
func (t *keyTile) cut(groups []int32, at, size int) {
	end := min(at+size, len(groups))
	*t = keyTile{groups: groups[at:end], col: at * GroupTokens, next: groups[end:min(end+size, len(groups))]}
}
