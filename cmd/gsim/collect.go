package main

import "runtime/debug"

// A simulation makes much garbage and keeps little of it: to collect seldom gains up to half of its time. Near softLimit, which the
// largest experiment (a million jobs at 10,000 sites) comes to, the collector runs as often as it must.
const (
	gcPercent = 800     // what the heap may grow by between collections, in percent of what is live
	softLimit = 7 << 30 // bytes of memory; GOMEMLIMIT, where it says less, holds
)

// collectSeldom holds until the function that it gives is called.
func collectSeldom() func() {
	percent, limit := debug.SetGCPercent(gcPercent), debug.SetMemoryLimit(-1)
	debug.SetMemoryLimit(min(limit, softLimit))
	return func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	}
}
