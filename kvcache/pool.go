package kvcache

import (
	"fmt"
	"math/bits"
	"time"
)

// DefaultPageSize is the number of tokens in a page unless New is told otherwise.
const DefaultPageSize = 16

// Bounds of New. They keep a pool's own records below what an int32 numbers and a page's tokens below what a
// scheduler would ever compute in one step.
const (
	MaxPages    = 1 << 26
	MaxPageSize = 1 << 12
)

// Pool owns a fixed number of pages: their reference counts, their free list and the prefix index. See the package
// comment for the rules. One goroutine at a time may use it.
type Pool struct {
	size    int    // tokens in a page
	pages   []page // one record a page, then the two sentinels of the free list
	tokens  []int32
	buckets []PageID // heads of the index's chains; len is a power of two
	free    freeList
	cached  int    // pages that are free and published
	evicted uint64 // published pages whose content was given up for another's
	scratch []byte // input of one hash

	now     time.Duration // the latest that Tick said
	sampler *sampler      // nil: residency is not sampled
}

// Stats are the counts of a pool at one moment. Used + Free = Pages.
type Stats struct {
	Pages   int
	Used    int    // held by at least one table, each counted once
	Free    int    // held by none
	Cached  int    // the part of Free that a prefix hit could revive
	Evicted uint64 // cached pages given up so far, because a page was needed and no other was left
}

// New makes a pool of pages, all free, of pageSize tokens each (0: DefaultPageSize).
func New(pages, pageSize int) (*Pool, error) {
	if pageSize == 0 {
		pageSize = DefaultPageSize
	}
	if pages < 1 || pages > MaxPages {
		return nil, fmt.Errorf("kvcache: a pool of %d pages: the number must be from 1 to %d", pages, MaxPages)
	}
	if pageSize < 1 || pageSize > MaxPageSize {
		return nil, fmt.Errorf("kvcache: pages of %d tokens: the number must be from 1 to %d", pageSize, MaxPageSize)
	}
	p := &Pool{
		size:    pageSize,
		pages:   make([]page, pages+2),
		tokens:  make([]int32, pages*pageSize),
		buckets: make([]PageID, 1<<bits.Len(uint(pages-1))),
		scratch: make([]byte, 0, 1+len(Hash{})+4*pageSize),
	}
	for i := range p.buckets {
		p.buckets[i] = NoPage
	}
	p.free = newFreeList(p.pages, PageID(pages), PageID(pages+1))
	for i := range pages {
		p.pages[i].chain = NoPage
		p.free.pushBack(p.pages, PageID(i))
	}
	return p, nil
}

// PageSize is the number of tokens in a page.
func (p *Pool) PageSize() int { return p.size }

// Pages is the number of pages, free or not.
func (p *Pool) Pages() int { return len(p.pages) - 2 }

// PagesFor is the number of pages that n tokens fill, the last one perhaps in part.
func (p *Pool) PagesFor(n int) int { return (n + p.size - 1) / p.size }

// Free is the number of pages that Acquire could hand out.
func (p *Pool) Free() int { return p.free.n }

// Refs is the number of tables that hold the page.
func (p *Pool) Refs(id PageID) int { return int(p.at(id).refs) }

// Stats are the counts now.
func (p *Pool) Stats() Stats {
	return Stats{Pages: p.Pages(), Used: p.Pages() - p.free.n, Free: p.free.n, Cached: p.cached, Evicted: p.evicted}
}

// Acquire appends n fresh private pages to dst, each held once. If fewer are free it changes nothing and reports false.
// Pages without content worth keeping go first, then the cached page that was released the longest ago.
func (p *Pool) Acquire(dst []PageID, n int) ([]PageID, bool) {
	if n < 0 || n > p.free.n {
		return dst, false
	}
	for range n {
		id := p.free.first(p.pages)
		p.free.remove(p.pages, id)
		if p.pages[id].state == published {
			p.unindex(id)
			p.cached--
			p.evicted++
		}
		p.pages[id].refs = 1
		if p.sampler != nil {
			p.sampler.take(id, p.now)
		}
		dst = append(dst, id)
	}
	return dst, true
}

// Share adds one holder to each page. Free pages among them are revived, so they must be published: a free page without
// content has nothing to share.
func (p *Pool) Share(ids []PageID) {
	for _, id := range ids {
		g := p.at(id)
		if g.refs == 0 {
			if g.state != published {
				panic(fmt.Sprintf("kvcache: page %d is free and holds nothing to share", id))
			}
			p.free.remove(p.pages, id)
			p.cached--
		}
		g.refs++
	}
}

// Release takes one holder from each page, the last page first, so that the end of a chain is evicted before its
// beginning. A page that nobody holds any more is free: cached if it was published, forgotten if not.
func (p *Pool) Release(ids []PageID) {
	for i := len(ids) - 1; i >= 0; i-- {
		p.release(ids[i])
	}
}

func (p *Pool) release(id PageID) {
	g := p.at(id)
	if g.refs == 0 {
		panic(fmt.Sprintf("kvcache: page %d is released more often than it was taken", id))
	}
	if g.refs--; g.refs > 0 {
		return
	}
	if g.state == pending {
		p.unindex(id)
	}
	if g.state == published {
		if twin := p.twin(id); twin != NoPage {
			if p.pages[twin].refs > 0 {
				p.unindex(id) // the twin outlives this page, which therefore need not be kept
			} else {
				p.forget(twin) // this page was used last, so its predecessors are evicted later than the twin's
			}
		}
	}
	if g.state == published {
		p.free.pushBack(p.pages, id)
		p.cached++
		return
	}
	p.free.pushFront(p.pages, id)
}

// forget makes a cached page an ordinary free one, the next to be taken. Its content lives on in another page, so that
// is no eviction.
func (p *Pool) forget(id PageID) {
	p.unindex(id)
	p.cached--
	p.free.remove(p.pages, id)
	p.free.pushFront(p.pages, id)
}

func (p *Pool) at(id PageID) *page {
	if id < 0 || int(id) >= p.Pages() {
		panic(fmt.Sprintf("kvcache: page %d of a pool of %d", id, p.Pages()))
	}
	return &p.pages[id]
}

func (p *Pool) tokensOf(id PageID) []int32 {
	return p.tokens[int(id)*p.size : (int(id)+1)*p.size]
}
