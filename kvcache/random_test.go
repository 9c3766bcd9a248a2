package kvcache

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// machine runs random commands against a pool and against a naive model: a memory that remembers, for each slot of each
// page, the whole history of the token that was computed into it. A table is right if every computed token of its
// sequence finds its own history there; any page shared, kept, evicted or copied wrongly shows at once.
type machine struct {
	pool   *Pool
	memory []history
	users  []*user
	draw   func(n int) int // a number below n
	next   Owner
}

// history identifies a token together with everything before it, scope included.
type history string

type user struct {
	table    Table
	scope    string
	tokens   []int32
	computed int
	owner    Owner
}

func newMachine(draw func(int) int) *machine {
	p, err := New(1+draw(12), 1+draw(4))
	if err != nil {
		panic(err)
	}
	return &machine{pool: p, memory: make([]history, p.Pages()*p.PageSize()), draw: draw}
}

func (u *user) history(i int) history { return history(fmt.Sprint(u.scope, u.tokens[:i+1])) }

func (m *machine) slot(u *user, i int) *history {
	size := m.pool.PageSize()
	return &m.memory[int(u.table.Pages()[i/size])*size+i%size]
}

// step runs one command and returns the first thing that is wrong.
func (m *machine) step() error {
	switch op := m.draw(7); {
	case op == 0 || len(m.users) == 0:
		m.take()
	case op == 1:
		m.fork(m.users[m.draw(len(m.users))])
	case op == 2:
		i := m.draw(len(m.users))
		m.users[i].table.Clear(m.pool)
		m.users = slices.Delete(m.users, i, i+1)
	case op == 3:
		m.cut(m.users[m.draw(len(m.users))])
	case op == 4:
		m.append(m.users[m.draw(len(m.users))])
	default:
		m.compute(m.users[m.draw(len(m.users))])
	}
	if err := m.pool.Check(); err != nil {
		return err
	}
	for _, u := range m.users {
		for i := range u.computed {
			if got := *m.slot(u, i); got != u.history(i) {
				return fmt.Errorf("token %d of %v in pages %v finds %q", i, u.tokens, u.table.Pages(), got)
			}
		}
	}
	return m.books()
}

// books counts holders by hand.
func (m *machine) books() error {
	holders := make([]int, m.pool.Pages())
	for _, u := range m.users {
		for _, id := range u.table.Pages() {
			holders[id]++
		}
	}
	used := 0
	for id, n := range holders {
		if m.pool.Refs(PageID(id)) != n {
			return fmt.Errorf("page %d has %d holders, the pool says %d", id, n, m.pool.Refs(PageID(id)))
		}
		if n > 0 {
			used++
		}
	}
	if s := m.pool.Stats(); s.Used != used || s.Used+s.Free != s.Pages || s.Cached > s.Free {
		return fmt.Errorf("%d pages are used, the pool says %+v", used, s)
	}
	return nil
}

func (m *machine) take() {
	m.next++
	u := &user{scope: []string{"", "s"}[m.draw(2)], owner: m.next}
	for range 1 + m.draw(10) {
		u.tokens = append(u.tokens, int32(m.draw(2)))
	}
	chain := m.pool.Chain(nil, Seed("", u.scope), u.tokens)
	match := m.pool.Lookup(nil, chain, u.tokens)
	size := m.pool.PageSize()
	if m.pool.Free()-match.Free < m.pool.PagesFor(len(u.tokens))-len(match.Pages) {
		return
	}
	u.table.Adopt(m.pool, match.Pages)
	if !u.table.Grow(m.pool, len(u.tokens)) {
		panic("the pages were counted")
	}
	u.computed = len(match.Pages) * size
	if u.computed >= len(u.tokens) {
		panic("a match left nothing to compute")
	}
	for i := len(match.Pages); i < len(chain); i++ {
		m.pool.Announce(u.table.Pages()[i], u.owner, m.content(u, i, chain))
	}
	m.users = append(m.users, u)
}

func (m *machine) content(u *user, i int, chain []Hash) Content {
	size := m.pool.PageSize()
	c := Content{Pos: i, Parent: Seed("", u.scope), Hash: chain[i], Tokens: u.tokens[i*size : (i+1)*size]}
	if i > 0 {
		c.Parent = chain[i-1]
	}
	return c
}

// fork is for sequences that have computed all they know, as in a scheduler: nothing of theirs is pending.
func (m *machine) fork(u *user) {
	if u.computed < len(u.tokens) {
		return
	}
	m.next++
	f := &user{scope: u.scope, tokens: slices.Clone(u.tokens), computed: u.computed, owner: m.next}
	f.table.Fork(m.pool, &u.table)
	m.users = append(m.users, f)
}

// cut drops tokens that are not in a published page.
func (m *machine) cut(u *user) {
	size := m.pool.PageSize()
	least := max(1, u.computed/size*size)
	n := least + m.draw(len(u.tokens)-least+1)
	if n == len(u.tokens) {
		return
	}
	for _, id := range u.table.Pages()[n/size:] {
		m.pool.Withdraw(id)
	}
	u.tokens, u.computed = u.tokens[:n], min(u.computed, n)
	u.table.Truncate(m.pool, n)
}

func (m *machine) append(u *user) {
	if u.computed < len(u.tokens) {
		return
	}
	size := m.pool.PageSize()
	if i := len(u.tokens) / size; i < len(u.table.Pages()) {
		from, to, ok := u.table.Own(m.pool, i)
		if !ok {
			return
		}
		copy(m.memory[int(to)*size:(int(to)+1)*size], m.memory[int(from)*size:(int(from)+1)*size])
	}
	if n := len(u.tokens) + 1 + m.draw(3); u.table.Grow(m.pool, n) {
		for len(u.tokens) < n {
			u.tokens = append(u.tokens, int32(m.draw(2)))
		}
	}
}

func (m *machine) compute(u *user) {
	to := u.computed + m.draw(len(u.tokens)-u.computed+1)
	for i := u.computed; i < to; i++ {
		*m.slot(u, i) = u.history(i)
	}
	chain := m.pool.Chain(nil, Seed("", u.scope), u.tokens[:to])
	for i := u.computed / m.pool.PageSize(); i < len(chain); i++ {
		m.pool.Publish(u.table.Pages()[i], m.content(u, i, chain))
	}
	u.computed = to
}

func TestRandomCommands(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newMachine(func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "n") })
		for range rapid.IntRange(1, 80).Draw(t, "steps") {
			if err := m.step(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

func FuzzCommands(f *testing.F) {
	f.Add([]byte{11, 3, 0, 0, 9, 1, 0, 1, 1, 0, 1, 0, 1, 0, 1, 5, 0, 9, 2, 0})
	f.Add([]byte{3, 1, 0, 0, 3, 1, 1, 1, 1, 5, 0, 3, 1, 0, 4, 0, 2, 1, 1, 1, 4, 1, 0, 0, 2, 0, 0, 0, 3, 1, 1, 1, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		m := newMachine(func(n int) int {
			if len(data) == 0 {
				return 0
			}
			v := int(data[0]) % n
			data = data[1:]
			return v
		})
		for steps := 0; len(data) > 0 && steps < 300; steps++ {
			if err := m.step(); err != nil {
				t.Fatal(err)
			}
		}
	})
}
