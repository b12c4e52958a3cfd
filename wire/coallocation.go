package wire

import "gbroker/grid"

// The kinds of co-allocation, between the home of a co-allocated job and the sites of its parts.
const (
	KindSlots Kind = 48 + iota
	KindSlotsReply
	KindGather
)

// MaxSlots bounds what one site offers for one job.
const MaxSlots = 4096

// Slots (home to site) asks which whole nodes a job could have, and when.
type Slots struct {
	Of       grid.JobID
	Round    uint64 // of questions of the sender
	Demand   grid.Demand
	Walltime grid.Tick
	Queue    grid.QueueName
	User     grid.User
	From, To grid.Tick // spans after sending
	Fee      float64   // the most that is paid for a core and hour; 0 is no word
	Brief    bool      // no slots are to be told: those of another question of the round count
	Sent     grid.Tick // the sender's clock
}

// SlotsReply (site to home) answers Slots.
type SlotsReply struct {
	Of    grid.JobID
	Round uint64
	Site  grid.Site
	// Slots are whole nodes, one after the other, by the clock of the site; Price is per core and hour.
	Slots   []grid.Slot
	Refusal *grid.Refusal // there are none
	Slack   grid.Tick     // a reservation must be so much longer than its job's limit and grace
	// Estimate is when the whole job would start here the ordinary way, From having passed.
	Estimate grid.Estimate
	Clock    Clocks
}

// Clocks tell how far the clock of who answers is ahead, after Cristian: between Answered less when the
// answer came and Received less Asked.
type Clocks struct {
	Asked              grid.Tick // by who asked
	Received, Answered grid.Tick // by who answers
}

// Gather (home to the site of a part): all have arrived, so go; or, all have begun. Repeated until the
// reports of the part show it.
type Gather struct {
	Job   grid.JobID // the part
	Epoch grid.Epoch // at which the receiver owns it
	Begun bool
	Sites []grid.Gathered // of all parts by rank; none with Begun
}

func (Slots) Kind() Kind      { return KindSlots }
func (SlotsReply) Kind() Kind { return KindSlotsReply }
func (Gather) Kind() Kind     { return KindGather }
