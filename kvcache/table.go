package kvcache

import "fmt"

// Table is the list of a sequence's pages in the order of its tokens. It only grows at its end and is only cut at its
// end: a page, once in a table, keeps its place, so that a device may read the list while it grows. The zero Table is
// empty. Every method that takes the pool must always be given the same one. One goroutine at a time may use it.
type Table struct {
	pages  []PageID
	tokens int
}

// MakeTable makes an empty table which grows to so many pages without allocating.
func MakeTable(pages int) Table { return Table{pages: make([]PageID, 0, pages)} }

// Pages are the pages in order. The slice belongs to the table: read it only until the table changes.
func (t *Table) Pages() []PageID { return t.pages }

// Tokens is the number of tokens that the table has room for by its own account: what it was last grown or cut to.
func (t *Table) Tokens() int { return t.tokens }

// Adopt begins an empty table with the published pages that a lookup found, and holds them.
func (t *Table) Adopt(p *Pool, pages []PageID) {
	if len(t.pages) > 0 {
		panic("kvcache: a table can adopt a prefix only while it is empty")
	}
	p.Share(pages)
	if p.sampler != nil {
		for _, id := range pages {
			p.sampler.hit(id, p.now)
		}
	}
	t.pages = append(t.pages, pages...)
	t.tokens = len(pages) * p.size
}

// Grow adds pages until there is room for so many tokens. If the pool has too few it changes nothing and reports false.
func (t *Table) Grow(p *Pool, tokens int) bool {
	pages, ok := p.Acquire(t.pages, max(0, p.PagesFor(tokens)-len(t.pages)))
	if ok {
		t.pages, t.tokens = pages, max(t.tokens, tokens)
	}
	return ok
}

// Truncate gives back the pages beyond so many tokens. They must not be needed by anybody who looks at this table.
func (t *Table) Truncate(p *Pool, tokens int) {
	n := min(p.PagesFor(tokens), len(t.pages))
	p.Release(t.pages[n:])
	t.pages, t.tokens = t.pages[:n], min(t.tokens, tokens)
}

// Clear gives all pages back.
func (t *Table) Clear(p *Pool) { t.Truncate(p, 0) }

// Fork makes the empty table t hold the same pages as from. A part-filled last page is then shared, and whoever appends
// to it first must call Own.
func (t *Table) Fork(p *Pool, from *Table) {
	if len(t.pages) > 0 {
		panic("kvcache: only an empty table can become a fork")
	}
	p.Share(from.pages)
	t.pages = append(t.pages, from.pages...)
	t.tokens = from.tokens
}

// Shared reports whether another table holds this table's page number i as well.
func (t *Table) Shared(p *Pool, i int) bool { return p.pages[t.pages[i]].refs > 1 }

// Own makes page number i of the table private by taking a fresh page in its place; the caller then copies the content
// from → to. A page that is not shared stays as it is, and from = to. If a copy is needed and no page is free it
// changes nothing and reports false. Published pages are never appended to and must not be passed here.
func (t *Table) Own(p *Pool, i int) (from, to PageID, ok bool) {
	from = t.pages[i]
	g := p.at(from)
	if g.state == published {
		panic(fmt.Sprintf("kvcache: page %d is published, appending to it would change what others share", from))
	}
	if g.refs == 1 {
		return from, from, true
	}
	var fresh [1]PageID
	if _, ok = p.Acquire(fresh[:0], 1); !ok {
		return from, from, false
	}
	t.pages[i] = fresh[0]
	p.release(from)
	return from, fresh[0], true
}
