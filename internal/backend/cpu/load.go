package cpu

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"math"
	"sync"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/backend/cpu/kern"
	"github.com/paddock-go/paddock/internal/prog"
	"github.com/paddock-go/paddock/internal/quant"
)

// chunkBytes is how much of a file a loading worker reads before its pages are
// dropped: with it the memory at load stays near the size of the panels.
const chunkBytes = 8 << 20

// weight is a matrix in panels, a stack of them, or a vector of float32 (of a
// stack: all its vectors in order).
type weight struct {
	matrix *kern.Matrix
	stack  []*kern.Matrix
	vector []float32
}

// parts are the matrices of a weight, none of a vector.
func (w *weight) parts() []*kern.Matrix {
	if w.matrix != nil {
		return []*kern.Matrix{w.matrix}
	}
	return w.stack
}

// format is how the weight's matrices lie.
func (w *weight) format() *kern.Format { return w.parts()[0].Format }

// loader reads a program's weights into panels.
type loader struct {
	prog     *prog.Program
	src      backend.Source
	progress func(done, total int64)
	workers  int
	kern     *kern.Kernels

	panelDir string // of the panel cache; "": none
	log      *slog.Logger
	cache    *panelCache // nil: none
	cached   cached

	weights []weight
	made    []bool // by weight: its tensor is made anew by each Read
	memory  *memory
	bytes   int64 // of panels and vectors

	mu    sync.Mutex
	next  int // of chunks
	done  int64
	total int64
	err   error // the first

	packed chan struct{} // holds something when done has grown
}

// chunk is some panels of a weight: of one matrix, or all of all its stack's.
type chunk struct {
	weight         prog.WeightID
	part0, part1   int // of a stack
	panel0, panel1 int
	bytes          int64 // in panels
}

func (l *loader) load() ([]weight, error) {
	l.weights, l.made = make([]weight, len(l.prog.Weights)), make([]bool, len(l.prog.Weights))
	if err := l.lay(); err != nil {
		return nil, err
	}
	if l.cached == cacheHit {
		return l.weights, nil
	}
	if err := l.packAll(l.chunks()); err != nil {
		return nil, errors.Join(err, l.memory.close())
	}
	return l.weights, nil
}

// packAll packs all chunks by workers, and tells of it on the caller's goroutine, which
// no worker waits for.
func (l *loader) packAll(chunks []chunk) error {
	l.packed = make(chan struct{}, 1)
	var workers sync.WaitGroup
	defer func() { // also where progress panics
		l.mu.Lock()
		l.next = len(chunks)
		l.mu.Unlock()
		workers.Wait()
	}()
	for range min(l.workers, len(chunks)) {
		workers.Go(func() { l.work(chunks) })
	}
	go func() {
		workers.Wait()
		close(l.packed)
	}()
	for range l.packed {
		if l.progress != nil {
			l.mu.Lock()
			done := l.done
			l.mu.Unlock()
			l.progress(done, l.total)
		}
	}
	return l.err
}

// panelBytes is the memory of one matrix of a weight, and of all of its stack.
func panelBytes(f *kern.Format, w prog.Weight) (part, all int64) {
	part = backend.Product(int64(kern.Panels(w.Rows)), int64(f.PanelBytes(w.Cols)))
	if part > math.MaxInt64/2 {
		return part, math.MaxInt64
	}
	return part, backend.Product(int64(max(w.Stack, 1)), roundUp(part, lineBytes))
}

// lay finds each weight's format, reads the vectors, and lays the matrices out
// in one piece of memory.
func (l *loader) lay() error {
	type place struct{ at, size int64 } // size: of a matrix; those of a stack follow each other, aligned
	places := make([]place, len(l.prog.Weights))
	formats := make([]*kern.Format, len(l.prog.Weights))
	var size int64
	for i, w := range l.prog.Weights {
		var err error
		if w.Kind == prog.Vector {
			err = l.vector(i, w)
		} else {
			formats[i], err = l.format(i, w)
		}
		if err != nil {
			return err
		}
		if f := formats[i]; f != nil {
			part, all := panelBytes(f, w)
			if all > math.MaxInt64/2-size {
				return fmt.Errorf("tensor %q is too large: %d times %d bytes in panels", w.Tensor, max(w.Stack, 1), part)
			}
			places[i] = place{size, part}
			size += all
		}
	}
	l.bytes += size
	if err := l.obtain(size, formats); err != nil {
		return err
	}
	for i, w := range l.prog.Weights {
		if f := formats[i]; f != nil {
			p := places[i]
			cut := func() *kern.Matrix {
				m := kern.NewMatrix(f, w.Rows, w.Cols, l.memory.bytes[p.at:p.at+p.size:p.at+p.size])
				p.at += roundUp(p.size, lineBytes)
				return m
			}
			if w.Stack == 0 {
				l.weights[i].matrix = cut()
			}
			for range w.Stack {
				l.weights[i].stack = append(l.weights[i].stack, cut())
			}
		}
	}
	return nil
}

// obtain gets the memory of all panels: that of a cache with the panels in it, or
// new.
func (l *loader) obtain(size int64, formats []*kern.Format) (err error) {
	if l.panelDir != "" {
		var why string
		if l.cache, why = newPanelCache(l.panelDir, l.prog, l.src, formats, size, l.log); l.cache == nil {
			l.cached = cacheUnfit
			l.log.Warn("no panel cache", "why", why)
		}
	}
	if l.cache != nil {
		l.cached = cacheMiss
		if l.memory, err = l.cache.open(l.workers, l.progress); err == nil {
			l.cached = cacheHit
			return nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			l.log.Warn("the panel cache is made anew", "file", l.cache.path, "why", err)
		}
	}
	l.memory, err = newMemory(size)
	return err
}

// cached is what became of the panel cache.
type cached uint8

const (
	cacheOff   cached = iota
	cacheUnfit        // it can't be used for this model
	cacheMiss         // it is written
	cacheHit          // it is mapped
)

// vector reads one.
func (l *loader) vector(i int, w prog.Weight) error {
	return l.src.Read(w.Tensor, func(t backend.Tensor) error {
		f, rows, err := backend.Rows(w, t)
		if err != nil {
			return err
		}
		l.weights[i].vector = decode(f, rows, w.Flat().Cols)
		l.bytes += 4 * int64(w.Flat().Cols)
		if t.Drop != nil { // a page of the system's cache may be far larger than the vector
			at := len(rows) / w.Flat().Cols * w.FromRow
			t.Drop(at, at+len(rows))
		}
		return nil
	})
}

// format finds a matrix's, by its tensor's description alone.
func (l *loader) format(i int, w prog.Weight) (*kern.Format, error) {
	t, err := l.src.Info(w.Tensor)
	if err != nil {
		return nil, err
	}
	if _, err := backend.FormatOf(w, t); err != nil {
		return nil, err
	}
	l.made[i] = t.Made > 0
	format, ok := kern.Lookup(t.Type)
	if !ok {
		return nil, noPanels(w, t)
	}
	return format, nil
}

func decode(f quant.Format, rows []byte, n int) []float32 {
	v := make([]float32, n)
	f.Decode(v, rows)
	return v
}

// chunks cuts the matrices into pieces of about chunkBytes. What a Read makes as a
// whole is one piece: cut, it would be made again for each.
func (l *loader) chunks() []chunk {
	var list []chunk
	for i, w := range l.weights {
		if parts := w.parts(); l.made[i] && len(parts) > 0 {
			m := parts[0]
			c := chunk{prog.WeightID(i), 0, len(parts), 0, m.Panels(), int64(len(parts)) * int64(m.Panels()) * int64(m.Format.PanelBytes(m.Cols))}
			list = append(list, c)
			l.total += c.bytes
			continue
		}
		for n, m := range w.parts() {
			// Panels hold about as many bytes as the rows of the file, or twice as many where a format of 1 or 2 bits is unpacked to 3.
			panel := int64(m.Format.PanelBytes(m.Cols))
			step := int(max(1, chunkBytes/panel))
			for p := 0; p < m.Panels(); p += step {
				end := min(p+step, m.Panels())
				c := chunk{prog.WeightID(i), n, n + 1, p, end, panel * int64(end-p)}
				list = append(list, c)
				l.total += c.bytes
			}
		}
	}
	return list
}

// work packs chunks until there are none or a worker failed.
func (l *loader) work(chunks []chunk) {
	for {
		l.mu.Lock()
		i := l.next
		l.next++
		failed := l.err != nil
		l.mu.Unlock()
		if failed || i >= len(chunks) {
			return
		}
		err := l.pack(chunks[i])
		l.mu.Lock()
		if err == nil {
			l.done += chunks[i].bytes
		} else if l.err == nil {
			l.err = err
		}
		l.mu.Unlock()
		select {
		case l.packed <- struct{}{}:
		default: // the one before has not been seen yet, and will tell of this too
		}
	}
}

// pack fills the panels of one chunk.
func (l *loader) pack(c chunk) error {
	w, parts := l.prog.Weights[c.weight], l.weights[c.weight].parts()
	return l.src.Read(w.Tensor, func(t backend.Tensor) error {
		f, rows, err := backend.Rows(w, t)
		if err != nil {
			return err
		}
		if f.Type != parts[0].Format.Type {
			return &backend.TensorError{Tensor: w.Tensor, Type: t.Type, What: "it changed while it was loaded"}
		}
		row := len(rows) / w.Flat().Rows
		for part := c.part0; part < c.part1; part++ {
			rows := rows[part*w.Rows*row:] // behind the stack's earlier parts
			for p := c.panel0; p < c.panel1; p++ {
				first := p * kern.Lanes
				last := min(first+kern.Lanes, w.Rows)
				l.kern.Pack(parts[part], p, rows[first*row:last*row])
			}
		}
		if before := c.part0 * w.Rows; t.Drop != nil && c.part1 == c.part0+1 {
			from := (w.FromRow + before + c.panel0*kern.Lanes) * row
			t.Drop(from, from+min((c.panel1-c.panel0)*kern.Lanes, w.Rows-c.panel0*kern.Lanes)*row)
		}
		return nil
	})
}
