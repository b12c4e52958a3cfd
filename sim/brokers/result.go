package brokers

import "gbroker/grid"

// Result is what a run came to.
type Result struct {
	Jobs     []Ended   // of World.Jobs, in their order; those that had not ended when it was stopped have End 0
	Done     int       // that ended
	Messages int64     // between brokers
	Moves    int64     // of jobs from one site to another
	Steps    int64     // of all brokers
	Asked    int64     // of the messages, for when jobs would start
	Busy     []float64 // core-seconds of each site
	End      grid.Tick // of the last job
}

// Ended is what became of one job.
type Ended struct {
	Arrival, Start, End grid.Tick
	Told                grid.Tick // the start that was expected when it came into the queue of its site first; 0 is none
	Home, Site          int32
	Cores               int32
	Moves               int32
	Asked               bool // its home asked others before it had a place
	Cancelled           bool // a copy that was given up, at End; with a Site, after its start
}
