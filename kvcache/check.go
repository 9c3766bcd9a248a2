package kvcache

import "fmt"

// Check verifies everything the pool believes about itself and reports the first contradiction: free list, reference
// counts, index, the counts of Stats, that every indexed page hashes to what it is filed under, and that every cached
// page can be reached from the first page of its chain. It costs a pass over all pages and is for tests and tools.
func (p *Pool) Check() error {
	free, cached, err := p.checkFree()
	if err != nil {
		return err
	}
	live, indexed := 0, 0
	for id := range PageID(p.Pages()) {
		g := &p.pages[id]
		if g.refs < 0 {
			return fmt.Errorf("kvcache: page %d has %d holders", id, g.refs)
		}
		if g.refs > 0 {
			live++
		}
		if g.state != private {
			indexed++
			if err := p.checkIndexed(id); err != nil {
				return err
			}
		}
	}
	if free+live != p.Pages() {
		return fmt.Errorf("kvcache: %d free and %d held pages are not %d", free, live, p.Pages())
	}
	if cached != p.cached {
		return fmt.Errorf("kvcache: %d pages are cached, the count says %d", cached, p.cached)
	}
	chained := 0
	for b := range p.buckets {
		for id := p.buckets[b]; id != NoPage; id = p.pages[id].chain {
			if chained++; chained > indexed {
				return fmt.Errorf("kvcache: the index holds more than the %d pages that say they are in it", indexed)
			}
			if p.bucket(&p.pages[id].hash) != &p.buckets[b] {
				return fmt.Errorf("kvcache: page %d is in the wrong bucket", id)
			}
		}
	}
	if chained != indexed {
		return fmt.Errorf("kvcache: the index holds %d pages, %d say they are in it", chained, indexed)
	}
	return nil
}

// checkFree walks the free list both ways.
func (p *Pool) checkFree() (free, cached int, err error) {
	at := p.free.head
	for id := p.pages[at].next; id != p.free.tail; id = p.pages[id].next {
		if id < 0 || int(id) >= p.Pages() || free >= p.Pages() {
			return 0, 0, fmt.Errorf("kvcache: the free list leaves the pool after page %d", at)
		}
		g := &p.pages[id]
		if g.prev != at {
			return 0, 0, fmt.Errorf("kvcache: page %d of the free list follows %d but says %d", id, at, g.prev)
		}
		if g.refs != 0 {
			return 0, 0, fmt.Errorf("kvcache: page %d is free but has %d holders", id, g.refs)
		}
		if g.state == pending {
			return 0, 0, fmt.Errorf("kvcache: page %d is free but pending", id)
		}
		if g.state == published {
			cached++
		}
		free++
		at = id
	}
	if p.pages[p.free.tail].prev != at || free != p.free.n {
		return 0, 0, fmt.Errorf("kvcache: the free list has %d pages, the count says %d", free, p.free.n)
	}
	return free, cached, nil
}

func (p *Pool) checkIndexed(id PageID) error {
	g := &p.pages[id]
	if g.state == pending && g.refs != 1 {
		return fmt.Errorf("kvcache: page %d is pending with %d holders", id, g.refs)
	}
	if p.HashPage(g.parent, p.tokensOf(id)) != g.hash {
		return fmt.Errorf("kvcache: page %d is filed under a hash that is not its content's", id)
	}
	if g.state != published {
		return nil
	}
	if g.pos > 0 && !p.reachable(g) {
		return fmt.Errorf("kvcache: page %d is published but nothing leads to it", id)
	}
	if g.refs > 0 {
		return nil
	}
	if twin := p.twin(id); twin != NoPage {
		return fmt.Errorf("kvcache: page %d is cached although page %d holds the same", id, twin)
	}
	return nil
}

// reachable reports whether the index still has the page before g.
func (p *Pool) reachable(g *page) bool {
	for id := *p.bucket(&g.parent); id != NoPage; id = p.pages[id].chain {
		if o := &p.pages[id]; o.state == published && o.hash == g.parent && o.pos == g.pos-1 {
			return true
		}
	}
	return false
}
