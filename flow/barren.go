package flow

import (
	"math/bits"
	"slices"
)

// barren is a time of a timeline in which nothing can start that needs so much for so long, or more. What is free only
// becomes less while a plan is made, so it stays true.
type barren struct {
	from, to Time
	run      Time
	need     []int64
	gpus     int
}

// desert are the barren times that are remembered: the longest by the length of runs, in powers of two. Without them
// each job that can start early looks again at all gaps of a long plan.
type desert [64]barren

// after is the first instant from t on that is not in a barren time for those needs.
func (d *desert) after(t, run Time, need []int64, gpus int) Time {
	for k := range bits.Len64(uint64(run)) + 1 {
		if b := &d[k]; b.from <= t && t < b.to && b.run <= run && b.gpus <= gpus && covers(need, b.need) {
			t = b.to
		}
	}
	return t
}

func covers(need, by []int64) bool {
	for r, n := range by {
		if need[r] < n {
			return false
		}
	}
	return true
}

// note remembers that nothing starts from one instant up to another.
func (d *desert) note(from, to, run Time, need []int64, gpus int) {
	if to <= from {
		return
	}
	b := &d[bits.Len64(uint64(run))]
	if from < b.to && b.from < to && b.gpus == gpus && slices.Equal(need, b.need) {
		b.from, b.to, b.run = min(from, b.from), max(to, b.to), max(run, b.run)
		return
	}
	if to-from > b.to-b.from {
		*b = barren{from, to, run, append(b.need[:0], need...), gpus}
	}
}

// forget is for when something is given back.
func (d *desert) forget() {
	for k := range d {
		d[k].from, d[k].to = 0, 0
	}
}
