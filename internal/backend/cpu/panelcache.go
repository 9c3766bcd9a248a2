package cpu

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/backend/cpu/kern"
	"github.com/paddock-go/paddock/internal/prog"
)

// panelCache is a file that holds a model's panels as they lie in memory, so that
// the next Open maps it instead of packing:
//
//	0         magic, key, sizes, a sum for each chunk of panels, a sum of all that
//	panelsAt  panels
//
// Nothing of the header steers how the file is read: all but the sums must be what
// this process expects. Each chunk is held against its sum before it is used.
type panelCache struct {
	path string
	from [sha256.Size]byte // the model file
	key  [sha256.Size]byte // that, and the layout of all panels
	size int64             // of the panels
	log  *slog.Logger
	last func(dir string) error // makes a new name in a folder last
}

const (
	panelMagic = "paddock panels 1"
	panelsAt   = 2 << 20 // the size of a large page, so that panels can lie in such
	panelChunk = 8 << 20
	panelHead  = len(panelMagic) + sha256.Size + 16
	panelSync  = 16 // chunks, after which they are brought to the disk: no wait for that is long
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// errPanels says why a cache is not used.
var errPanels = errors.New("not this model's panels as this version lays them out")

// newPanelCache names the cache of a program's panels in a folder; nil, with the
// reason, where there can be none.
func newPanelCache(dir string, p *prog.Program, src backend.Source, formats []*kern.Format, size int64, log *slog.Logger) (*panelCache, string) {
	if !canMapPanels {
		return nil, "this system can't map it"
	}
	from, ok := src.(backend.Identified)
	if !ok {
		return nil, "it is for GGUF files that are opened by their path"
	}
	path, sum, ok := from.Identity()
	if !ok {
		return nil, "it is for GGUF files that are opened by their path, and do not change meanwhile"
	}
	c := &panelCache{from: sum, size: size, log: log, last: syncFolder}
	if panelHead+4*c.chunks()+4 > panelsAt {
		return nil, "the model is too large"
	}
	h := sha256.New()
	h.Write(sum[:])
	laid := map[*kern.Format]bool{}
	for i, f := range formats {
		if f == nil {
			continue
		}
		fmt.Fprintf(h, "%+v %v %d %d\n", p.Weights[i], f.Type, f.BlockElems, f.BlockBytes)
		if !laid[f] {
			laid[f] = true
			layout := kern.LayoutSum(f)
			h.Write(layout[:])
		}
	}
	h.Sum(c.key[:0])
	// One file for each model's path: what is made of a changed model takes its place.
	place := sha256.Sum256([]byte(path))
	base := strings.TrimSuffix(filepath.Base(path), ".gguf")
	c.path = filepath.Join(dir, fmt.Sprintf("%s-%x.panels", base[:min(len(base), 100)], place[:6]))
	return c, ""
}

// of tells whether the cache is of a model file.
func (c *panelCache) of(sum [sha256.Size]byte) bool { return c.from == sum }

func (c *panelCache) chunks() int { return int((c.size + panelChunk - 1) / panelChunk) }

// chunk is a part of the panels.
func (c *panelCache) chunk(panels []byte, i int) []byte {
	return panels[i*panelChunk : min((i+1)*panelChunk, len(panels))]
}

// header is the file's first bytes, for the sums of all chunks.
func (c *panelCache) header(sums []uint32) []byte {
	b := make([]byte, 0, panelHead+4*len(sums)+4)
	b = append(b, panelMagic...)
	b = append(b, c.key[:]...)
	b = binary.LittleEndian.AppendUint64(b, uint64(c.size))
	b = binary.LittleEndian.AppendUint64(b, panelChunk)
	for _, s := range sums {
		b = binary.LittleEndian.AppendUint32(b, s)
	}
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// parse takes the sums from the file's first bytes.
func (c *panelCache) parse(b []byte) ([]uint32, error) {
	n := c.chunks()
	if len(b) != panelHead+4*n+4 {
		return nil, fmt.Errorf("a header of %d bytes, want %d: %w", len(b), panelHead+4*n+4, errPanels)
	}
	sums := make([]uint32, n)
	for i := range sums {
		sums[i] = binary.LittleEndian.Uint32(b[panelHead+4*i:])
	}
	if !bytes.Equal(b, c.header(sums)) {
		return nil, errPanels
	}
	return sums, nil
}

// open maps the file if it holds what is wanted. What is wrong with it otherwise is
// an error; fs.ErrNotExist where there is none.
func (c *panelCache) open(workers int, progress func(done, total int64)) (_ *memory, err error) {
	f, err := openPanels(c.path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() || st.Size() != panelsAt+c.size {
		return nil, fmt.Errorf("%v of %d bytes, want a file of %d: %w", st.Mode(), st.Size(), panelsAt+c.size, errPanels)
	}
	head := make([]byte, panelHead+4*c.chunks()+4)
	if _, err := f.ReadAt(head, 0); err != nil {
		return nil, err
	}
	sums, err := c.parse(head)
	if err != nil {
		return nil, err
	}
	m, err := mapPanels(f, panelsAt, int(c.size))
	if err != nil {
		return nil, err
	}
	if err := c.check(m.bytes, sums, workers); err != nil {
		return nil, errors.Join(err, m.close())
	}
	if progress != nil {
		progress(c.size, c.size)
	}
	return m, nil
}

// check holds all chunks against their sums, which also brings them into memory.
func (c *panelCache) check(panels []byte, sums []uint32, workers int) error {
	return inParallel(workers, len(sums), func(i int) (err error) {
		defer faultError(&err)()
		part := c.chunk(panels, i)
		touchPanels(part)
		if crc32.Checksum(part, castagnoli) != sums[i] {
			return fmt.Errorf("bytes %d to %d are not what was written", panelsAt+i*panelChunk, panelsAt+i*panelChunk+len(part))
		}
		return nil
	})
}

// write makes the file: beside its place, whole and on the disk before it takes it.
// Panels are read until it returns, which it does within some chunks of ctx's end.
func (c *panelCache) write(ctx context.Context, panels []byte) (err error) {
	dir := filepath.Dir(c.path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	sweep(dir)
	f, err := os.CreateTemp(dir, tempPattern())
	if err != nil {
		return err
	}
	open, temporary := true, true
	defer func() {
		if open {
			err = errors.Join(err, f.Close())
		}
		if temporary {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	if err := c.fill(ctx, f, panels); err != nil {
		return err
	}
	open = false
	if err := f.Close(); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), c.path); err != nil {
		return err
	}
	temporary = false
	if err := c.last(dir); err != nil { // the next Open finds it all the same
		c.log.Warn("the panel cache is written, and may be lost if the machine fails", "file", c.path, "why", err)
	}
	return nil
}

// fill writes all bytes of the file and brings them to the disk.
func (c *panelCache) fill(ctx context.Context, f *os.File, panels []byte) error {
	sums := make([]uint32, c.chunks())
	for i := range sums {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		part := c.chunk(panels, i)
		sums[i] = crc32.Checksum(part, castagnoli)
		if _, err := f.WriteAt(part, panelsAt+int64(i)*panelChunk); err != nil {
			return err
		}
		if i%panelSync == panelSync-1 {
			if err := f.Sync(); err != nil {
				return err
			}
		}
	}
	if _, err := f.WriteAt(c.header(sums), 0); err != nil {
		return err
	}
	return f.Sync()
}

// syncFolder makes a new name in a folder last.
func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
