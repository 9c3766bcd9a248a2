package fragment

// Lanes are the threads of a warp.
const Lanes = 32

// Element is where a value lies in its matrix.
type Element struct{ Row, Col uint8 }

// Table is the layout of one matrix over a warp's registers. It is never changed
// once made, and safe for concurrent use.
type Table struct {
	Name       string // the matrix and the instruction, for messages
	Rows, Cols int
	Bits       int // of an element: 8, 16 or 32

	held [Lanes][]Element // by lane, then register × PerReg + slot
}

// newTable lays a matrix out: at gives the element that a lane of group g, the t-th
// of its four, holds as its i-th.
func newTable(name string, rows, cols, bits int, at func(g, t, i int) (row, col int)) *Table {
	tab := &Table{Name: name, Rows: rows, Cols: cols, Bits: bits}
	for lane := range tab.held {
		tab.held[lane] = make([]Element, rows*cols/Lanes)
		for i := range tab.held[lane] {
			row, col := at(lane/4, lane%4, i)
			tab.held[lane][i] = Element{uint8(row), uint8(col)}
		}
	}
	return tab
}

// PerReg is how many elements a 32-bit register holds.
func (t *Table) PerReg() int { return 32 / t.Bits }

// Regs is how many 32-bit registers a lane holds.
func (t *Table) Regs() int { return len(t.held[0]) / t.PerReg() }

// Held are the elements of a lane, lowest register and lowest bits first. The caller
// doesn't change them.
func (t *Table) Held(lane int) []Element { return t.held[lane] }

// At is the element in the slot-th part of a lane's register, slot 0 being the lowest
// bits.
func (t *Table) At(lane, reg, slot int) Element { return t.held[lane][reg*t.PerReg()+slot] }

// Where finds an element: the inverse of At. It panics for one outside the matrix.
func (t *Table) Where(row, col int) (lane, reg, slot int) {
	for lane := range t.held {
		for i, e := range t.held[lane] {
			if int(e.Row) == row && int(e.Col) == col {
				return lane, i / t.PerReg(), i % t.PerReg()
			}
		}
	}
	panic("fragment: no such element in " + t.Name)
}
