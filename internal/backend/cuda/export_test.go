package cuda

import (
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
