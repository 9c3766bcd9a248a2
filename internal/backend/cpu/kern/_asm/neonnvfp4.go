package main

// neonNVFP4 emits NVFP4: 64 values in 4 runs of 16 with scales of their own, so
// each run ends in a float step. Activations have two scales to a block.
func neonNVFP4(n *neon) {
	const quarters = 2
	n.begin(true)
	acc := n.cube(n.panels, n.rows, 4)
	p := n.newProducts(largest(fp4Levels), 16/4)
	s := p.sumsOf(n.rows, quarters)
	x, lo, hi := n.regs(n.rows), n.regs(quarters), n.regs(quarters)
	mask, lut := n.bytes(15), n.table("fp4")
	n.label("loop")
	for panel := range n.panels {
		for run := range 4 {
			for r := range n.rows {
				n.load(xAt(r), 16*run, x[r])
			}
			for q := 0; q < 4; q += quarters {
				p.clear(s)
				for part := range 2 {
					for i := range quarters {
						n.load(wAt(panel), nvfp4Scales+128*run+64*part+16*(q+i), hi[i])
						n.v("and", lo[i], hi[i], mask)
						n.shift("ushr16b", hi[i], hi[i], 4)
						n.v("tbl", lo[i], lut, lo[i])
						n.v("tbl", hi[i], lut, hi[i])
					}
					for r := range s {
						p.add(s[r], lo, x[r], part)
						p.add(s[r], hi, x[r], part+2)
					}
				}
				p.join(s)
				dw, t := lo[0], hi[0]
				for i := range quarters {
					n.op("FMOVD %d(%s), F%d", 32*run+8*(q+i), wAt(panel), dw)
					n.v("fcvtl", dw, dw)
					for r := range s {
						n.v("scvtf", s[r][i][0], s[r][i][0])
						n.op("FMOVS %d(%s), F%d", run/2*4, dAt(r), t)
						n.spread(t, t, 0)
						n.v("fmul", t, dw, t)
						n.v("fmla", acc[panel][r][q+i], s[r][i][0], t)
					}
				}
			}
		}
	}
	n.again(nvfp4Block, 64, 8, 8)
	n.write(acc)
}
