package kern

import (
	"fmt"
	"unsafe"

	"github.com/paddock-go/paddock/internal/quant"
)

// Formats without kernels of their own lie as in the file: a panel is its 16
// rows one after another. Their blocks are taken apart as they are met, once
// for up to takenRows rows of activations, and added by quant's own code, which
// makes their results the definition's by construction. No memory is spent on
// them beyond the file's size; they are a hundred times slower than the others.

// takenRows is how many rows of activations one unpacking serves.
const takenRows = 8

// taken makes the row of such a format.
func taken(t quant.Type, index int) Format {
	f, ok := quant.Lookup(t)
	if !ok || f.Layout == nil {
		panic(fmt.Sprintf("kern: %v can't be taken apart", t))
	}
	take := func(a *dotArgs, b, lane int) quant.Taken {
		panel := a.panel(Lanes * f.BlockBytes)
		at := lane*len(panel)/Lanes + b*f.BlockBytes
		return f.Layout.Take(panel[at : at+f.BlockBytes])
	}
	return Format{
		Type: t, Act: f.Act, BlockElems: f.BlockElems, BlockBytes: Lanes * f.BlockBytes,
		index: index,
		pack:  func(dst, src []byte, lane int) { copy(dst[lane*len(src):], src) },
		unpack: func(dst []float32, panel []byte, lane int) {
			n := len(panel) / Lanes
			f.Decode(dst[:n/f.BlockBytes*f.BlockElems], panel[lane*n:(lane+1)*n])
		},
		dot:  func(a *dotArgs) { dotTaken(a, &f, 1, take) },
		dots: func(a *dotArgs) { dotTaken(a, &f, takenRows, take) },
	}
}

// dotTaken computes one panel and the given number of rows; take takes block b
// of a lane apart.
func dotTaken(a *dotArgs, f *quant.Format, rows int, take func(a *dotArgs, b, lane int) quant.Taken) {
	blocks, scales := int(a.blocks), f.BlockElems/f.Act.BlockElems()
	var x [takenRows][]int8
	var d, s [takenRows][]float32
	for r := range rows {
		x[r] = unsafe.Slice((*int8)(unsafe.Add(a.x, uintptr(r)*a.xStride)), blocks*f.BlockElems)
		d[r] = unsafe.Slice((*float32)(unsafe.Add(a.d, uintptr(r)*a.dStride)), blocks*scales)
		if f.Act == quant.ActQ8x32S {
			s[r] = unsafe.Slice((*float32)(unsafe.Add(a.s, uintptr(r)*a.sStride)), blocks)
		}
	}
	for l := range Lanes {
		var acc [takenRows]float32
		for b := range blocks {
			blk := take(a, b, l)
			for r := range rows {
				var sum []float32
				if s[r] != nil {
					sum = s[r][b : b+1]
				}
				acc[r] = f.Layout.Add(acc[r], &blk, x[r][b*f.BlockElems:(b+1)*f.BlockElems], d[r][b*scales:(b+1)*scales], sum)
			}
		}
		for r := range rows {
			(*[Lanes]float32)(unsafe.Add(a.out, uintptr(r)*a.outStride))[l] = acc[r]
		}
	}
}
