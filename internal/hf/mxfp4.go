package hf

import (
	"fmt"
	"strings"

	"github.com/paddock-go/paddock/internal/safetensors"
)

// mxfp4 is the type of a weight that lies in two tensors of bytes: blocks of 32
// values in 4 bits, and their scales. No file names it.
const mxfp4 safetensors.Type = "blocks of U8"

const (
	blocksEnd  = "_blocks"
	blockBytes = 16
)

// pairOfMXFP4 describes blocks and scales as one tensor of a row's blocks.
//
//	blocks  experts × rows × n × 16 bytes ┐
//	scales  experts × rows × n bytes      ┴─► experts × rows × 32 n values
func pairOfMXFP4(set *safetensors.Set, blocks string, shape []uint64) (p part, err error) {
	base, ok := strings.CutSuffix(blocks, blocksEnd)
	if !ok || len(shape) != 4 || shape[3] != blockBytes {
		return p, refuse(blocks, fmt.Sprintf("has type U8 and shape %v; blocks of 4 bits are named NAME%s and have four dimensions, the last of them %d", shape, blocksEnd, blockBytes))
	}
	p = part{name: blocks, typ: mxfp4, scales: base + "_scales", shape: []int{int(shape[0]), int(shape[1]), int(shape[2]) * 32}}
	s, ok := set.Tensor(p.scales)
	if !ok {
		return p, refuse(blocks, "has no scales, "+clip(p.scales))
	}
	if s.Type != "U8" || len(s.Shape) != 3 || s.Shape[0] != shape[0] || s.Shape[1] != shape[1] || s.Shape[2] != shape[2] {
		return p, refuse(p.scales, fmt.Sprintf("has type %s and shape %v, must be U8 and %v", s.Type, s.Shape, shape[:3]))
	}
	return p, nil
}

// joinMXFP4 makes blocks as GGUF files have them: the scale in front, and in a byte
// two values that are 16 apart, where the folder has two neighbours.
func joinMXFP4(blocks, scales []byte) []byte {
	out := make([]byte, 0, len(blocks)+len(scales))
	for i, e := range scales {
		b := blocks[i*blockBytes : (i+1)*blockBytes]
		out = append(out, e)
		// The first value of byte k is value 2k, the second one 2k+1.
		for k := range blockBytes / 2 {
			low, high := b[k], b[k+blockBytes/2]
			out = append(out, low&15|high<<4, low>>4|high&0xf0)
		}
	}
	return out
}
