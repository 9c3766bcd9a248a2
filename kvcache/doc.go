// Package kvcache keeps the books of a paged key-value cache: which page holds which tokens, who refers to it, and
// which pages a new request can take over instead of computing them again. It deals in integers only. The memory
// behind a page belongs to whoever runs the model.
//
// A page holds the keys and values of a fixed number of consecutive tokens (16 unless told otherwise). A sequence has a
// Table, the list of its pages in order:
//
//	tokens    0 ....... 15  16 ...... 31  32 .. 37
//	table     [ page 4   ]  [ page 9   ]  [ page 2 ·········· ]
//	           full, published: may be    part filled: private,
//	           shared by any sequence     never in the index
//
// # Life of a page
//
//	       Acquire               Announce               Publish
//	free ───────────▶ private ───────────▶ pending ───────────▶ published
//	  ▲                 │  ▲                  │                     │
//	  │     Release     │  └──── Withdraw ────┘                     │
//	  ├─────────────────┘                                           │
//	  └──────── last Release: free and cached, revived by Share ◀───┘
//
// Pending means that its tokens are known and somebody is computing them now: others may choose to wait for it. Only
// full pages are ever announced or published.
//
// # Eviction
//
// The free list is kept in the order in which pages are taken again. Pages that nobody could look up go to its front,
// cached pages to its back, and a table is always released from its end, so that the end of a chain is lost before its
// beginning. Hence every cached page can be reached: as long as it is in the index, so is a page for each of its
// predecessors. Two pages with the same content are both usable while sequences refer to them (tables are append-only,
// so twins are never merged), but of several only one stays cached.
//
// Sample has somebody told how long pages keep their content and how often it is used; nothing else depends on it.
//
// # Identity
//
// The index is keyed by a SHA-256 chained over the tokens from the first one on, starting from a seed made of the
// adapter and the cache scope. Tokens are compared as well before a page is taken over.
//
// Nothing here is safe for concurrent use: a Pool and the tables filled from it belong to one goroutine.
package kvcache
