package kern

import (
	"encoding/binary"

	"github.com/paddock-go/paddock/internal/half"
	"github.com/paddock-go/paddock/internal/quant"
)

// An NVFP4 panel block is 64 k of 16 rows, in 4 runs of 16 k with scales that
// f16 holds exactly. A byte of a run's part g holds group g in its low nibble
// and group g + 2 in its high one, as in the file.
//
//	┌──────────────────┬────────────────────────┐
//	│ 4 runs × 16 × f16│ 4 runs × 2 parts × 64 B│
//	└──────────────────┴────────────────────────┘
//	0                  128                      640
const (
	nvfp4Scales = 4 * 32
	nvfp4Block  = nvfp4Scales + 4*128
)

// newNVFP4 makes the row of the table.
func newNVFP4(index int) Format {
	f, _ := quant.Lookup(quant.NVFP4)
	levels := quant.FP4Levels()
	get := func(blk []byte, lane int) (t quant.Taken) {
		for i := range t.Scale {
			t.Scale[i] = 1
		}
		for r := range t.D {
			t.D[r] = scaleAt(blk[32*r:], lane)
			for i := range 8 {
				q := blk[nvfp4Scales+128*r+i/4*64+4*lane+i%4]
				t.Q[16*r+i], t.Q[16*r+i+8] = levels[q&15], levels[q>>4]
			}
		}
		return t
	}
	take := func(a *dotArgs, b, lane int) quant.Taken { return get(a.panel(nvfp4Block)[b*nvfp4Block:], lane) }
	return Format{
		Type: f.Type, Act: f.Act, BlockElems: f.BlockElems, BlockBytes: nvfp4Block, index: index,
		pack: func(dst, src []byte, lane int) {
			for ; len(src) >= f.BlockBytes; src, dst = src[f.BlockBytes:], dst[nvfp4Block:] {
				t := f.Layout.Take(src[:f.BlockBytes])
				for r, d := range t.D {
					binary.LittleEndian.PutUint16(dst[32*r+2*lane:], half.F16FromF32(d))
					scatter(dst[nvfp4Scales+128*r+4*lane:], src[4+8*r:12+8*r])
				}
			}
		},
		unpack: func(dst []float32, panel []byte, lane int) {
			for ; len(panel) >= nvfp4Block; panel, dst = panel[nvfp4Block:], dst[64:] {
				t := get(panel, lane)
				f.Layout.Values(dst[:64], &t)
			}
		},
		dot:  func(a *dotArgs) { dotTaken(a, &f, 1, take) },
		dots: func(a *dotArgs) { dotTaken(a, &f, takenRows, take) },
	}
}
