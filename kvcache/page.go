package kvcache

// PageID numbers the pages of a pool from 0. It is also the index of the page's memory on the device.
type PageID int32

// NoPage is no page at all.
const NoPage PageID = -1

// Owner names whoever computes a pending page. The pool only hands it back.
type Owner uint64

// pageState says what the index knows of a page.
type pageState uint8

const (
	private   pageState = iota // in no index: part filled, or never offered to others
	pending                    // indexed, its content is being computed by owner
	published                  // indexed, its content is there
)

// page is the record of one page. Links are page numbers, so that a pool is a few flat slices and nothing is allocated
// after New.
type page struct {
	refs       int32 // live tables that hold it; 0: it is on the free list
	state      pageState
	prev, next PageID // free list, while refs is 0
	chain      PageID // next page of the same index bucket, while indexed
	owner      Owner  // while pending
	pos        int32  // while indexed: place in its chain
	hash       Hash   // while indexed: of all tokens from the first to this page's last
	parent     Hash   // while indexed: of all tokens before this page
}
