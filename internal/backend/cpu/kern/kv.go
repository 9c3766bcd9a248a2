package kern

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/paddock-go/paddock/internal/half"
	"github.com/paddock-go/paddock/internal/quant"
	"github.com/paddock-go/paddock/internal/race"
)

// A KV cache lies in groups of 16 tokens. One head's part of a group, for keys
// and for values, by type:
//
//	           keys: a lane is a token        values: a lane is a dimension
//
//	F32, F16,  ┌──────────────────┐           ┌──────────────────┐
//	BF16       │ [dim][16 tokens] │           │ [16 tokens][dim] │
//	           └──────────────────┘           └──────────────────┘
//
//	Q8_0       ┌──────────────────┬─ ─ for    ┌───────────────────────┐
//	           │ [16 tokens] f16  │    every  │ [dim/32][16 tokens]   │
//	           ├──────────────────┤    32     │  f16                  │
//	           │ [32][16 tokens]  │    dims   ├───────────────────────┤
//	           │  int8            │           │ [16 tokens][dim] int8 │
//	           └──────────────────┴─ ─        └───────────────────────┘
//
// all little endian. In Q8_0, dim is rounded up to a multiple of 32 and what is
// beyond a head's dimensions is zero. A block is 32 dimensions of one token: a
// token comes to its group without a look at the others.
const (
	blockDims   = 32
	scaleBytes  = 2 * GroupTokens                    // of a block of all tokens
	blockBytes8 = scaleBytes + blockDims*GroupTokens // with their quants
)

// KeyBytes is the memory of one head's keys of dim in a group of 16 tokens. It
// panics if t is none of quant.KVTypes. Safe for concurrent use.
func KeyBytes(t quant.Type, dim int) int { return GroupTokens * quant.KVBytes(t, dim) }

// ValueBytes is the same for values.
func ValueBytes(t quant.Type, dim int) int { return GroupTokens * quant.KVBytes(t, dim) }

// storeFuncs write one head's key or value of one token to its group.
type storeFuncs struct {
	key, value func(dst []byte, t quant.Type, token int, x []float32)
}

var portableStore = storeFuncs{key: storeKey, value: storeValue}

// StoreKey writes one head's key of one token (0…15) to its group: dst is that
// head's part of the group, key has dim values and is rounded as quant.RoundKV
// does. Safe for concurrent use on distinct tokens.
func (k *Kernels) StoreKey(dst []byte, t quant.Type, token, dim int, key []float32) {
	dst, key = dst[:KeyBytes(t, dim)], key[:dim]
	checkToken(token)
	if race.Enabled {
		race.ReadSlice(key)
	}
	k.store.key(dst, t, token, key)
}

// StoreValue is StoreKey for a value.
func (k *Kernels) StoreValue(dst []byte, t quant.Type, token, dim int, value []float32) {
	dst, value = dst[:ValueBytes(t, dim)], value[:dim]
	checkToken(token)
	if race.Enabled {
		race.ReadSlice(value)
		if t != quant.Q8_0 {
			race.WriteSlice(dst[len(dst)/GroupTokens*token:][:len(dst)/GroupTokens])
		}
	}
	k.store.value(dst, t, token, value)
}

func storeKey(dst []byte, t quant.Type, token int, key []float32) {
	switch t {
	case quant.F32:
		for d, v := range key {
			binary.LittleEndian.PutUint32(dst[4*(d*GroupTokens+token):], math.Float32bits(v))
		}
	case quant.F16:
		for d, v := range key {
			binary.LittleEndian.PutUint16(dst[2*(d*GroupTokens+token):], half.F16FromF32(v))
		}
	case quant.BF16:
		for d, v := range key {
			binary.LittleEndian.PutUint16(dst[2*(d*GroupTokens+token):], half.BF16FromF32(v))
		}
	case quant.Q8_0:
		for b := range len(dst) / blockBytes8 {
			q, d := round8(key[b*blockDims : min((b+1)*blockDims, len(key))])
			scatter8(dst[b*blockBytes8:], token, &q, d)
		}
	}
}

// scatter8 writes a block of a token's key.
func scatter8(block []byte, token int, q *[blockDims]int8, scale uint16) {
	block = block[:blockBytes8]
	binary.LittleEndian.PutUint16(block[2*token:], scale)
	for i, v := range q {
		block[scaleBytes+i*GroupTokens+token] = byte(v)
	}
}

func storeValue(dst []byte, t quant.Type, token int, value []float32) {
	switch t {
	case quant.F32:
		row := dst[4*token*len(value):]
		for d, v := range value {
			binary.LittleEndian.PutUint32(row[4*d:], math.Float32bits(v))
		}
	case quant.F16:
		half.EncodeF16(dst[2*token*len(value):], value)
	case quant.BF16:
		half.EncodeBF16(dst[2*token*len(value):], value)
	case quant.Q8_0:
		for b := range len(dst) / blockBytes8 {
			q, d := round8(value[b*blockDims : min((b+1)*blockDims, len(value))])
			lay8(dst, b, token, &q, d)
		}
	}
}

// lay8 writes block b of a token's value.
func lay8(dst []byte, b, token int, q *[blockDims]int8, scale uint16) {
	blocks := len(dst) / blockBytes8
	binary.LittleEndian.PutUint16(dst[b*scaleBytes+2*token:], scale)
	row := dst[blocks*(scaleBytes+token*blockDims)+b*blockDims:][:blockDims]
	for i, v := range q {
		row[i] = byte(v)
	}
}

func checkToken(token int) {
	if token < 0 || token >= GroupTokens {
		panic(fmt.Sprintf("kern: token %d of a group of %d", token, GroupTokens))
	}
}

// round8 is a block of Q8_0: quants, zeros beyond x, and the scale in F16.
func round8(x []float32) (q [blockDims]int8, scale uint16) {
	var d [1]float32
	quant.QuantizeQ8x32(q[:], d[:], x)
	return q, half.F16FromF32(d[0])
}

// keys reads dimension d of a group's 16 keys.
func (a *AttendArgs) keys(dst *[GroupTokens]float32, group []byte, d int) {
	switch a.Type {
	case quant.F32:
		row := group[4*d*GroupTokens:][:4*GroupTokens]
		for i := range dst {
			dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(row[4*i:]))
		}
	case quant.F16:
		half.DecodeF16(dst[:], group[2*d*GroupTokens:])
	case quant.BF16:
		half.DecodeBF16(dst[:], group[2*d*GroupTokens:])
	case quant.Q8_0:
		block := group[d/blockDims*blockBytes8:][:blockBytes8]
		half.DecodeF16(dst[:], block)
		for i, q := range block[scaleBytes+d%blockDims*GroupTokens:][:GroupTokens] {
			dst[i] *= float32(int8(q))
		}
	}
}

// value reads len(dst) dimensions from d on of a token's value in a group; in
// Q8_0 they lie in one block.
func (a *AttendArgs) value(dst []float32, group []byte, token, d int) {
	switch a.Type {
	case quant.F32:
		row := group[4*(token*a.VDim+d):][:4*len(dst)]
		for i := range dst {
			dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(row[4*i:]))
		}
	case quant.F16:
		half.DecodeF16(dst, group[2*(token*a.VDim+d):])
	case quant.BF16:
		half.DecodeBF16(dst, group[2*(token*a.VDim+d):])
	case quant.Q8_0:
		blocks := (a.VDim + blockDims - 1) / blockDims
		scale := half.F16ToF32(binary.LittleEndian.Uint16(group[d/blockDims*scaleBytes+2*token:]))
		row := group[blocks*(scaleBytes+token*blockDims)+d:]
		for i := range dst {
			dst[i] = float32(int8(row[i])) * scale
		}
	}
}

// watchKey and watchValue tell the race detector what attention reads of one
// token.
func watchKey(group []byte, t quant.Type, token, dim int) {
	if t == quant.Q8_0 {
		for d := range (dim + blockDims - 1) / blockDims {
			block := group[d*blockBytes8:]
			race.ReadSlice(block[2*token:][:2])
			for i := range min(blockDims, dim-d*blockDims) {
				race.ReadSlice(block[scaleBytes+i*GroupTokens+token:][:1])
			}
		}
		return
	}
	size := quant.KVBytes(t, 1)
	for d := range dim {
		race.ReadSlice(group[size*(d*GroupTokens+token):][:size])
	}
}

func watchValue(group []byte, t quant.Type, token, dim int) {
	size := quant.KVBytes(t, dim)
	if t == quant.Q8_0 {
		blocks := (dim + blockDims - 1) / blockDims
		for b := range blocks {
			race.ReadSlice(group[b*scaleBytes+2*token:][:2])
		}
		race.ReadSlice(group[blocks*(scaleBytes+token*blockDims):][:dim])
		return
	}
	race.ReadSlice(group[token*size:][:size])
}
