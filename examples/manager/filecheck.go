package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"math"
	"os"
	"slices"
)

// checkFile reads a bbolt file as plain bytes and says what of its structure is not as bbolt writes it. bbolt itself maps the file and
// trusts it: a page that isn't there, or points anywhere, ends the process (in part on goroutines of bbolt's own, where nobody can catch
// it), so the file is looked through before bbolt gets it. What a value means is not looked at here.
//
//	page     id u64 │ kind u16 │ count u16 │ overflow u32 │ elements, 16 bytes each │ keys and values
//	branch   pos u32 │ key length u32 │ page u64
//	leaf     flags u32 │ pos u32 │ key length u32 │ value length u32     pos counts from the element itself
//	bucket   a leaf's value: root page u64 │ sequence u64 │ with root 0 a page of its own
//	meta     magic │ version │ page size │ flags, u32 each │ root u64 │ sequence u64 │ free list u64 │ pages u64 │ transaction u64 │ sum u64
func checkFile(path string) error {
	f, err := os.Open(path)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return err
	}
	c := &fileCheck{f: f, size: info.Size(), seen: map[uint64]bool{}}
	m, err := c.meta()
	if err != nil {
		return err
	}
	c.pages = m.pages
	if err := c.page(m.root, nil, 0); err != nil {
		return err
	}
	if m.free == math.MaxUint64 {
		return nil
	}
	return c.freeList(m.free)
}

type fileCheck struct {
	f        io.ReaderAt
	size     int64
	pageSize int64
	pages    uint64
	seen     map[uint64]bool // pages that something has
}

type fileMeta struct{ root, free, pages, tx uint64 }

// The kinds of pages, and the flag of an element that is a bucket.
const (
	kindBranch   = 1
	kindLeaf     = 2
	kindFreeList = 16
	bucketFlag   = 1

	pageHead  = 16
	elemSize  = 16
	maxDepth  = 64 // of pages below pages, and buckets in buckets
	metaSize  = 64
	boltMagic = 0xED0CDAED
)

// meta returns the newer of the two metas that hold.
func (c *fileCheck) meta() (fileMeta, error) {
	var best fileMeta
	found := false
	try := func(at int64) (size int64) {
		b := make([]byte, pageHead+metaSize)
		if _, err := c.f.ReadAt(b, at); err != nil {
			return 0
		}
		b = b[pageHead:]
		sum := fnv.New64a()
		sum.Write(b[:metaSize-8])
		u32, u64 := binary.LittleEndian.Uint32, binary.LittleEndian.Uint64
		if u32(b) != boltMagic || u32(b[4:]) != 2 || sum.Sum64() != u64(b[56:]) {
			return 0
		}
		m := fileMeta{root: u64(b[16:]), free: u64(b[32:]), pages: u64(b[40:]), tx: u64(b[48:])}
		if !found || m.tx > best.tx {
			best, found = m, true
		}
		return int64(u32(b[8:]))
	}
	if c.pageSize = try(0); c.pageSize != 0 {
		try(c.pageSize)
	}
	for size := int64(1024); c.pageSize == 0 && size <= 1<<24; size *= 2 {
		c.pageSize = try(size)
	}
	switch {
	case !found || c.pageSize < 1024 || c.pageSize > 1<<24:
		return best, errors.New("neither of its first two pages is whole")
	case c.size%c.pageSize != 0:
		return best, fmt.Errorf("it ends within a page, at %d bytes", c.size)
	case best.pages > uint64(c.size/c.pageSize):
		return best, fmt.Errorf("it has %d pages of %d bytes, its first page says %d", c.size/c.pageSize, c.pageSize, best.pages)
	}
	return best, nil
}

// load reads a page with what flows over into the next ones.
func (c *fileCheck) load(id uint64) ([]byte, error) {
	if id < 2 || id >= c.pages {
		return nil, fmt.Errorf("something points to page %d of %d", id, c.pages)
	}
	var head [pageHead]byte
	if _, err := c.f.ReadAt(head[:], int64(id)*c.pageSize); err != nil {
		return nil, err
	}
	more := uint64(binary.LittleEndian.Uint32(head[12:]))
	if got := binary.LittleEndian.Uint64(head[:]); got != id || id+more >= c.pages {
		return nil, fmt.Errorf("page %d says that it is %d and has %d more", id, got, more)
	}
	for i := id; i <= id+more; i++ {
		if c.seen[i] {
			return nil, fmt.Errorf("page %d is used twice", i)
		}
		c.seen[i] = true
	}
	b := make([]byte, int64(more+1)*c.pageSize)
	_, err := c.f.ReadAt(b, int64(id)*c.pageSize)
	return b, err
}

// page looks through a page and what is below it. first is the key that the page above has for it, nil: any.
func (c *fileCheck) page(id uint64, first []byte, depth int) error {
	b, err := c.load(id)
	if err != nil {
		return err
	}
	if depth > maxDepth {
		return fmt.Errorf("page %d lies too deep", id)
	}
	if err := c.elements(b, first, depth); err != nil {
		return fmt.Errorf("page %d: %w", id, err)
	}
	return nil
}

func (c *fileCheck) elements(b, first []byte, depth int) error {
	u16, u32, u64 := binary.LittleEndian.Uint16, binary.LittleEndian.Uint32, binary.LittleEndian.Uint64
	kind, n := u16(b[8:]), int(u16(b[10:]))
	if kind != kindBranch && kind != kindLeaf {
		return fmt.Errorf("its kind is %d", kind)
	}
	if pageHead+n*elemSize > len(b) || kind == kindBranch && n == 0 {
		return fmt.Errorf("it has %d elements", n)
	}
	last := first
	for i := range n {
		at := pageHead + i*elemSize
		e := b[at:]
		pos, klen, vlen := u32(e[4:]), u32(e[8:]), u32(e[12:])
		if kind == kindBranch {
			pos, klen, vlen = u32(e), u32(e[4:]), 0
		}
		from := uint64(at) + uint64(pos)
		if from < uint64(pageHead+n*elemSize) || from+uint64(klen)+uint64(vlen) > uint64(len(b)) {
			return fmt.Errorf("element %d lies outside", i)
		}
		key := b[from : from+uint64(klen)]
		if order := bytes.Compare(key, last); last != nil && (order < 0 || order == 0 && i > 0) {
			return fmt.Errorf("element %d is out of order", i)
		}
		last = key
		if kind == kindBranch {
			if err := c.page(u64(e[8:]), key, depth+1); err != nil {
				return err
			}
			continue
		}
		flags := u32(e)
		if flags > bucketFlag {
			return fmt.Errorf("element %d has flags %x", i, flags)
		}
		if flags == bucketFlag {
			if err := c.bucket(b[from+uint64(klen):from+uint64(klen)+uint64(vlen)], depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *fileCheck) bucket(v []byte, depth int) error {
	switch {
	case depth > maxDepth:
		return errors.New("buckets lie too deep")
	case len(v) < 16:
		return fmt.Errorf("a bucket has %d bytes", len(v))
	}
	if root := binary.LittleEndian.Uint64(v); root != 0 {
		return c.page(root, nil, depth)
	}
	if v = v[16:]; len(v) < pageHead || binary.LittleEndian.Uint16(v[8:]) != kindLeaf {
		return errors.New("a small bucket is not whole")
	}
	return c.elements(v, nil, depth)
}

// freeList looks through the list of pages that nothing has.
func (c *fileCheck) freeList(id uint64) error {
	b, err := c.load(id)
	if err != nil {
		return err
	}
	u64 := binary.LittleEndian.Uint64
	n, at := uint64(binary.LittleEndian.Uint16(b[10:])), uint64(pageHead)
	if n == math.MaxUint16 {
		n, at = u64(b[at:]), at+8
	}
	if binary.LittleEndian.Uint16(b[8:]) != kindFreeList || n > (uint64(len(b))-at)/8 {
		return fmt.Errorf("page %d is no list of %d free pages", id, n)
	}
	free := make([]uint64, n)
	for i := range free {
		free[i] = u64(b[at+uint64(i)*8:])
		if p := free[i]; p < 2 || p >= c.pages || c.seen[p] {
			return fmt.Errorf("page %d is free and in use, of %d", p, c.pages)
		}
		c.seen[free[i]] = true
	}
	if !slices.IsSorted(free) {
		return fmt.Errorf("the free pages of page %d are out of order", id)
	}
	return nil
}
