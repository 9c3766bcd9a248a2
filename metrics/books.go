package metrics

import (
	"errors"
	"fmt"
)

// CheckBooks says whether s adds up, and what doesn't; nil: it does. It holds at every instant at which an engine publishes a
// snapshot:
//
//	admitted          = running + waiting + finished
//	prompt tokens     = computed + prefix + tier
//	cached tokens     = prefix + tier
//	looked up         ≤ computed + prefix + tier (less only what bypassed the cache);  found = prefix
//	pages             = used + free;  cached ≤ free
//	no live sequence  → no used page
//	accepted          = the sum over positions ≤ proposed;  drafts ≤ proposed
func CheckBooks(s *Snapshot) error {
	var b books
	waiting := uint64(0)
	for i, w := range s.Waiting {
		b.atLeast0("waiting for "+WaitReason(i).String(), w)
		waiting += uint64(max(0, w))
	}
	b.atLeast0("running", s.Running)
	running := uint64(max(0, s.Running))
	b.equal("admitted", s.Admitted, "running + waiting + finished", running+waiting+s.FinishedTotal())

	var from uint64
	for _, n := range s.PromptFrom {
		from += n
	}
	b.equal("prompt tokens", s.Prompt.Sum(), "computed + prefix + tier", from)
	b.equal("cached tokens", s.Cached.Sum(), "prefix + tier", s.PromptFrom[FromPrefix]+s.PromptFrom[FromTier])
	b.atMost("looked up", s.PrefixQueries, "computed + prefix + tier", from)
	b.atMost("found", s.PrefixHits, "looked up", s.PrefixQueries)
	b.equal("found", s.PrefixHits, "prefix", s.PromptFrom[FromPrefix])
	for op := range NumOperations {
		for or := range NumOrigins {
			b.atMost(fmt.Sprintf("cached tokens of %v/%v", Operation(op), Origin(or)), s.Cached[op][or], "its prompt tokens", s.Prompt[op][or])
		}
	}

	b.atLeast0("pages used", s.PagesUsed)
	b.atLeast0("pages free", s.PagesFree)
	b.atLeast0("pages cached", s.PagesCached)
	if s.PagesUsed+s.PagesFree != s.PagesTotal {
		b.failf("pages used %d + free %d = %d, but all are %d", s.PagesUsed, s.PagesFree, s.PagesUsed+s.PagesFree, s.PagesTotal)
	}
	if s.PagesCached > s.PagesFree {
		b.failf("pages cached %d exceed the free ones, %d", s.PagesCached, s.PagesFree)
	}
	if running+waiting == 0 && s.PagesUsed != 0 {
		b.failf("no sequence is running or waiting, but %d pages are used", s.PagesUsed)
	}

	var accepted uint64
	for _, n := range s.Spec.AcceptedAt {
		accepted += n
	}
	b.equal("accepted draft tokens", s.Spec.AcceptedTokens, "their sum over positions", accepted)
	b.atMost("accepted draft tokens", s.Spec.AcceptedTokens, "draft tokens", s.Spec.DraftTokens)
	b.atMost("drafts", s.Spec.Drafts, "draft tokens", s.Spec.DraftTokens)
	if s.Spec.Positions < 0 || s.Spec.Positions > MaxDraft {
		b.failf("draft positions %d, must be 0 to %d", s.Spec.Positions, MaxDraft)
	}
	return errors.Join(b.faults...)
}

// CheckForward says whether after can follow before on one engine, and what can't; nil: it can. Counters never go down.
func CheckForward(before, after *Snapshot) error {
	var b books
	up := func(what string, from, to uint64) {
		if to < from {
			b.failf("%s went down from %d to %d", what, from, to)
		}
	}
	up("admitted", before.Admitted, after.Admitted)
	for i := range before.Finished {
		up("finished by "+EndReason(i).String(), before.Finished[i], after.Finished[i])
	}
	for i := range before.Rejected {
		up("rejected for "+RejectReason(i).String(), before.Rejected[i], after.Rejected[i])
	}
	for i := range before.PromptFrom {
		up("prompt tokens from "+PromptSource(i).String(), before.PromptFrom[i], after.PromptFrom[i])
	}
	for op := range NumOperations {
		for or := range NumOrigins {
			of := fmt.Sprintf(" of %v/%v", Operation(op), Origin(or))
			up("prompt tokens"+of, before.Prompt[op][or], after.Prompt[op][or])
			up("cached tokens"+of, before.Cached[op][or], after.Cached[op][or])
			up("generated tokens"+of, before.Generated[op][or], after.Generated[op][or])
		}
	}
	up("tokens looked up", before.PrefixQueries, after.PrefixQueries)
	up("tokens found", before.PrefixHits, after.PrefixHits)
	up("preemptions", before.Preemptions, after.Preemptions)
	up("recomputed tokens", before.Recomputed, after.Recomputed)
	up("evicted pages", before.PagesEvicted, after.PagesEvicted)
	up("drafts", before.Spec.Drafts, after.Spec.Drafts)
	up("draft tokens", before.Spec.DraftTokens, after.Spec.DraftTokens)
	for i := range before.Spec.AcceptedAt {
		up(fmt.Sprintf("tokens accepted at position %d", i), before.Spec.AcceptedAt[i], after.Spec.AcceptedAt[i])
	}
	for _, f := range []struct {
		what     string
		from, to float64
	}{
		{"flops", before.Flops, after.Flops},
		{"bytes read", before.ReadBytes, after.ReadBytes},
		{"bytes written", before.WriteBytes, after.WriteBytes},
	} {
		if !(f.to >= f.from) { // also for a NaN
			b.failf("%s went down from %v to %v", f.what, f.from, f.to)
		}
	}
	if before.PagesTotal != 0 && before.PagesTotal != after.PagesTotal {
		b.failf("the pool changed from %d to %d pages", before.PagesTotal, after.PagesTotal)
	}
	return errors.Join(b.faults...)
}

// books collects what doesn't add up.
type books struct{ faults []error }

func (b *books) failf(format string, args ...any) {
	b.faults = append(b.faults, fmt.Errorf("metrics: books: "+format, args...))
}

func (b *books) equal(what string, v uint64, sum string, want uint64) {
	if v != want {
		b.failf("%s is %d, but %s is %d", what, v, sum, want)
	}
}

func (b *books) atMost(what string, v uint64, bound string, most uint64) {
	if v > most {
		b.failf("%s is %d, more than %s, %d", what, v, bound, most)
	}
}

func (b *books) atLeast0(what string, v int) {
	if v < 0 {
		b.failf("%s is %d, below 0", what, v)
	}
}
