package prog

import "fmt"

// AddRows adds a row of a learned table to each row: Dst += W[position], or one
// row for all, such as that of a token type.
type AddRows struct {
	Dst BufID
	W   WeightID // Matrix, a row for each position; or as many rows as it has
	Row int      // of W, for every row of Dst; −1: the row of the token's position
}

// Kind implements Op.
func (AddRows) Kind() string { return "add_rows" }

func (o AddRows) check(c *checker) {
	width, _ := c.shape("Dst", o.Dst)
	c.read("Dst", o.Dst, width, TokenRows)
	n := c.rows("W", o.W)
	c.weight("W", o.W, Matrix, n, width)
	c.intIn("Row", o.Row, -1, n-1)
	if o.Row < 0 && n < c.p.Context {
		c.fail("rows of W (one a position)", fmt.Sprintf("at least %d", c.p.Context), fmt.Sprint(n))
	}
}

func (w *printer) addRows(o AddRows) string {
	row := "position"
	if o.Row >= 0 {
		row = fmt.Sprint(o.Row)
	}
	return fmt.Sprintf("%s += %s[%s]", w.buf(o.Dst), w.weight(o.W), row)
}
