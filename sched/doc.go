// Package sched decides who runs next: continuous batching over the pages of a kvcache.Pool. It is a pure state machine.
// It knows no model, reads no clock, starts no goroutine and always answers the same to the same calls; whoever drives it
// computes what a Plan says and reports what came out.
//
// # The one idea
//
// A sequence has known tokens and computed tokens. Every step spends a budget of rows on letting the second catch up
// with the first. There are no phases: a prompt is a sequence with many tokens due, decoding is one with a single token
// due, and prefix hits, chunked prompts, preemption and speculation all fall out of that.
//
//	known     ■■■■■■■■■■■■■■■■■■■■■■■■■■■■□        □ appended by Commit, due next
//	computed  ■■■■■■■■■■■■■■■■■■■■■■■■■■■■
//	pages     [0......][1......][2......][3··
//
// # Duties of the caller
//
// In a loop, from one goroutine:
//
//  1. Call Add, Cancel, Park and Drain as requests come and go; only between Commit and Next, or before the first Next.
//  2. Set Draft of running sequences, if it speculates.
//  3. Call Next. An Empty plan needs nothing more: wait for the next request, at most until Wake.
//  4. Perform Plan.Copies in their order, then compute every row of Plan.Spans. Row i of a span is the token at position
//     From+i and goes to slot (From+i) mod page size of page (From+i) / page size of Seq.Table().
//  5. Choose tokens wherever Logits is not 0: one Outcome for the span's Seq, and for each of its Forks if Span.Forks.
//     A sequence without an outcome counts as not computed in this step and is planned again.
//  6. Call Commit with the plan, how long it took, and the outcomes. Only then hand tokens out.
//
// If a step failed, so that there is nothing to commit, Cancel its sequences: the first Cancel drops the plan, of which
// nothing counts as computed then. (Cancel and Park between Next and Commit always do that; the Commit that follows
// panics.)
//
// # Order
//
// Rows that decode go first and are never cut. Prompts are cut into chunks that fit what is left of Limits.MaxTokens and
// Limits.MaxStepTime, the best in rank first, whether in the batch already or waiting to get in. Who waits is taken by
// priority, then by fair share between tenants, then by arrival, and nobody overtakes one who finds no room. Drafts take
// rows and pages that nobody else wants. When the batch needs more pages than are free, parked sequences lose theirs
// first, then the latest in rank; they come back, and are recomputed, when all their known pages and one for each running
// sequence are free. A sequence that waits to get in takes pages from parked ones, never from the batch.
//
// Sequences that would compute the same page at the same time don't: one owns it, the others wait without holding
// anything, lend the owner their rank, and take over if it ends. If the owner gets no row in a step they compute for
// themselves: doing a little twice is better than not advancing.
package sched
