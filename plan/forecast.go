package plan

import "gbroker/grid"

// Forecast is what a site foresees of its jobs where more than limits and speeds decides when they end, as where its computers
// belong to others. It is of the instant of its snapshot, and does not change.
type Forecast interface {
	// Foresee plans jobs that wait there.
	Foresee(waiting []Waiting) Foresight
}

// Foresight is a forecast in which those that wait are planned. It is of one goroutine.
type Foresight interface {
	// Waiting is when the one with an index runs; false where that cannot be told.
	Waiting(index int) (Stay, bool)
	// Ask is when one more job would run, which counts in what is asked later.
	Ask(q Question) (Stay, *grid.Refusal)
}

// Stay is when a job is foreseen to run; it ends by Latest in nine cases of ten.
type Stay struct {
	Start, End, Latest grid.Tick
	// Alone is when it would have ended at the soonest if nothing else ran or waited there; told of what is asked, and 0 is not known.
	Alone grid.Tick
	Doubt string // why the site is not sure of it, for people; "": nothing speaks against it
}
