package synth

import (
	"io"
	"math"
	"math/rand/v2"

	"github.com/paddock-go/paddock/internal/gguf/ggufwrite"
	"github.com/paddock-go/paddock/internal/quant"
)

// Write makes up a model file of a shape (see Shapes) and a type (see Types).
// The same arguments make the same bytes. Nothing near the file's size is held
// in memory. Safe for concurrent use on distinct w.
func Write(w io.Writer, shapeName, typ string, seed uint64) error {
	s, err := findShape(shapeName)
	if err != nil {
		return err
	}
	m, err := findMix(typ)
	if err != nil {
		return err
	}
	return write(w, s, m, seed)
}

func write(w io.Writer, s shape, m mix, seed uint64) error {
	all, err := lay(s, m)
	if err != nil {
		return err
	}
	list := make([]ggufwrite.Tensor, len(all))
	pools := map[poolKey]*pool{}
	for i, t := range all {
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		list[i] = t.described()
		list[i].Gen = func(w io.Writer) error {
			if pools[t.key()] == nil {
				pools[t.key()] = newPool(t.format, t.tensor, seed)
			}
			return pools[t.key()].write(w, t.blocks(), rng)
		}
	}
	return ggufwrite.Write(w, s.keys(m), list)
}

// laid is a tensor with its format.
type laid struct {
	tensor
	format quant.Format
}

// lay lists a file's tensors.
func lay(s shape, m mix) (all []laid, err error) {
	if s.moe != nil && s.moe.mxfp4 {
		m.expert = quant.MXFP4
	}
	s.tensors(func(t tensor, layer int) {
		f, ferr := m.format(t, layer, s.layers)
		if ferr != nil {
			err = ferr
			return
		}
		all = append(all, laid{t, f})
	})
	return all, err
}

// described is what the header says of it.
func (t *laid) described() ggufwrite.Tensor {
	dims := []uint64{uint64(t.cols)}
	if t.rows > 0 {
		dims = append(dims, uint64(t.rows))
	}
	if t.stack > 0 {
		dims = append(dims, uint64(t.stack))
	}
	return ggufwrite.Tensor{Name: t.name, Type: uint32(t.format.Type), Dims: dims}
}

func (t *laid) key() poolKey { return poolKey{t.format.Type, t.spread, t.mean} }

// blocks is how many blocks of its format it has.
func (t *laid) blocks() int { return max(t.rows, 1) * max(t.stack, 1) * t.cols / t.format.BlockElems }

type poolKey struct {
	format quant.Type
	spread float64
	mean   float64
}

// pool is a stretch of blocks of normal values. Tensors are runs of it from
// random places: drawing and encoding billions of values would take minutes.
type pool struct {
	blockBytes int
	run        int // blocks at once
	data       []byte
}

const (
	poolValues = 1 << 17
	runValues  = 1 << 10
)

func newPool(f quant.Format, t tensor, seed uint64) *pool {
	rng := rand.New(rand.NewPCG(seed, math.Float64bits(t.spread)))
	values := make([]float32, poolValues)
	for i := range values {
		values[i] = float32(rng.NormFloat64()*t.spread + t.mean)
	}
	p := &pool{blockBytes: f.BlockBytes, run: runValues / f.BlockElems, data: make([]byte, poolValues/f.BlockElems*f.BlockBytes)}
	f.Encode(p.data, values)
	return p
}

func (p *pool) write(w io.Writer, blocks int, rng *rand.Rand) error {
	places := len(p.data)/p.blockBytes - p.run
	for blocks > 0 {
		n := min(p.run, blocks)
		at := rng.IntN(places) * p.blockBytes
		if _, err := w.Write(p.data[at : at+n*p.blockBytes]); err != nil {
			return err
		}
		blocks -= n
	}
	return nil
}

func sqrt(n int) float64 { return math.Sqrt(float64(n)) }
