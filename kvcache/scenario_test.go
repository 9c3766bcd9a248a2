package kvcache

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/paddock-go/paddock/internal/datadriven"
)

// TestScenarios runs testdata/*.txt. Sequences are named by letters; their tokens are the bytes of a text, so that a page
// of four tokens is a word of four letters. After each command the whole pool is checked.
//
//	pool pages=8 size=4           begin
//	take a text=onetwothre        look text up, share what is found, take the rest, announce the full pages
//	done a [n=4]                  the first n tokens (default all) are computed: publish their pages
//	append a text=x               add tokens: copy the last page if it is shared, take pages as needed
//	fork b from=a                 b holds what a holds
//	cut a n=5                     truncate to 5 tokens
//	free a                        give all pages back
//	lookup text=onetwo [scope=s]  what would be found
//	show                          pages in use, free list in eviction order, counts
func TestScenarios(t *testing.T) {
	datadriven.Walk(t, "testdata", func(t *testing.T, path string) {
		w := &world{}
		datadriven.Run(t, path, func(t *testing.T, c *datadriven.Command) string {
			out := w.do(t, c)
			if err := w.pool.Check(); err != nil {
				t.Fatalf("%s: %v", c.Pos, err)
			}
			return out
		})
	})
}

type world struct {
	pool *Pool
	seqs map[string]*seq
	next Owner
}

type seq struct {
	table  Table
	tokens []int32
	seed   Hash
	owner  Owner
}

func (w *world) do(t *testing.T, c *datadriven.Command) string {
	if c.Name == "pool" {
		p, err := New(c.Int(t, "pages", 8), c.Int(t, "size", 4))
		if err != nil {
			t.Fatal(err)
		}
		w.pool, w.seqs = p, map[string]*seq{}
		return ""
	}
	if c.Name == "lookup" {
		return w.lookup(c)
	}
	if c.Name == "show" {
		return w.show()
	}
	name := c.Arg(t, 0)
	q := w.seqs[name]
	if q == nil {
		w.next++
		q = &seq{owner: w.next}
		w.seqs[name] = q
	}
	switch c.Name {
	case "take":
		return w.take(c, q)
	case "append":
		return w.append(c, q)
	case "done":
		w.publish(q, c.Int(t, "n", len(q.tokens)))
	case "fork":
		from := w.seqs[c.String("from", "")]
		q.table.Fork(w.pool, &from.table)
		q.tokens, q.seed = append(q.tokens, from.tokens...), from.seed
	case "cut":
		q.tokens = q.tokens[:c.Int(t, "n", 0)]
		q.table.Truncate(w.pool, len(q.tokens))
	case "free":
		q.table.Clear(w.pool)
		delete(w.seqs, name)
		return ""
	default:
		t.Fatalf("%s: no command %s", c.Pos, c.Name)
	}
	return fmt.Sprintf("%s: %v", name, q.table.Pages())
}

func text(s string) []int32 {
	tokens := make([]int32, len(s))
	for i := range s {
		tokens[i] = int32(s[i])
	}
	return tokens
}

func (w *world) take(c *datadriven.Command, q *seq) string {
	q.tokens, q.seed = text(c.String("text", "")), Seed(c.String("adapter", ""), c.String("scope", ""))
	chain := w.pool.Chain(nil, q.seed, q.tokens)
	m := w.pool.Lookup(nil, chain, q.tokens)
	if w.pool.Free() < w.pool.PagesFor(len(q.tokens))-len(m.Pages)+m.Free {
		return "out of pages"
	}
	q.table.Adopt(w.pool, m.Pages)
	q.table.Grow(w.pool, len(q.tokens))
	for i := len(m.Pages); i < len(chain); i++ {
		w.pool.Announce(q.table.Pages()[i], q.owner, w.content(q, i, chain))
	}
	return fmt.Sprintf("%s: %v, %d found", c.Args[0], q.table.Pages(), len(m.Pages))
}

func (w *world) content(q *seq, i int, chain []Hash) Content {
	c := Content{Pos: i, Parent: q.seed, Hash: chain[i], Tokens: q.tokens[i*w.pool.PageSize() : (i+1)*w.pool.PageSize()]}
	if i > 0 {
		c.Parent = chain[i-1]
	}
	return c
}

func (w *world) publish(q *seq, n int) {
	chain := w.pool.Chain(nil, q.seed, q.tokens[:n])
	for i := range chain {
		w.pool.Publish(q.table.Pages()[i], w.content(q, i, chain))
	}
}

func (w *world) append(c *datadriven.Command, q *seq) string {
	var b strings.Builder
	if i := len(q.tokens) / w.pool.PageSize(); i < len(q.table.Pages()) {
		from, to, ok := q.table.Own(w.pool, i)
		if !ok {
			return "out of pages"
		}
		if from != to {
			fmt.Fprintf(&b, "copy %d to %d\n", from, to)
		}
	}
	add := text(c.String("text", ""))
	if !q.table.Grow(w.pool, len(q.tokens)+len(add)) {
		return "out of pages"
	}
	q.tokens = append(q.tokens, add...)
	fmt.Fprintf(&b, "%s: %v", c.Args[0], q.table.Pages())
	return b.String()
}

func (w *world) lookup(c *datadriven.Command) string {
	tokens := text(c.String("text", ""))
	chain := w.pool.Chain(nil, Seed(c.String("adapter", ""), c.String("scope", "")), tokens)
	m := w.pool.Lookup(nil, chain, tokens)
	out := fmt.Sprintf("found %v, %d of them free", m.Pages, m.Free)
	if m.Pending != NoPage {
		out += fmt.Sprintf(", page %d is being computed by %d", m.Pending, m.Owner)
	}
	return out
}

func (w *world) show() string {
	var b strings.Builder
	p := w.pool
	for id := range PageID(p.Pages()) {
		if g := &p.pages[id]; g.refs > 0 {
			fmt.Fprintf(&b, "page %d held %d%s\n", id, g.refs, w.state(id))
		}
	}
	b.WriteString("free:")
	for id := p.pages[p.free.head].next; id != p.free.tail; id = p.pages[id].next {
		b.WriteString(" " + strconv.Itoa(int(id)) + w.state(id))
	}
	s := p.Stats()
	fmt.Fprintf(&b, "\nused %d free %d cached %d evicted %d", s.Used, s.Free, s.Cached, s.Evicted)
	return b.String()
}

func (w *world) state(id PageID) string {
	g := &w.pool.pages[id]
	if g.state == private {
		return ""
	}
	word := []byte{}
	for _, t := range w.pool.tokensOf(id) {
		word = append(word, byte(t))
	}
	return fmt.Sprintf("(%s%s)", word, map[pageState]string{pending: "…", published: ""}[g.state])
}
