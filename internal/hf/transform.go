package hf

import "fmt"

// transform says how a tensor of the folder becomes one here. Its shapes have the
// outermost dimension first. A tensor's rows are its shape without the last
// dimension; of a vector, each value is a row. Of row and values one is there, or
// none: the bytes stay as they are.
type transform struct {
	// shape is the shape here; an error says what is wrong with the one there. nil:
	// the same.
	shape func(c *config, there []int) ([]int, error)
	// row is the row there that is row r here. Such rows keep type and bytes.
	row func(c *config, there []int, r int) int
	// values makes values here, row after row, of those there.
	values func(c *config, there []int, dst, src []float32)
}

// A head's pair that rotates together is there (i, i+½), in some architectures here
// (2i, 2i+1):
//
//	there  a b c d A B C D      here  a A b B c C d D
var (
	queryPairs = pairs(func(c *config) int64 { return c.heads })
	keyPairs   = pairs(func(c *config) int64 { return c.kvHeads })
)

func pairs(heads func(c *config) int64) *transform {
	return &transform{
		shape: func(c *config, there []int) ([]int, error) {
			if n := int64(there[0]); n%heads(c) != 0 || n/heads(c)%2 != 0 {
				return nil, fmt.Errorf("%d rows, not %d heads of an even width", n, heads(c))
			}
			return there, nil
		},
		row: func(c *config, there []int, r int) int {
			wide := there[0] / int(heads(c))
			head, i := r/wide, r%wide
			return head*wide + i%2*(wide/2) + i/2
		},
	}
}

// plusOne is for norms that multiply by 1 + w.
var plusOne = &transform{values: func(_ *config, _ []int, dst, src []float32) {
	for i, v := range src {
		dst[i] = v + 1
	}
}}

// turned is for matrices that are stored with the inputs outermost.
var turned = &transform{
	shape: func(_ *config, there []int) ([]int, error) {
		if len(there) == 2 {
			return []int{there[1], there[0]}, nil
		}
		return there, nil // a bias
	},
	values: func(_ *config, there []int, dst, src []float32) {
		if len(there) != 2 {
			copy(dst, src)
			return
		}
		rows, cols := there[0], there[1]
		for r := range rows {
			for c := range cols {
				dst[c*rows+r] = src[r*cols+c]
			}
		}
	},
}

// narrow drops dimensions of 1 in front of the last one.
var narrow = &transform{shape: func(_ *config, there []int) ([]int, error) {
	var here []int
	for i, n := range there {
		if n != 1 || i == len(there)-1 {
			here = append(here, n)
		}
	}
	return here, nil
}}

// with puts a transform to the rows of a table whose names there are given.
func with(list []name, t *transform, theirs ...string) []name {
	out := make([]name, 0, len(list))
	for _, n := range list {
		for _, x := range theirs {
			if n.theirs == x {
				n.by = t
			}
		}
		out = append(out, n)
	}
	return out
}
