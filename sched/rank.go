package sched

import (
	"cmp"
	"slices"
	"time"
)

// rank decides between any two sequences who goes first, and who loses pages first. It is total, because ids differ;
// a sequence only ever takes pages from later ones, so the first of all always advances and nothing can go in circles.
type rank struct {
	priority int
	turn     uint64 // round of the tenants' queue at first admission; 0: not admitted yet, after all who are
	arrival  time.Duration
	id       SeqID
}

func (q *Sequence) rank() rank {
	return rank{priority: q.Priority, turn: q.turn, arrival: q.Arrival, id: q.ID}
}

// compare is negative if a goes before b.
func (a rank) compare(b rank) int {
	return cmp.Or(
		cmp.Compare(b.priority, a.priority),
		cmp.Compare(a.turn-1, b.turn-1), // 0 wraps to the largest
		cmp.Compare(a.arrival, b.arrival),
		cmp.Compare(a.id, b.id),
	)
}

// byRank orders by the sequences' own rank.
func byRank(a, b *Sequence) int { return a.rank().compare(b.rank()) }

// byBest orders by the best rank among a sequence and those who wait for it: a low-ranked owner of a prefix that a
// high-ranked one waits for is served as if it were that one.
func byBest(a, b *Sequence) int { return cmp.Or(a.best.compare(b.best), byRank(a, b)) }

// insert puts q into a list ordered by rank.
func insert(list []*Sequence, q *Sequence) []*Sequence {
	i, _ := slices.BinarySearchFunc(list, q, byRank)
	return slices.Insert(list, i, q)
}

// remove takes q out of a list, keeping the order of the others.
func remove(list []*Sequence, q *Sequence) []*Sequence {
	if i := slices.Index(list, q); i >= 0 {
		return slices.Delete(list, i, i+1)
	}
	return list
}
