package cuda

import (
	"fmt"

	"github.com/paddock-go/paddock/internal/backend"
	"github.com/paddock-go/paddock/internal/backend/cuda/driver"
)

// Poison fills the cache of a runner with NaN.
func Poison(r backend.Runner) {
	o := r.(*runner).owner
	err := o.model.device.use(func() error {
		c, err := o.model.device.driver.Calls()
		if err != nil {
			return err
		}
		for _, p := range o.pages {
			if err := c.Fill(driver.DevicePtr(p.at), 0xff, p.stride*int64(o.limits.Pages), o.stream); err != nil {
				return err
			}
		}
		return c.Wait(o.stream)
	})
	if err != nil {
		panic(err)
	}
}

// DynamicOf is the most dynamic shared memory that launches of a kernel have, in bytes.
func DynamicOf(kernel string) int {
	for _, m := range multipliers {
		for _, f := range families {
			if kernel == fmt.Sprintf(f.name, m.name) {
				return m.shared(f)
			}
		}
	}
	for _, kv := range kvNames {
		for _, s := range attendShapes {
			if s.tile > 0 && kernel == fmt.Sprintf("attend_%s_tiles_%d", kv, s.tile) {
				return (&attend{shape: s}).tileBytes()
			}
		}
	}
	return 0
}
