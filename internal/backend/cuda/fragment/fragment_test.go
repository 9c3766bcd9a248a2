package fragment

import "testing"

func tables() []*Table {
	out := []*Table{accumulator, Loaded, LoadedTrans}
	for _, s := range Shapes() {
		out = append(out, s.A, s.B)
	}
	return out
}

// TestEachElementOnce: a layout holds every element of its matrix in one place.
func TestEachElementOnce(t *testing.T) {
	for _, tab := range tables() {
		seen := make([]int, tab.Rows*tab.Cols)
		for lane := range Lanes {
			if len(tab.Held(lane)) != tab.Regs()*tab.PerReg() || len(tab.Held(lane)) != tab.Rows*tab.Cols/Lanes {
				t.Fatalf("%s: lane %d holds %d elements in %d registers", tab.Name, lane, len(tab.Held(lane)), tab.Regs())
			}
			for _, e := range tab.Held(lane) {
				if int(e.Row) >= tab.Rows || int(e.Col) >= tab.Cols {
					t.Fatalf("%s: lane %d holds %v, outside %d × %d", tab.Name, lane, e, tab.Rows, tab.Cols)
				}
				seen[int(e.Row)*tab.Cols+int(e.Col)]++
			}
		}
		for i, n := range seen {
			if n != 1 {
				t.Errorf("%s: element (%d, %d) is held %d times", tab.Name, i/tab.Cols, i%tab.Cols, n)
			}
			lane, reg, slot := tab.Where(i/tab.Cols, i%tab.Cols)
			if e := tab.At(lane, reg, slot); int(e.Row) != i/tab.Cols || int(e.Col) != i%tab.Cols {
				t.Errorf("%s: Where and At differ at (%d, %d)", tab.Name, i/tab.Cols, i%tab.Cols)
			}
		}
	}
}

// mode is one digit of an index: its size, and what it adds to the place.
type mode struct{ size, stride int }

// TestAgainstTraits holds each table against the other statement: CUTLASS's traits
// give shapes and strides of (thread, value), whose sum is row + rows × column of A
// and C, and column + columns × row of B, which it keeps by its own transpose.
func TestAgainstTraits(t *testing.T) {
	for _, c := range []struct {
		tab    *Table
		thread []mode
		value  []mode
		byCol  bool // the place is column + Cols × row
	}{
		{M16N8K8Half.A, []mode{{4, 32}, {8, 1}}, []mode{{2, 16}, {2, 8}}, false},
		{M16N8K8Half.B, []mode{{4, 16}, {8, 1}}, []mode{{2, 8}}, true},
		{M16N8K16Half.A, []mode{{4, 32}, {8, 1}}, []mode{{2, 16}, {2, 8}, {2, 128}}, false},
		{M16N8K16Half.B, []mode{{4, 16}, {8, 1}}, []mode{{2, 8}, {2, 64}}, true},
		{M16N8K16Byte.A, []mode{{4, 64}, {8, 1}}, []mode{{4, 16}, {2, 8}}, false},
		{M16N8K16Byte.B, []mode{{4, 32}, {8, 1}}, []mode{{4, 8}}, true},
		{M16N8K32Byte.A, []mode{{4, 64}, {8, 1}}, []mode{{4, 16}, {2, 8}, {2, 256}}, false},
		{M16N8K32Byte.B, []mode{{4, 32}, {8, 1}}, []mode{{4, 8}, {2, 128}}, true},
		{accumulator, []mode{{4, 32}, {8, 1}}, []mode{{2, 16}, {2, 8}}, false},
		// Of the loads the traits count bits, 16 an element: row-major, so the
		// place is column + 8 × row once divided.
		{Loaded, []mode{{32, 32 / 16}}, []mode{{2, 1}}, true},
		{LoadedTrans, []mode{{4, 256 / 16}, {8, 1}}, []mode{{2, 128 / 16}}, true},
	} {
		for lane := range Lanes {
			for i, got := range c.tab.Held(lane) {
				place := sum(lane, c.thread) + sum(i, c.value)
				want := Element{uint8(place % c.tab.Rows), uint8(place / c.tab.Rows)}
				if c.byCol {
					want = Element{uint8(place / c.tab.Cols), uint8(place % c.tab.Cols)}
				}
				if got != want {
					t.Errorf("%s: lane %d's value %d is %v, the traits say %v", c.tab.Name, lane, i, got, want)
				}
			}
		}
	}
}

// sum spells an index in the digits of modes, lowest first.
func sum(index int, modes []mode) int {
	at := 0
	for _, m := range modes {
		at += index % m.size * m.stride
		index /= m.size
	}
	return at
}

// TestByHand holds single places against what the manual's figures show, written out.
func TestByHand(t *testing.T) {
	for _, c := range []struct {
		tab             *Table
		lane, reg, slot int
		row, col        uint8
	}{
		{M16N8K8Half.A, 0, 0, 0, 0, 0},
		{M16N8K8Half.A, 5, 1, 1, 9, 3},
		{M16N8K8Half.B, 31, 0, 0, 6, 7},
		{M16N8K16Half.A, 0, 0, 1, 0, 1},
		{M16N8K16Half.A, 0, 1, 0, 8, 0},
		{M16N8K16Half.A, 0, 2, 0, 0, 8},
		{M16N8K16Half.A, 0, 3, 1, 8, 9},
		{M16N8K16Half.A, 31, 3, 1, 15, 15},
		{M16N8K16Half.B, 1, 0, 0, 2, 0},
		{M16N8K16Half.B, 1, 1, 1, 11, 0},
		{M16N8K16Half.B, 28, 1, 0, 8, 7},
		{M16N8K16Byte.A, 6, 1, 2, 9, 10},
		{M16N8K16Byte.B, 6, 0, 3, 11, 1},
		{M16N8K32Byte.A, 0, 0, 3, 0, 3},
		{M16N8K32Byte.A, 0, 1, 0, 8, 0},
		{M16N8K32Byte.A, 0, 2, 0, 0, 16},
		{M16N8K32Byte.A, 31, 3, 3, 15, 31},
		{M16N8K32Byte.B, 2, 0, 1, 9, 0},
		{M16N8K32Byte.B, 2, 1, 1, 25, 0},
		{accumulator, 4, 1, 0, 1, 1},
		{accumulator, 4, 2, 0, 9, 0},
		{accumulator, 31, 3, 0, 15, 7},
		{Loaded, 9, 0, 1, 2, 3},
		{LoadedTrans, 9, 0, 1, 3, 2},
	} {
		if got := c.tab.At(c.lane, c.reg, c.slot); got != (Element{c.row, c.col}) {
			t.Errorf("%s: lane %d register %d slot %d holds %v, want (%d, %d)", c.tab.Name, c.lane, c.reg, c.slot, got, c.row, c.col)
		}
	}
	if M16N8K16Half.A.Regs() != 4 || M16N8K16Half.B.Regs() != 2 || M16N8K16Byte.A.Regs() != 2 || M16N8K32Byte.B.Regs() != 2 || accumulator.Regs() != 4 {
		t.Error("a fragment has another number of registers than the instruction")
	}
	if RowLane(0, 3) != 3 || RowLane(3, 7) != 31 {
		t.Error("ldmatrix takes its rows' addresses from other lanes")
	}
}

// TestLoadsFeedTheMultiply: A of a multiplication, loaded as four 8 × 8 matrices with
// x4 (upper left, lower left, upper right, lower right), lies as the multiplication
// wants it; so does B from memory by columns; with bytes two to a value.
func TestLoadsFeedTheMultiply(t *testing.T) {
	for lane := range Lanes {
		for reg := range 4 {
			for slot := range 2 {
				e := Loaded.At(lane, 0, slot)
				want := Element{e.Row + uint8(reg%2)*8, e.Col + uint8(reg/2)*8}
				if got := M16N8K16Half.A.At(lane, reg, slot); got != want {
					t.Errorf("A: lane %d register %d slot %d: %v, loaded %v", lane, reg, slot, got, want)
				}
				if got := M16N8K32Byte.A.At(lane, reg, 2*slot); got != (Element{want.Row, want.Col * 2}) {
					t.Errorf("A of bytes: lane %d register %d slot %d: %v, loaded %v", lane, reg, slot, got, want)
				}
				if reg > 1 {
					continue
				}
				if got := M16N8K16Half.B.At(lane, reg, slot); got != (Element{e.Col + uint8(reg)*8, e.Row}) {
					t.Errorf("B: lane %d register %d slot %d: %v, loaded %v", lane, reg, slot, got, e)
				}
				e = LoadedTrans.At(lane, 0, slot)
				if got := M16N8K16Half.B.At(lane, reg, slot); got != (Element{e.Row + uint8(reg)*8, e.Col}) {
					t.Errorf("B by rows: lane %d register %d slot %d: %v, loaded %v", lane, reg, slot, got, e)
				}
			}
		}
	}
}
