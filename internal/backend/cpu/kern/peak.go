package kern

import (
	"encoding/binary"
	"sync/atomic"
	"unsafe"
)

// peakFuncs are a level's yardsticks.
type peakFuncs struct {
	read     func(p *byte, stride, lines uintptr)
	fma, dot func(rounds uintptr)
	// floating and integer operations of a round
	flops, ops int64
}

// portablePeak has one multiplication and one addition a round.
var portablePeak = peakFuncs{
	read: func(p *byte, stride, lines uintptr) {
		sum := uint64(0)
		for s := range uintptr(Streams) {
			stream := unsafe.Slice((*byte)(unsafe.Add(unsafe.Pointer(p), s*stride)), lines*peakLine)
			for ; len(stream) >= 8; stream = stream[8:] {
				sum += binary.LittleEndian.Uint64(stream)
			}
		}
		peakSink.Store(sum)
	},
	fma: func(rounds uintptr) {
		v := float32(1)
		for range rounds {
			v = float32(v*0.5) + 1
		}
		peakSink.Store(uint64(v))
	},
	dot: func(rounds uintptr) {
		v := uint64(1)
		for range rounds {
			v = v*3 + 1
		}
		peakSink.Store(v)
	},
	flops: 2, ops: 2,
}

// peakSink keeps the compiler from dropping what nobody asks for.
var peakSink atomic.Uint64

// A call reads at most peakBytes of a stream, or runs at most peakRounds:
// assembly is not preempted.
const (
	peakLine   = 64
	peakBytes  = 64 << 10
	peakRounds = 2048
)

// ReadPeak reads data in four streams, as a kernel of one row reads its weights,
// and does nothing with it: the rate that decode is held against. Streams are
// quarters of data, so that the longer data is, the better is the rate, up to
// some megabytes. Bytes after the last whole 256 are left out. Safe for
// concurrent use.
func (k *Kernels) ReadPeak(data []byte) {
	stream := len(data) / (Streams * peakLine) * peakLine
	for at := 0; at < stream; at += peakBytes {
		k.peak.read(&data[at], uintptr(stream), uintptr(min(peakBytes, stream-at)/peakLine))
	}
}

// FMAPeak runs rounds of float32 multiply-adds on registers and returns how
// many floating operations those were. Safe for concurrent use.
func (k *Kernels) FMAPeak(rounds int) int64 { return peakRun(k.peak.fma, rounds, k.peak.flops) }

// DotPeak is FMAPeak for dot products of 8-bit integers: a multiplication and
// an addition are two operations.
func (k *Kernels) DotPeak(rounds int) int64 { return peakRun(k.peak.dot, rounds, k.peak.ops) }

func peakRun(f func(rounds uintptr), rounds int, ops int64) int64 {
	for left := rounds; left > 0; left -= peakRounds {
		f(uintptr(min(left, peakRounds)))
	}
	return int64(max(rounds, 0)) * ops
}
