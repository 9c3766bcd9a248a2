package kvcache

// freeList is the doubly linked list of free pages in eviction order, threaded through the page records. Two sentinels
// at the end of the slice stand for its ends, so that no operation has a special case:
//
//	head ⇄ taken next ⇄ … ⇄ taken last ⇄ tail
type freeList struct {
	head, tail PageID
	n          int
}

// newFreeList makes the empty list; head and tail are the numbers of two records that are no pages.
func newFreeList(pages []page, head, tail PageID) freeList {
	pages[head].prev, pages[head].next = NoPage, tail
	pages[tail].prev, pages[tail].next = head, NoPage
	return freeList{head: head, tail: tail}
}

// pushFront makes id the next to be taken.
func (l *freeList) pushFront(pages []page, id PageID) { l.insert(pages, id, l.head) }

// pushBack makes id the last to be taken.
func (l *freeList) pushBack(pages []page, id PageID) { l.insert(pages, id, pages[l.tail].prev) }

func (l *freeList) insert(pages []page, id, after PageID) {
	next := pages[after].next
	pages[id].prev, pages[id].next = after, next
	pages[after].next, pages[next].prev = id, id
	l.n++
}

// remove takes id out, wherever it is.
func (l *freeList) remove(pages []page, id PageID) {
	prev, next := pages[id].prev, pages[id].next
	pages[prev].next, pages[next].prev = next, prev
	pages[id].prev, pages[id].next = NoPage, NoPage
	l.n--
}

// first is the next page to be taken; NoPage if there is none.
func (l *freeList) first(pages []page) PageID {
	if l.n == 0 {
		return NoPage
	}
	return pages[l.head].next
}
