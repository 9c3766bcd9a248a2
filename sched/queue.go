package sched

import "slices"

// tenant is one party among which the machine is shared. It exists while it has a live sequence.
type tenant struct {
	name    string
	credit  int64       // tokens it may still have computed before others of its priority go first; may be negative
	live    int         // sequences
	waiting []*Sequence // not yet admitted, by rank
}

// queue holds the sequences that were never in the batch. Who is next is decided by priority; within a priority by
// deficit round robin:
//
//	ring      a ──▶ b ──▶ c ──▶ a …      one admission a visit, tenants without credit are passed over
//	credit   310  -900   12              each token computed costs 1; when nobody has credit, a new round
//	                                     gives everybody a quantum until somebody has
//
// The cost of a request is not known when it is admitted, so credit may go negative, and the debt is worked off by rounds
// in which others are served. The prompt is charged at admission (else one tenant could fill the batch in a single step
// before its first token is charged), what is generated when it is computed, and nothing twice.
type queue struct {
	ring    []*tenant // in order of appearance
	names   map[string]*tenant
	next    int // place in ring where the next visit begins
	round   uint64
	quantum int64
}

func newQueue(quantum int) queue {
	return queue{names: make(map[string]*tenant), round: 1, quantum: int64(quantum)}
}

// join adds weight live sequences to the tenant of that name. A newcomer starts with one quantum, as if the present
// round had begun with it.
func (u *queue) join(name string, weight int) *tenant {
	t := u.names[name]
	if t == nil {
		t = &tenant{name: name, credit: u.quantum}
		u.names[name] = t
		u.ring = append(u.ring, t)
	}
	t.live += weight
	return t
}

// leave takes one live sequence away. A tenant without any is forgotten, with its credit or debt.
func (u *queue) leave(t *tenant) {
	if t.live--; t.live > 0 {
		return
	}
	delete(u.names, t.name)
	i := slices.Index(u.ring, t)
	u.ring = slices.Delete(u.ring, i, i+1)
	if u.next > i {
		u.next--
	}
}

func (u *queue) push(q *Sequence)   { q.tenant.waiting = insert(q.tenant.waiting, q) }
func (u *queue) remove(q *Sequence) { q.tenant.waiting = remove(q.tenant.waiting, q) }

// pick returns the next sequence to admit, nil if none waits. Asking again gives the same answer until admitted is
// called or the queue changes.
func (u *queue) pick() *Sequence {
	top, any := 0, false
	for _, t := range u.ring {
		if len(t.waiting) > 0 && (!any || t.waiting[0].Priority > top) {
			top, any = t.waiting[0].Priority, true
		}
	}
	if !any {
		return nil
	}
	if q := u.visit(top); q != nil {
		return q
	}
	// Nobody has credit: as many rounds at once as the least indebted needs.
	rounds := int64(-1)
	for _, t := range u.ring {
		if t.asks(top) {
			if n := -t.credit/u.quantum + 1; rounds < 0 || n < rounds {
				rounds = n
			}
		}
	}
	u.round += uint64(rounds)
	for _, t := range u.ring {
		if t.asks(top) {
			t.credit += rounds * u.quantum
		}
	}
	return u.visit(top)
}

// visit goes once around and returns the first sequence of a tenant with credit.
func (u *queue) visit(priority int) *Sequence {
	for i := range u.ring {
		if t := u.ring[(u.next+i)%len(u.ring)]; t.asks(priority) && t.credit > 0 {
			return t.waiting[0]
		}
	}
	return nil
}

// asks reports whether the tenant waits with a sequence of this priority, the highest that anybody waits with.
func (t *tenant) asks(priority int) bool {
	return len(t.waiting) > 0 && t.waiting[0].Priority == priority
}

// admitted takes q out of the queue, fixes its turn and moves on to the next tenant.
func (u *queue) admitted(q *Sequence) {
	u.remove(q)
	q.turn = u.round
	u.next = (slices.Index(u.ring, q.tenant) + 1) % len(u.ring)
}
