package cuda

import "github.com/paddock-go/paddock/internal/backend"

// grain is what every region of device memory is aligned to and a multiple of.
const grain = 256

// regions are pieces of device memory that are asked for one by one and reserved at
// once. First they are measured, with no memory behind them and made-up addresses;
// then the same requests, in the same order, get their places.
//
//	regions{}            ─ take, take, take ─▶ total, exact
//	regions{base: …}     ─ take, take, take ─▶ addresses
type regions struct {
	base  address   // of all of them in one piece
	apart []address // of each, where each is an allocation of its own
	exact []int64   // the bytes that were asked for
	total int64
}

// take is the next region of so many bytes; 0 bytes have no place.
func (r *regions) take(bytes int64) address {
	if bytes == 0 {
		return 0
	}
	at := r.base + address(r.total)
	if r.apart != nil {
		at = r.apart[len(r.exact)]
	}
	r.exact = append(r.exact, bytes)
	r.total = backend.Sum(r.total, whole(bytes))
	return at
}

// whole is bytes rounded up to whole grains.
func whole(bytes int64) int64 {
	return backend.Sum(bytes, grain-1) / grain * grain
}
