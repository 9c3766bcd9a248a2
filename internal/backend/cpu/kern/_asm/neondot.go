package main

// sums are integer dot products of 4 lanes being added up: one register with
// SDOT; without it two, of which the first has the lower two lanes.
type sums []int

// products multiplies bytes of weights and activations. Without SDOT products
// have 16 bits; where all of a run fit 16 bits they are added in those, else in
// pairs to 32.
type products struct {
	*neon
	narrow bool
	t, t2  int // scratch, without SDOT
}

// newProducts is for runs of terms products of weights of at most top.
func (n *neon) newProducts(top, terms int) products {
	p := products{neon: n, narrow: top*127*terms <= 32767}
	if !n.dot {
		p.t = n.reg()
		if !p.narrow {
			p.t2 = n.reg()
		}
	}
	return p
}

// sums hands out registers.
func (p products) sums() sums {
	if p.dot {
		return p.regs(1)
	}
	return p.regs(2)
}

func (p products) sumsOf(rows, quarters int) [][]sums {
	s := make([][]sums, rows)
	for r := range s {
		for range quarters {
			s[r] = append(s[r], p.sums())
		}
	}
	return s
}

func (p products) clear(all ...[][]sums) {
	for _, rows := range all {
		for _, row := range rows {
			for _, s := range row {
				for _, r := range s {
					p.zero(r)
				}
			}
		}
	}
}

// add adds the products of the 4 lanes of w with group i of x to row sums, one
// register of weights for each.
func (p products) add(row []sums, w []int, x, i int) {
	if p.dot {
		for q, s := range row {
			p.sdot(s[0], w[q], x, i)
		}
		return
	}
	p.spread(p.t, x, i)
	for q, s := range row {
		if p.narrow {
			p.v("smlal", s[0], w[q], p.t)
			p.v("smlal2", s[1], w[q], p.t)
			continue
		}
		p.v("smull", p.t2, w[q], p.t)
		p.v("sadalp", s[0], p.t2)
		p.v("smull2", p.t2, w[q], p.t)
		p.v("sadalp", s[1], p.t2)
	}
}

// join leaves the 4 sums in the first register.
func (p products) join(all [][]sums) {
	if p.dot {
		return
	}
	for _, row := range all {
		for _, s := range row {
			if p.narrow {
				p.v("saddlp", s[0], s[0])
				p.v("saddlp", s[1], s[1])
			}
			p.v("addp", s[0], s[0], s[1])
		}
	}
}
