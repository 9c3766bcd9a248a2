package backend

import (
	"fmt"

	"github.com/paddock-go/paddock/internal/prog"
	"github.com/paddock-go/paddock/internal/quant"
)

// LimitError reports limits, or a batch, that a runner can't be made for or
// can't take: what, how much, and the range it has to be in.
type LimitError struct {
	What      string
	Got       int64
	Low, High int64
}

func (e *LimitError) Error() string {
	return fmt.Sprintf("backend: %s is %d, must be %d to %d", e.What, e.Got, e.Low, e.High)
}

// TensorError reports a tensor that a program's weight can't be made of.
type TensorError struct {
	Tensor string
	Type   quant.Type
	What   string
}

func (e *TensorError) Error() string {
	return fmt.Sprintf("backend: tensor %q (%v): %s", e.Tensor, e.Type, e.What)
}

// Rows cuts the rows of a weight, or the values of a vector, out of its tensor
// and finds the format. Of a stack it is those of all its parts. The bytes are only valid as long as t.Data is. Safe for
// concurrent use.
func Rows(w prog.Weight, t Tensor) (quant.Format, []byte, error) {
	f, err := FormatOf(w, t)
	if err != nil {
		return f, nil, err
	}
	w = w.Flat()
	few := func(format string, args ...any) (quant.Format, []byte, error) {
		return quant.Format{}, nil, &TensorError{Tensor: w.Tensor, Type: t.Type, What: fmt.Sprintf(format, args...)}
	}
	if w.Kind == prog.Vector {
		from, to := w.FromRow/f.BlockElems*f.BlockBytes, (w.FromRow+w.Cols)/f.BlockElems*f.BlockBytes
		if to > len(t.Data) {
			return few("%d bytes are too few for %d values", len(t.Data), w.FromRow+w.Cols)
		}
		return f, t.Data[from:to], nil
	}
	row := t.Cols / f.BlockElems * f.BlockBytes
	if len(t.Data)/row < t.Rows {
		return few("%d bytes are too few for %d rows of %d bytes", len(t.Data), t.Rows, row)
	}
	return f, t.Data[w.FromRow*row : (w.FromRow+w.Rows)*row], nil
}

// FormatOf finds the format of a weight and checks that its rows, or its values if
// it is a vector, are in the tensor as that is described. Safe for concurrent use.
func FormatOf(w prog.Weight, t Tensor) (quant.Format, error) {
	w = w.Flat()
	fail := func(format string, args ...any) (quant.Format, error) {
		return quant.Format{}, &TensorError{Tensor: w.Tensor, Type: t.Type, What: fmt.Sprintf(format, args...)}
	}
	f, ok := quant.Lookup(t.Type)
	if !ok {
		return fail("this is no format of weights that is supported; convert the file to another one, q8_0 say")
	}
	if w.Kind == prog.Vector { // a run of the tensor's values, whatever its rows
		if all := int64(t.Rows) * int64(t.Cols); w.FromRow < 0 || w.Cols < 1 || int64(w.FromRow) > all-int64(w.Cols) {
			return fail("values %d to %d are wanted, it is %d×%d", w.FromRow, w.FromRow+w.Cols, t.Rows, t.Cols)
		}
		if t.Cols%f.BlockElems != 0 || w.FromRow%f.BlockElems != 0 || w.Cols%f.BlockElems != 0 {
			return fail("values %d to %d are wanted, the format has blocks of %d", w.FromRow, w.FromRow+w.Cols, f.BlockElems)
		}
		return f, nil
	}
	if t.Cols != w.Cols || w.FromRow < 0 || w.Rows < 1 || w.FromRow > t.Rows-w.Rows {
		return fail("rows %d to %d of %d columns are wanted, it is %d×%d", w.FromRow, w.FromRow+w.Rows, w.Cols, t.Rows, t.Cols)
	}
	if _, err := f.RowBytes(t.Cols); err != nil {
		return fail("%v", err)
	}
	return f, nil
}
