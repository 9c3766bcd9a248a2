package kern

import (
	"fmt"
	"unsafe"

	"github.com/paddock-go/paddock/internal/quant"
)

// Where values are the first VDim dimensions of the keys (latent attention), the
// cache keeps keys alone, and V is nil. Scores want the lane of a key, sums the
// lane of a dimension: so a tile of keys is turned round once, into the worker's
// memory, and serves all queries. What comes of it is F32, whatever the keys are.
//
//	K  [dim][16 tokens]   →   tile  [16 tokens][VDim]   for each group of the tile

// inKeys is the memory for values that lie in the keys.
type inKeys struct {
	tile   []float32
	args   AttendArgs
	groups [sharedTile]int32
}

// ReserveInKeys makes room for calls whose values lie in the keys.
func (sc *AttendScratch) ReserveInKeys() {
	sc.keys.tile = make([]float32, InKeysBytes(sc.vdim)/4)
	for i := range sc.keys.groups {
		sc.keys.groups[i] = int32(i)
	}
}

// InKeysBytes is the memory that ReserveInKeys takes for values of at most vdim.
func InKeysBytes(vdim int) int64 { return 4 * sharedTile * GroupTokens * int64(vdim) }

// turn copies the values of a tile's keys, and returns what the kernel of values
// is to take for a and the tile.
func (s *inKeys) turn(a *AttendArgs, tile []int32) (*AttendArgs, []int32) {
	s.args = *a
	s.args.Type, s.args.V, s.args.VStride = quant.F32, bytesOf(s.tile), 4*GroupTokens*a.VDim
	for i, g := range tile {
		group := a.K[int(g)*a.KStride:]
		out := s.tile[i*GroupTokens*a.VDim : (i+1)*GroupTokens*a.VDim]
		var keys [GroupTokens]float32
		for d := range a.VDim {
			a.keys(&keys, group, d)
			for token, v := range keys {
				out[token*a.VDim+d] = v
			}
		}
	}
	return &s.args, s.groups[:len(tile)]
}

// bytesOf sees floats as the bytes that they are.
func bytesOf(x []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), 4*len(x))
}

// checkInKeys panics where values can't lie in the keys.
func (a *AttendArgs) checkInKeys(sc *AttendScratch) {
	if a.VDim > a.KDim || len(sc.keys.tile) < sharedTile*GroupTokens*a.VDim {
		panic(fmt.Sprintf("kern: values of %d in keys of %d, with room for %d values", a.VDim, a.KDim, len(sc.keys.tile)))
	}
}
