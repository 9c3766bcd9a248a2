package cuda

import (
	"fmt"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/backend/cuda/driver"
)

// checkLaunches finds the first launch of the largest steps that the device can't do,
// so that limits are refused when a runner is made, and no step ends one.
func checkLaunches(ops []op, most bucket, card driver.Facts, unfused bool) error {
	decode := most
	decode.rows = min(most.rows, most.seqs)
	decode.decode, most.pick, decode.pick = true, true, true
	for _, b := range []bucket{most, decode} {
		for _, l := range stepLaunches(ops, b, unfused) {
			for i, axis := range [...]string{"x", "y", "z"} {
				if n := int64(l.grid[i]); n < 1 || n > int64(card.MaxGrid[i]) {
					return &backend.LimitError{What: fmt.Sprintf("blocks of the GPU's kernel %s in %s", l.kernel, axis), Got: n, Low: 1, High: int64(card.MaxGrid[i])}
				}
			}
			if l.args.wide != 0 {
				return &backend.LimitError{What: fmt.Sprintf("an argument of the GPU's kernel %s", l.kernel), Got: l.args.wide, Low: -1 << 31, High: 1<<31 - 1}
			}
		}
	}
	return nil
}
