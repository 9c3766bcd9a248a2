package model

import (
	"math"
	"math/big"

	"github.com/paddock-go/paddock/internal/prog"
)

// ropeScaling names how a file stretches its rotary positions.
type ropeScaling string

const (
	ropeNone   ropeScaling = "none"
	ropeLinear ropeScaling = "linear" // every angle divided by the factor
	ropeYaRN   ropeScaling = "yarn"   // slow pairs divided, fast ones kept, between them a ramp

	ropeLongRoPE ropeScaling = "longrope" // each pair divided by a factor of its own, from a tensor
)

// ropeSpec is what the metadata says about rotary positions, checked.
type ropeSpec struct {
	dim     int // values of a head that rotate
	base    float32
	scaling ropeScaling
	factor  float32   // ≥ 1 mostly; the stretch of linear and YaRN
	factors []float32 // one divisor a pair, or nil (the tensor rope_freqs.weight)

	pair       bool    // factors is one of a pair, chosen by the context
	attnFactor float32 // of the rotated values

	original int // context the model was trained on

	// YaRN alone.
	extFactor          float32
	logMul             float32 // what the file's own magnitude took for 1; 0: none
	betaFast, betaSlow float32
	between            bool // the ramp may end between two pairs
}

// lower folds everything into one frequency a pair, so that a backend only
// multiplies by the position.
func (s *ropeSpec) lower(order prog.PairOrder) prog.Rope {
	r := prog.Rope{Dim: s.dim, Order: order, Mag: 1, Freqs: make([]float32, s.dim/2)}
	if s.dim == 0 {
		return r
	}
	// Frequency i is base^(−2i/dim) = root^−i.
	root := bigRoot(bigOf(float64(s.base)), s.dim/2)
	step, f := bigNew().Quo(bigInt(1), root), bigInt(1)
	low, high := s.yarnRange()
	for i := range r.Freqs {
		g := bigNew().Set(f)
		if s.factors != nil {
			g.Quo(g, bigOf(float64(s.factors[i])))
		}
		g = s.stretch(g, i, low, high)
		r.Freqs[i], _ = g.Float32()
		f.Mul(f, step)
	}
	r.Mag = s.mag()
	return r
}

// stretch applies the scaling to the frequency of pair i.
func (s *ropeSpec) stretch(f *big.Float, i int, low, high float64) *big.Float {
	if s.scaling == ropeNone {
		return f
	}
	slow := bigNew().Quo(f, bigOf(float64(s.factor)))
	if s.scaling != ropeYaRN {
		return slow
	}
	// keep is 1 for the pairs that turn often within the original context
	// (their angles stay as trained), 0 for those that turn less than once.
	keep := 1 - min(1, max(0, (float64(i)-low)/max(0.001, high-low)))
	keep = float64(keep * float64(s.extFactor))
	a := bigNew().Mul(slow, bigOf(1-keep))
	return a.Add(a, bigNew().Mul(f, bigOf(keep)))
}

// yarnRange is the first and last pair of the ramp: those that turn betaFast
// and betaSlow times within the original context.
func (s *ropeSpec) yarnRange() (low, high float64) {
	if s.scaling != ropeYaRN {
		return 0, 0
	}
	pair := func(turns float32) float64 {
		// dim × ln(original / (2π turns)) / (2 ln base)
		n := bigNew().Quo(bigInt(s.original), bigNew().Mul(bigOf(2*math.Pi), bigOf(float64(turns))))
		x := bigNew().Mul(bigInt(s.dim), bigLn(n))
		x.Quo(x, bigNew().Mul(bigInt(2), bigLn(bigOf(float64(s.base)))))
		v, _ := x.Float64()
		return v
	}
	low, high = pair(s.betaFast), pair(s.betaSlow)
	if !s.between {
		low, high = math.Floor(low), math.Ceil(high)
	}
	return max(0, low), min(float64(s.dim-1), high)
}

// mag is the file's own factor on the rotated values, times YaRN's
// 1 + 0.1 ln(stretch), or its ratio to 1 + 0.1 × multiplier × ln(stretch) where
// the file has such a multiplier.
func (s *ropeSpec) mag() float32 {
	mag := bigOf(float64(s.attnFactor))
	if s.scaling == ropeYaRN && s.factor > 1 {
		ln := bigLn(bigOf(float64(s.factor)))
		ln.Quo(ln, bigInt(10))
		mag.Mul(mag, bigNew().Add(bigInt(1), ln))
		if s.logMul != 0 {
			ln.Mul(ln, bigOf(float64(s.logMul)))
			mag.Quo(mag, ln.Add(ln, bigInt(1)))
		}
	}
	m, _ := mag.Float32()
	return m
}
