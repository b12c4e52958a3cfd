package batch

import "time"

// Faults are what tests make go wrong.
type Faults struct {
	Down        bool // the server answers nobody; jobs go on
	NoScheduler bool // Maui answers nobody
	Unscheduled bool // nothing is started
	Forgetful   bool // ended jobs are forgotten at once
	Stalled     bool // calls wait until it is over, then act, also those whose client has given up
	Deaf        bool // calls act at once, and their answers wait until it is over
	Lag         time.Duration
	Calls       []Fault
}

// Fault is what goes wrong with calls of one command.
type Fault struct {
	Command string // "" is every command
	Times   int    // how often; 0 is always
	Wait    time.Duration
	When    When
	// Refuse ends the command with Exit and Stderr, and does nothing.
	Refuse bool
	Exit   int
	Stderr string
}

// When is at which point a call waits.
type When uint8

// Points.
const (
	Asking    When = iota // before it acts; a client that is gone by then has asked for nothing
	Late                  // before it acts, and it acts though its client is gone
	Answering             // it acts at once, and the answer comes late
)

// Next takes the fault that a call of a command meets, if any.
func (f *Faults) Next(command string) (Fault, bool) {
	for i := range f.Calls {
		c := &f.Calls[i]
		if c.Command != "" && c.Command != command {
			continue
		}
		got := *c
		if c.Times > 0 {
			if c.Times--; c.Times == 0 {
				f.Calls = append(f.Calls[:i], f.Calls[i+1:]...)
			}
		}
		return got, true
	}
	return Fault{}, false
}
