package kvcache

import (
	"strings"
	"testing"
)

func TestNewBounds(t *testing.T) {
	for _, c := range []struct {
		pages, size int
		want        string
	}{
		{0, 16, "a pool of 0 pages"}, {-1, 16, "a pool of -1 pages"}, {MaxPages + 1, 16, "the number must be from 1 to"},
		{4, -1, "pages of -1 tokens"}, {4, MaxPageSize + 1, "pages of 4097 tokens"},
	} {
		if p, err := New(c.pages, c.size); p != nil || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("New(%d, %d): %v, want %q", c.pages, c.size, err, c.want)
		}
	}
	p, err := New(3, 0)
	if err != nil || p.PageSize() != DefaultPageSize || p.Pages() != 3 || p.Free() != 3 {
		t.Fatalf("New(3, 0): %v, %v", p, err)
	}
	for tokens, pages := range map[int]int{0: 0, 1: 1, 16: 1, 17: 2, 48: 3} {
		if got := p.PagesFor(tokens); got != pages {
			t.Errorf("PagesFor(%d) = %d, want %d", tokens, got, pages)
		}
	}
}

// Seeds that a concatenation would confuse.
func TestSeedsDiffer(t *testing.T) {
	seen := map[Hash][2]string{}
	for _, s := range [][2]string{{"", ""}, {"a", ""}, {"", "a"}, {"ab", "c"}, {"a", "bc"}, {"", "abc"}, {"abc", ""}} {
		h := Seed(s[0], s[1])
		if other, twice := seen[h]; twice {
			t.Errorf("%q and %q have one seed", s, other)
		}
		seen[h] = s
	}
}

// A page with the right hash and other tokens, as a collision would make it, is not taken over.
func TestLookupComparesTokens(t *testing.T) {
	p, _ := New(2, 4)
	want := []int32{1, 2, 3, 4, 5}
	chain := p.Chain(nil, Seed("", ""), want)
	ids, _ := p.Acquire(nil, 1)
	p.Publish(ids[0], Content{Parent: Seed("", ""), Hash: chain[0], Tokens: []int32{9, 9, 9, 9}})
	if m := p.Lookup(nil, chain, want); len(m.Pages) != 0 {
		t.Errorf("took over page %v with other tokens", m.Pages)
	}
	if err := p.Check(); err == nil || !strings.Contains(err.Error(), "not its content's") {
		t.Errorf("Check on a page filed wrongly: %v", err)
	}
}

// What only a caller's mistake can cause is a panic with a sentence, never silent damage.
func TestMisusePanics(t *testing.T) {
	full := []int32{1, 2}
	for name, c := range map[string]struct {
		do   func(p *Pool, held PageID)
		want string
	}{
		"released twice":      {func(p *Pool, id PageID) { p.Release([]PageID{id, id}) }, "more often than it was taken"},
		"no such page":        {func(p *Pool, id PageID) { p.Release([]PageID{7}) }, "page 7 of a pool of 4"},
		"free page shared":    {func(p *Pool, id PageID) { p.Share([]PageID{3}) }, "nothing to share"},
		"free page published": {func(p *Pool, id PageID) { p.Publish(3, Content{Tokens: full}) }, "nobody holds it"},
		"half a page":         {func(p *Pool, id PageID) { p.Publish(id, Content{Tokens: full[:1]}) }, "only a full page"},
		"half a hash":         {func(p *Pool, id PageID) { p.HashPage(Hash{}, full[:1]) }, "exactly one page"},
		"announced twice": {func(p *Pool, id PageID) {
			p.Announce(id, 1, Content{Tokens: full})
			p.Announce(id, 1, Content{Tokens: full})
		}, "not private"},
		"published as another": {func(p *Pool, id PageID) {
			p.Announce(id, 1, Content{Hash: Hash{1}, Tokens: full})
			p.Publish(id, Content{Hash: Hash{2}, Tokens: full})
		}, "other content than was announced"},
		"appended to a published page": {func(p *Pool, id PageID) {
			p.Publish(id, Content{Tokens: full})
			t := Table{pages: []PageID{id}}
			t.Own(p, 0)
		}, "is published"},
		"adopted late": {func(p *Pool, id PageID) { t := Table{pages: []PageID{id}}; t.Adopt(p, nil) }, "while it is empty"},
		"forked late":  {func(p *Pool, id PageID) { t := Table{pages: []PageID{id}}; t.Fork(p, &Table{}) }, "only an empty table"},
	} {
		t.Run(name, func(t *testing.T) {
			p, _ := New(4, 2)
			ids, _ := p.Acquire(nil, 1)
			defer func() {
				if r, _ := recover().(string); !strings.Contains(r, c.want) {
					t.Errorf("panic %q, want %q", r, c.want)
				}
			}()
			c.do(p, ids[0])
		})
	}
}

// Damage of every kind that Check knows is found.
func TestCheckFinds(t *testing.T) {
	for want, damage := range map[string]func(p *Pool){
		"holders":                    func(p *Pool) { p.pages[0].refs = -1 },
		"is free but has":            func(p *Pool) { p.pages[2].refs = 1 },
		"is free but pending":        func(p *Pool) { p.pages[2].state = pending },
		"follows":                    func(p *Pool) { p.pages[3].prev = 1 },
		"the free list has":          func(p *Pool) { p.free.n++ },
		"leaves the pool":            func(p *Pool) { p.pages[3].next = NoPage },
		"are cached, the count says": func(p *Pool) { p.cached++ },
		"are not 4":                  func(p *Pool) { p.pages[0].refs = 0 },
		"is pending with":            func(p *Pool) { p.pages[1].state, p.pages[1].refs = pending, 2 },
		"not its content's":          func(p *Pool) { p.tokensOf(1)[0]++ },
		"nothing leads to it":        func(p *Pool) { p.pages[1].pos = 2 },
		"the index holds 0 pages":    func(p *Pool) { *p.bucket(&p.pages[1].hash) = NoPage },
		"the index holds more than":  func(p *Pool) { p.pages[1].state = private },
	} {
		p, _ := New(4, 2)
		p.buckets = p.buckets[:1] // all in one chain, so that damage of the order is seen
		ids, _ := p.Acquire(nil, 2)
		tokens := []int32{1, 2}
		p.Publish(ids[1], Content{Parent: Seed("", ""), Hash: p.HashPage(Seed("", ""), tokens), Tokens: tokens})
		if err := p.Check(); err != nil {
			t.Fatal(err)
		}
		damage(p)
		if err := p.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: Check says %v", want, err)
		}
	}
}

func TestSteadyStateAllocatesNothing(t *testing.T) {
	p, _ := New(32, 16)
	seed := Seed("", "")
	tokens := make([]int32, 16*8+1)
	chain := p.Chain(nil, seed, tokens)
	table, found := MakeTable(16), make([]PageID, 0, 16)
	n := testing.AllocsPerRun(100, func() {
		tokens[0]++ // other content each time, so that pages are evicted, too
		chain = p.Chain(chain[:0], seed, tokens)
		m := p.Lookup(found, chain, tokens)
		table.Adopt(p, m.Pages)
		table.Grow(p, len(tokens))
		parent := seed
		for i, h := range chain {
			p.Publish(table.Pages()[i], Content{Pos: i, Parent: parent, Hash: h, Tokens: tokens[i*16 : (i+1)*16]})
			parent = h
		}
		table.Clear(p)
	})
	if n != 0 {
		t.Errorf("%v allocations a sequence", n)
	}
	if s := p.Stats(); s.Evicted == 0 {
		t.Errorf("nothing was evicted: %+v", s)
	}
}
