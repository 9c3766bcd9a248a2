package sched

// WithDefaults returns the limits with every zero field set to the value that New
// would use, for callers who size something by them before they have a scheduler.
func (l Limits) WithDefaults() Limits { return l.withDefaults() }
