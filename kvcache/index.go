package kvcache

import (
	"encoding/binary"
	"fmt"
	"slices"
)

// Content is what a full page holds, as the index files it.
type Content struct {
	Pos    int     // the page's place in its chain: 0 for the page of the first token
	Parent Hash    // hash of the page before it; the seed for the first
	Hash   Hash    // HashPage(Parent, Tokens)
	Tokens []int32 // exactly PageSize tokens
}

// Match is what a lookup found.
type Match struct {
	Pages   []PageID // published pages, from the first of the prefix on, without a gap; not yet held
	Free    int      // how many of them are free now: taking them lowers Pool.Free by this
	Pending PageID   // the page after them, if somebody is computing it now; else NoPage
	Owner   Owner    // who computes Pending
}

// Lookup finds the longest published prefix of tokens and appends its pages to dst. chain holds the hashes of the full
// pages of tokens (see Chain). At least one token is always left over, since a model has to compute something to say
// what comes next: a prompt that is cached whole gives its last page up. The caller holds nothing until it calls Share.
func (p *Pool) Lookup(dst []PageID, chain []Hash, tokens []int32) Match {
	m := Match{Pages: dst, Pending: NoPage}
	n := min(len(chain), max(0, len(tokens)-1)/p.size)
	for i := range n {
		id := p.find(i, &chain[i], tokens[i*p.size:(i+1)*p.size])
		if id == NoPage {
			break
		}
		if g := &p.pages[id]; g.state == pending {
			m.Pending, m.Owner = id, g.owner
			break
		} else if g.refs == 0 {
			m.Free++
		}
		m.Pages = append(m.Pages, id)
	}
	return m
}

// Pending reports whether the page is being computed by owner and will hold exactly what hash says. A waiter asks this
// at each step instead of looking its whole prefix up again.
func (p *Pool) Pending(id PageID, owner Owner, hash Hash) bool {
	g := p.at(id)
	return g.state == pending && g.owner == owner && g.hash == hash
}

// Announce enters a private page that one table holds into the index as pending: owner computes it now.
func (p *Pool) Announce(id PageID, owner Owner, c Content) {
	g := p.at(id)
	if g.state != private || g.refs != 1 {
		panic(fmt.Sprintf("kvcache: page %d is announced but is not private to one table", id))
	}
	p.enter(id, pending, &c)
	g.owner = owner
}

// Withdraw makes a pending page private again: its owner computes it no more. Other pages are left alone.
func (p *Pool) Withdraw(id PageID) {
	if p.at(id).state == pending {
		p.unindex(id)
	}
}

// Publish says that the page's content is there: others may share it from now on. The pages of a table
// are published in order. Publishing a published page changes nothing.
func (p *Pool) Publish(id PageID, c Content) {
	g := p.at(id)
	if g.refs == 0 {
		panic(fmt.Sprintf("kvcache: page %d is published but nobody holds it", id))
	}
	switch g.state {
	case published:
		return
	case private:
		p.enter(id, published, &c)
	case pending:
		if g.hash != c.Hash {
			panic(fmt.Sprintf("kvcache: page %d is published with other content than was announced", id))
		}
		g.state = published
	}
	if twin := p.twin(id); twin != NoPage && p.pages[twin].refs == 0 {
		p.forget(twin)
	}
}

// Published reports whether the page is in the index with its content, and under which hash.
func (p *Pool) Published(id PageID) (Hash, bool) {
	g := p.at(id)
	return g.hash, g.state == published
}

func (p *Pool) bucket(h *Hash) *PageID {
	return &p.buckets[binary.LittleEndian.Uint64(h[:8])&uint64(len(p.buckets)-1)]
}

// enter puts a page at the head of its bucket, so that of two owners of the same content the later one is found: the
// later one exists because the earlier one made no progress.
func (p *Pool) enter(id PageID, s pageState, c *Content) {
	if copy(p.tokensOf(id), c.Tokens) != p.size || len(c.Tokens) != p.size {
		panic("kvcache: only a full page can be indexed")
	}
	g := &p.pages[id]
	g.state, g.hash, g.parent, g.pos = s, c.Hash, c.Parent, int32(c.Pos)
	b := p.bucket(&g.hash)
	g.chain, *b = *b, id
}

func (p *Pool) unindex(id PageID) {
	g := &p.pages[id]
	at := p.bucket(&g.hash)
	for *at != id {
		at = &p.pages[*at].chain
	}
	*at = g.chain
	g.chain, g.state, g.owner = NoPage, private, 0
}

// find returns the page with this content, a published one if there is one, else a pending one, else NoPage.
func (p *Pool) find(pos int, hash *Hash, tokens []int32) PageID {
	found := NoPage
	for id := *p.bucket(hash); id != NoPage; id = p.pages[id].chain {
		g := &p.pages[id]
		if g.hash != *hash || int(g.pos) != pos || !slices.Equal(p.tokensOf(id), tokens) {
			continue
		}
		if g.state == published {
			return id
		}
		if found == NoPage {
			found = id
		}
	}
	return found
}

// twin returns another published page with the same content, a free one if there is one, else a live one, else NoPage.
func (p *Pool) twin(id PageID) PageID {
	g, found := &p.pages[id], NoPage
	for t := *p.bucket(&g.hash); t != NoPage; t = p.pages[t].chain {
		o := &p.pages[t]
		if t == id || o.state != published || o.hash != g.hash {
			continue
		}
		if o.refs == 0 {
			return t
		}
		found = t
	}
	return found
}
