package cuda

import (
	"errors"
	"runtime"
	"slices"
	"sync"

	"github.com/paddock-go/paddock/internal/backend"
)

const (
	// chunkBytes is how much of a weight one worker packs between two reads of its file,
	// and how large its staging buffer is, unless a group of rows is larger.
	chunkBytes = 8 << 20
	// maxLoaders bounds the workers: the copies to the device go one after another.
	maxLoaders = 8
)

// loader brings a program's weights to the device: each worker packs rows into a
// pinned buffer of its own, and sends them.
//
//	file rows ─ pack ─▶ staging (pinned) ─ copy ─▶ planes on the device
type loader struct {
	model    *model
	src      backend.Source
	progress func(done, total int64)
	chunks   []chunk
	total    int64

	mu   sync.Mutex
	next int
	done int64
	err  error // the first

	packed chan struct{} // holds something when done has grown
}

// chunk is some groups of rows of some matrices of a weight's stack, or a vector.
type chunk struct {
	weight         int
	part0, part1   int
	group0, group1 int
	bytes          int64 // on the device
}

// load reserves the weights' memory and fills it.
func (m *model) load(src backend.Source, progress func(done, total int64)) error {
	if err := m.place(); err != nil {
		return err
	}
	l := &loader{model: m, src: src, progress: progress, packed: make(chan struct{}, 1)}
	if err := l.cut(); err != nil {
		return err
	}
	return l.run()
}

// place gives the weights their places, in a plan of the model's own.
func (m *model) place() error {
	all := func(p *plan, r *regions) {
		for i := range p.weights {
			p.take(i, r)
		}
	}
	own := &plan{device: m.device, prog: m.prog, sizes: m.sizes, weights: slices.Clone(m.weights)}
	for i, w := range own.weights {
		if w.matrix != nil {
			x := *w.matrix
			x.planes = make([]address, len(x.planes))
			own.weights[i].matrix = &x
		}
	}
	measured := &regions{}
	all(own, measured)
	return m.device.use(func() error {
		memory, placed, err := m.device.reserve("the weights", measured)
		if err != nil {
			return err
		}
		all(own, placed)
		m.plan, m.memory = own, memory
		return nil
	})
}

// cut lists the chunks. What a Read makes as a whole is one chunk: cut, it would be
// made again for each.
func (l *loader) cut() error {
	for i, w := range l.model.weights {
		t, err := l.src.Info(l.model.prog.Weights[i].Tensor)
		if err != nil {
			return err
		}
		m := w.matrix
		if m == nil || t.Made > 0 {
			c := chunk{weight: i, part1: 1, group1: 1, bytes: l.model.sizes[i]}
			if m != nil {
				c.part1, c.group1 = m.stack, m.groups()
			}
			l.add(c)
			continue
		}
		step := max(1, int(chunkBytes/m.groupBytes()))
		for part := range m.stack {
			for g := 0; g < m.groups(); g += step {
				end := min(g+step, m.groups())
				l.add(chunk{i, part, part + 1, g, end, int64(end-g) * m.groupBytes()})
			}
		}
	}
	return nil
}

func (l *loader) add(c chunk) {
	l.chunks = append(l.chunks, c)
	l.total = backend.Sum(l.total, c.bytes)
}

// run works the chunks off, and tells of it on the caller's goroutine.
func (l *loader) run() error {
	var workers sync.WaitGroup
	defer func() { // also where progress panics
		l.fail(errClosed)
		workers.Wait()
	}()
	for range min(runtime.GOMAXPROCS(0), maxLoaders, len(l.chunks)) {
		workers.Go(func() { l.fail(l.work()) })
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

// fail keeps the first error; the workers stop at it.
func (l *loader) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err = err
	}
}

// take is the next chunk.
func (l *loader) take() (c chunk, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil || l.next == len(l.chunks) {
		return c, false
	}
	l.next++
	return l.chunks[l.next-1], true
}

// work sends chunks until there are none or a worker failed.
func (l *loader) work() error {
	return l.model.device.use(func() (err error) {
		s := &sender{driver: l.model.device.driver}
		defer func() { err = errors.Join(err, s.close()) }()
		if err := s.open(l.largest()); err != nil {
			return err
		}
		for c, ok := l.take(); ok; c, ok = l.take() {
			if err := l.send(s, c); err != nil {
				return err
			}
			l.mu.Lock()
			l.done += c.bytes
			l.mu.Unlock()
			select {
			case l.packed <- struct{}{}:
			default: // the one before has not been seen yet, and will tell of this too
			}
		}
		return nil
	})
}

// largest is the staging that every chunk can be sent through.
func (l *loader) largest() int64 {
	n := min(int64(chunkBytes), l.total)
	for _, w := range l.model.weights {
		if w.matrix != nil {
			n = max(n, w.matrix.groupBytes())
		}
	}
	return max(n, 1)
}

// send reads a chunk and sends it, a staging buffer's worth at a time.
func (l *loader) send(s *sender, c chunk) error {
	w, at := l.model.prog.Weights[c.weight], l.model.weights[c.weight]
	return l.src.Read(w.Tensor, func(t backend.Tensor) error {
		f, rows, err := backend.Rows(w, t)
		if err != nil {
			return err
		}
		flat := w.Flat()
		if at.matrix == nil {
			if err := s.vector(at.vector, f, rows, flat.Cols); err != nil {
				return err
			}
			if t.Drop != nil { // a page of the system's cache may be far larger than the vector
				from := len(rows) / flat.Cols * w.FromRow
				t.Drop(from, from+len(rows))
			}
			return nil
		}
		if f.Type != at.matrix.format {
			return &backend.TensorError{Tensor: w.Tensor, Type: t.Type, What: "it changed while it was loaded"}
		}
		row := len(rows) / flat.Rows
		for part := c.part0; part < c.part1; part++ {
			if err := s.groups(at.matrix, part, c.group0, c.group1, rows[part*w.Rows*row:(part+1)*w.Rows*row]); err != nil {
				return err
			}
		}
		if t.Drop != nil {
			group := packings[f.Type].group
			first, last := c.part0*w.Rows+c.group0*group, (c.part1-1)*w.Rows+min(c.group1*group, w.Rows)
			t.Drop((w.FromRow+first)*row, (w.FromRow+last)*row)
		}
		return nil
	})
}

// groups is how many groups of rows one matrix has.
func (m *matrix) groups() int { return int(ceilDiv(m.rows, packings[m.format].group)) }

// groupBytes is the bytes of a group in all planes.
func (m *matrix) groupBytes() int64 { return backend.Sum(packings[m.format].planes(m.cols)...) }

var (
	_ backend.Memory       = (*Device)(nil)
	_ backend.SharedMemory = (*Device)(nil)
)
