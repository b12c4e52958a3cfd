package api

import "gbroker/grid"

// Allocation is how far a job that may run at several sites at once is with that: its home's word.
type Allocation struct {
	State  string      `json:"state"` // PLANNED, RESERVING, ... as in docs/protocol.md; ONE_SITE: it goes the way of other jobs
	Round  uint32      `json:"round"` // the last choice of sites that was tried
	Reason string      `json:"reason"`
	Start  Time        `json:"start"` // of the round's reservations; null before one
	End    Time        `json:"end"`
	Go     Time        `json:"go"`    // all parts had arrived
	Begun  Time        `json:"begun"` // all parts had begun
	Parts  []Part      `json:"parts"` // of the round, then what is left of earlier ones
	Choice *SlotChoice `json:"choice"`
}

// Part is what one site has of such a job.
type Part struct {
	Round       uint32             `json:"round"`
	Rank        int                `json:"rank"`
	Site        grid.SiteName      `json:"site"`
	Job         grid.JobID         `json:"job"` // "" before it is made
	Processes   int                `json:"processes"`
	Nodes       []grid.NodeName    `json:"nodes"`
	Start       Time               `json:"start"` // of its reservation, by the clock of the home
	Reservation grid.ReservationID `json:"reservation"`
	Reserved    string             `json:"reserved"` // the state of the reservation as it was heard last; "" before
	Arrived     bool               `json:"arrived"`
	Begun       bool               `json:"begun"`
	End         string             `json:"end"` // the last state of its job; "" before
}

// SlotChoice is what the last choice of sites was made of.
type SlotChoice struct {
	At      Time          `json:"at"`
	Sites   []SiteSlots   `json:"sites"`
	Best    grid.SiteName `json:"best"` // the one site that would end the job first; "" is none
	BestEnd Time          `json:"best_end"`
	Start   Time          `json:"start"` // where several sites run it; null where they do not
	End     Time          `json:"end"`
	Why     string        `json:"why"` // why several sites were not taken; "" where they were
}

// SiteSlots is what one site offered.
type SiteSlots struct {
	Site  grid.SiteName   `json:"site"`
	Slots int             `json:"slots"`
	Taken []grid.NodeName `json:"taken"`
	// Processes are those that its nodes that were taken would have.
	Processes int      `json:"processes"`
	Refusal   *Refusal `json:"refusal,omitempty"`
}

func newAllocation(a *grid.Allocation) *Allocation {
	v := &Allocation{
		State: a.State.String(), Round: a.Round, Reason: a.Reason, Start: Time(a.Start), End: Time(a.End), Go: Time(a.Go), Begun: Time(a.Begun),
		Parts: make([]Part, 0, len(a.Parts)),
	}
	for i := range a.Parts {
		v.Parts = append(v.Parts, newPart(&a.Parts[i]))
	}
	v.Choice = newChoice(a.Choice)
	return v
}

func newChoice(c *grid.SlotChoice) *SlotChoice {
	if c == nil {
		return nil
	}
	v := &SlotChoice{
		At: Time(c.At), Sites: make([]SiteSlots, 0, len(c.Sites)), Best: c.Best, BestEnd: Time(c.BestEnd), Start: Time(c.Start), End: Time(c.End), Why: c.Why,
	}
	for _, s := range c.Sites {
		slots := SiteSlots{Site: s.Site, Slots: s.Slots, Taken: s.Taken, Processes: s.Processes}
		if s.Refusal != nil {
			slots.Refusal = newRefusal(s.Refusal)
		}
		v.Sites = append(v.Sites, slots)
	}
	return v
}

// shown is what a user sees of a job, with the parts of one that lies over several sites.
func (s *Server) shown(r *request, record *grid.Record) Status {
	v := newStatus(record, s.service.SiteName)
	if record.Job.Coallocation == nil {
		return v
	}
	a, err := s.service.Allocation(r.Context(), r.who, record.Job.ID)
	if err != nil || a == nil || a.State == grid.OneSite {
		return v
	}
	v.MissingOutputs = []string{}
	for i := range a.Parts {
		p := &a.Parts[i]
		if p.Round != a.Round {
			continue
		}
		v.Parts = append(v.Parts, newPart(p))
		if record.State != grid.Completed || !p.Made {
			continue
		}
		if part, err := s.service.Job(r.Context(), r.who, p.Job); err == nil {
			for _, name := range grid.MissingOutputs(part.Job.Outputs, part.Outputs) {
				v.MissingOutputs = append(v.MissingOutputs, string(p.Site)+"/"+name)
			}
		}
	}
	return v
}

func newPart(p *grid.AllocatedPart) Part {
	v := Part{
		Round: p.Round, Rank: p.Rank, Site: p.Site, Processes: p.Processes, Nodes: p.Nodes,
		Start: Time(p.Start - p.Offset), Reservation: p.Reservation, Arrived: p.Arrived, Begun: p.Begun,
	}
	if p.Made {
		v.Job = p.Job
	}
	if p.Heard.Valid() {
		v.Reserved = p.Heard.String()
	}
	if p.Fate != 0 {
		v.End = p.Fate.String()
	}
	return v
}
