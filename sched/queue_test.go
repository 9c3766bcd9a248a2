package sched

import (
	"fmt"
	"testing"
)

// serve admits n sequences from the queue, charging each tenant as a scheduler does, and counts tokens by tenant. Every
// tenant always has another sequence waiting.
func serve(u *queue, cost map[string]int, n int) (tokens, admissions map[string]int) {
	id := SeqID(0)
	push := func(name string) {
		id++
		u.push(&Sequence{ID: id, Tenant: name, tenant: u.join(name, 1)})
	}
	for _, name := range []string{"a", "b", "c"} {
		if cost[name] > 0 {
			push(name)
			push(name)
		}
	}
	tokens, admissions = map[string]int{}, map[string]int{}
	for range n {
		q := u.pick()
		u.admitted(q)
		q.tenant.credit -= int64(cost[q.Tenant])
		tokens[q.Tenant] += cost[q.Tenant]
		admissions[q.Tenant]++
		push(q.Tenant)
		u.leave(q.tenant)
	}
	return tokens, admissions
}

// Tenants that always ask get the same number of tokens, however large their requests are.
func TestFairShares(t *testing.T) {
	for _, c := range []struct {
		cost map[string]int
		n    int
	}{
		{map[string]int{"a": 10, "b": 10, "c": 10}, 300},
		{map[string]int{"a": 1, "b": 50}, 2000},
		{map[string]int{"a": 3000, "b": 7, "c": 200}, 5000},
	} {
		u := newQueue(100)
		tokens, admissions := serve(&u, c.cost, c.n)
		total, most := 0, 0
		for name, n := range tokens {
			total, most = total+n, max(most, c.cost[name])
		}
		share := total / len(c.cost)
		for name := range c.cost {
			if d := tokens[name] - share; max(d, -d) > most+100 { // one request and one quantum
				t.Errorf("%v: %q got %d of %d tokens in %d admissions", c.cost, name, tokens[name], total, admissions[name])
			}
		}
		if err := u.check(); err != nil {
			t.Error(err)
		}
	}
}

// Equal tenants take turns.
func TestTurns(t *testing.T) {
	u := newQueue(100)
	order := ""
	for i, name := range []string{"a", "a", "a", "b", "b", "c"} {
		u.push(&Sequence{ID: SeqID(i), Tenant: name, tenant: u.join(name, 1)})
	}
	for q := u.pick(); q != nil; q = u.pick() {
		if u.pick() != q {
			t.Fatal("asking twice gives two answers")
		}
		u.admitted(q)
		order += q.Tenant
		u.leave(q.tenant)
	}
	if order != "abcaba" || len(u.ring) != 0 || len(u.names) != 0 {
		t.Errorf("order %s, %d tenants remembered", order, len(u.ring))
	}
}

// A tenant that leaves is forgotten with its debt, and the others keep their places in the ring.
func TestIdleTenantIsForgotten(t *testing.T) {
	u := newQueue(10)
	var seqs []*Sequence
	for i := range 4 {
		q := &Sequence{ID: SeqID(i), Tenant: fmt.Sprint(i), tenant: u.join(fmt.Sprint(i), 1)}
		seqs = append(seqs, q)
		u.push(q)
	}
	u.admitted(u.pick())
	u.admitted(u.pick())
	seqs[0].tenant.credit = -1000
	u.leave(seqs[0].tenant)
	if q := u.pick(); q != seqs[2] {
		t.Errorf("next is %d", q.ID)
	}
	if again := u.join("0", 1); again.credit != 10 {
		t.Errorf("comes back with a credit of %d", again.credit)
	}
}

// Everybody deep in debt: the rounds are counted, not walked.
func TestRoundsInOneStep(t *testing.T) {
	u := newQueue(10)
	q := &Sequence{ID: 1, tenant: u.join("", 1)}
	u.push(q)
	q.tenant.credit = -1 << 40
	round := u.round
	if u.pick() != q || q.tenant.credit < 1 || q.tenant.credit > 10 {
		t.Errorf("credit %d", q.tenant.credit)
	}
	if got, want := u.round-round, uint64(1<<40/10+1); got != want {
		t.Errorf("%d rounds, want %d", got, want)
	}
}
