package cuda

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/backend/cuda/driver"
	"github.com/paddock-go/paddock/internal/backend/cuda/ptx"
	"github.com/paddock-go/paddock/internal/backend/cuda/ptxsim"
	"github.com/paddock-go/paddock/internal/half"
	"github.com/paddock-go/paddock/internal/prog"
)

// modules are the modules that tests have asked for, parsed once each.
var modules struct {
	sync.Mutex
	texts   map[string]string // entry point → PTX
	parsed  map[string]*ptxsim.Module
	kernels map[string]*ptxsim.Kernel
}

// kernelOf is an entry point of the committed PTX.
func kernelOf(name string) (*ptxsim.Kernel, error) {
	m := &modules
	m.Lock()
	defer m.Unlock()
	if m.texts == nil {
		m.texts, m.parsed, m.kernels = map[string]string{}, map[string]*ptxsim.Module{}, map[string]*ptxsim.Kernel{}
		texts, err := ptx.Read(ptx.Files)
		if err != nil {
			return nil, err
		}
		for _, text := range texts {
			for _, entry := range entryPoint.FindAllSubmatch(text, -1) {
				m.texts[string(entry[1])] = string(text)
			}
		}
	}
	if k := m.kernels[name]; k != nil {
		return k, nil
	}
	text, ok := m.texts[name]
	if !ok {
		return nil, fmt.Errorf("there is no kernel %s", name)
	}
	module := m.parsed[text]
	if module == nil {
		var err error
		if module, err = ptxsim.Parse(text); err != nil {
			return nil, fmt.Errorf("the module of kernel %s: %w", name, err)
		}
		m.parsed[text] = module
	}
	m.kernels[name] = module.Kernel(name)
	return m.kernels[name], nil
}

// stand runs one op on the simulator, with every buffer an allocation of its own of
// which nothing is written but what a test writes.
type stand struct {
	*testing.T
	machine *ptxsim.Machine
	rig     *rig
	op      op
	batch   *prog.Batch
	rng     *rand.Rand
}

// newStand compiles the first op of p for l, or what picks tokens where there is none; vectors are p's weights.
func newStand(t *testing.T, seed uint64, p *prog.Program, l backend.Limits, b *prog.Batch, vectors ...[]float32) *stand {
	t.Helper()
	return newStandOf(t, seed, p, l, b, func(s *stand) []deviceWeight {
		weights := make([]deviceWeight, len(p.Weights))
		for i, v := range vectors {
			weights[i].vector = s.alloc(4 * int64(len(v)))
			s.write(weights[i].vector, v)
		}
		return weights
	})
}

// newStandOf is newStand with weights that are made on the stand.
func newStandOf(t *testing.T, seed uint64, p *prog.Program, l backend.Limits, b *prog.Batch, load func(s *stand) []deviceWeight) *stand {
	t.Helper()
	s := &stand{T: t, machine: ptxsim.NewMachine(ptxsim.Options{Seed: seed}), batch: b, rng: rand.New(rand.NewPCG(seed, 7))}
	s.place(p, l, load(s))
	s.step(b)
	return s
}

// place compiles the first op of p for l, and gives everything memory.
func (s *stand) place(p *prog.Program, l backend.Limits, weights []deviceWeight) {
	s.Helper()
	compile := func(to *regions, scratch address) *rig {
		r := newRig(p, l, driver.Facts{}, weights, to, true)
		r.scratchAt = scratch
		if len(p.Ops) == 0 {
			s.op = newPicker(r)
			return r
		}
		var err error
		if s.op, err = compilers[p.Ops[0].Kind()](r, p.Ops[0]); err != nil {
			s.Fatal(err)
		}
		return r
	}
	var measured regions
	r := compile(&measured, 0)
	placed := regions{apart: []address{}}
	for _, n := range measured.exact {
		placed.apart = append(placed.apart, s.alloc(n))
	}
	s.rig = compile(&placed, s.alloc(max(r.scratchMost, 1)))
	for _, c := range s.rig.constant {
		s.must(s.machine.Write(uint64(c.at), c.data))
	}
}

// step makes b the step.
func (s *stand) step(b *prog.Batch) {
	s.batch = b
	w := stepWriter{memory: make([]byte, stepBytes(s.rig.limits)), at: s.rig.step}
	s.must(s.machine.Write(uint64(s.rig.step), w.write(b, s.rig.limits.PageSize)))
}

func (s *stand) must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

func (s *stand) alloc(n int64) address {
	at, err := s.machine.Alloc(n)
	s.must(err)
	return address(at)
}

func (s *stand) write(at address, v []float32) {
	s.Helper()
	data := make([]byte, 4*len(v))
	for i, x := range v {
		binary.LittleEndian.PutUint32(data[4*i:], math.Float32bits(x))
	}
	s.must(s.machine.Write(uint64(at), data))
}

func (s *stand) read(at address, n int) []float32 {
	s.Helper()
	data, v := make([]byte, 4*n), make([]float32, n)
	s.must(s.machine.Read(uint64(at), data))
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*i:]))
	}
	return v
}

// fill writes normal values to a buffer's rows of the step and returns them.
func (s *stand) fill(id prog.BufID, scale float32) []float32 {
	v := s.normal(s.count(id), scale)
	s.write(s.rig.buf(id), v)
	return v
}

func (s *stand) normal(n int, scale float32) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(s.rng.NormFloat64()) * scale
	}
	return v
}

// count is how many values a buffer has in the step.
func (s *stand) count(id prog.BufID) int {
	rows := len(s.batch.Tokens)
	if s.rig.prog.Bufs[id].Rows == prog.LogitRows {
		rows = len(s.batch.Logits)
	}
	return rows * s.rig.width(id)
}

func (s *stand) values(id prog.BufID) []float32 { return s.read(s.rig.buf(id), s.count(id)) }

// run launches the op for the bucket that the step has.
func (s *stand) run() { s.runIn(bucketOf(s.batch, s.rig.limits)) }

func (s *stand) runIn(b bucket) {
	s.Helper()
	for _, l := range s.op.launches(b) {
		k, err := kernelOf(l.kernel)
		s.must(err)
		s.must(s.machine.Launch(k, l.grid, l.block, l.shared, l.args.data))
	}
}

// near compares values with what they should be, relative to the largest of a row of
// width values.
func (s *stand) near(what string, got []float32, want []float64, width int, most float64) {
	s.Helper()
	worst := 0.0
	for i := 0; i < len(want); i += width {
		top := 1e-30
		for _, w := range want[i : i+width] {
			top = max(top, math.Abs(w))
		}
		for j, w := range want[i : i+width] {
			d := math.Abs(float64(got[i+j])-w) / top
			if !(d <= most) {
				s.Fatalf("%s: value %d of row %d is %v, want %v (difference %.2g of %.2g)", what, j, i/width, got[i+j], w, d, most)
			}
			worst = max(worst, d)
		}
	}
	s.Logf("%s: largest difference %.2g of %.2g", what, worst, most)
}

// same compares bits.
func (s *stand) same(what string, got, want []float32) {
	s.Helper()
	for i, w := range want {
		if math.Float32bits(got[i]) != math.Float32bits(w) && (w == w || got[i] == got[i]) {
			s.Fatalf("%s: value %d is %v, want %v", what, i, got[i], w)
		}
	}
}

// stretch is a sequence of a step: its rows are the last of its context.
type stretch struct{ ctx, rows int }

// batchOf makes a step of such sequences, pages in random order; every second row, and
// each last one, wants logits.
func batchOf(rng *rand.Rand, l backend.Limits, parts ...stretch) *prog.Batch {
	b := &prog.Batch{SeqStart: []int32{0}, Stride: pagesOf(l.Context, l.PageSize)}
	pages := rng.Perm(l.Pages)
	for _, p := range parts {
		table := make([]int32, b.Stride)
		for i := range pagesOf(p.ctx, l.PageSize) {
			table[i], pages = int32(pages[0]), pages[1:]
		}
		b.Tables = append(b.Tables, table...)
		for i := range p.rows {
			pos := p.ctx - p.rows + i
			if i%2 == 1 || i == p.rows-1 {
				b.Logits = append(b.Logits, int32(len(b.Tokens)))
			}
			b.Tokens = append(b.Tokens, int32(rng.IntN(10)))
			b.Pos = append(b.Pos, int32(pos))
			b.Slots = append(b.Slots, table[pos/l.PageSize]*int32(l.PageSize)+int32(pos%l.PageSize))
		}
		b.SeqStart, b.CtxLen = append(b.SeqStart, int32(len(b.Tokens))), append(b.CtxLen, int32(p.ctx))
	}
	return b
}

// roomFor are limits that a step of such sequences just fits.
func roomFor(pageSize int, kv backend.KVType, parts ...stretch) backend.Limits {
	l := backend.Limits{PageSize: pageSize, KVType: kv, Seqs: len(parts)}
	for _, p := range parts {
		l.Rows += p.rows
		l.LogitRows += p.rows/2 + 1
		l.Pages += pagesOf(p.ctx, pageSize)
		l.Context = max(l.Context, p.ctx)
	}
	return l
}

// stored is what a cache of a type gives back for a value.
func stored(t backend.KVType, v float32) float32 {
	switch t {
	case backend.KVF16:
		return half.F16ToF32(half.F16FromF32(v))
	case backend.KVBF16:
		return half.BF16ToF32(half.BF16FromF32(v))
	}
	return v
}

// cell is where a value of a head of a token lies in a part of the cache.
func (s *stand) cell(p kvPart, t backend.KVType, seq, pos, head, dim, i int) address {
	size := s.rig.limits.PageSize
	page := int64(s.batch.Tables[seq*s.batch.Stride+pos/size])
	at := (int64(head*size+pos%size))*int64(dim) + int64(i)
	return p.at + address(page*p.stride+at*elementBytes(t))
}

func elementBytes(t backend.KVType) int64 {
	if t == backend.KVF32 {
		return 4
	}
	return 2
}

// put writes a value to the cache; get reads one.
func (s *stand) put(at address, t backend.KVType, v float32) {
	switch t {
	case backend.KVF16:
		s.must(s.machine.Write(uint64(at), binary.LittleEndian.AppendUint16(nil, half.F16FromF32(v))))
	case backend.KVBF16:
		s.must(s.machine.Write(uint64(at), binary.LittleEndian.AppendUint16(nil, half.BF16FromF32(v))))
	default:
		s.write(at, []float32{v})
	}
}

func (s *stand) get(at address, t backend.KVType) float32 {
	if t == backend.KVF32 {
		return s.read(at, 1)[0]
	}
	var b [2]byte
	s.must(s.machine.Read(uint64(at), b[:]))
	if u := binary.LittleEndian.Uint16(b[:]); t == backend.KVF16 {
		return half.F16ToF32(u)
	} else {
		return half.BF16ToF32(u)
	}
}
