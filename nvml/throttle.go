package nvml

// Throttle is the set of reasons for which a device's clocks are below their highest.
type Throttle uint64

// throttleReasons are the reasons by their bit.
var throttleReasons = [...]string{
	"gpu_idle",
	"applications_clocks",
	"sw_power_cap",
	"hw_slowdown",
	"sync_boost",
	"sw_thermal",
	"hw_thermal",
	"hw_power_brake",
	"display_clocks",
}

const otherReason = "other" // a bit that newer drivers set

// ThrottleReasons are all names of reasons, in a fixed order. The last is for those
// that this package doesn't know.
func ThrottleReasons() []string {
	return append(throttleReasons[:len(throttleReasons):len(throttleReasons)], otherReason)
}

// Names are the reasons in force, in the order of ThrottleReasons; empty, not nil, for none.
func (t Throttle) Names() []string {
	names := []string{}
	for i, name := range ThrottleReasons() {
		if t.has(i) {
			names = append(names, name)
		}
	}
	return names
}

// has tells whether the i-th of ThrottleReasons is in force.
func (t Throttle) has(i int) bool {
	if i == len(throttleReasons) {
		return t>>i != 0
	}
	return t&(1<<i) != 0
}
