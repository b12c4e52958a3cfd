package api

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"

	"gbroker/grid"
)

// Prospects is where a job would run if it were handed in now.
type Prospects struct {
	At     Time           `json:"at"`
	Chosen *grid.SiteName `json:"chosen"` // null where nobody can run it
	Sites  []Prospect     `json:"sites"`  // by end, the first first; then those that cannot run it
	// Several is the choice of sites that would run it together; null unless the job may have several.
	Several *SlotChoice `json:"several"`
}

// Foreseen is what would become of a job that nobody has handed in.
type Foreseen struct {
	grid.Decision
	Spreads []grid.Spread    // how sure its waits are, by candidate
	Several *grid.SlotChoice // what would be chosen of several sites, of a job that may have them
}

// Prospect is what a site says. Instants and waits are null where it refuses.
type Prospect struct {
	Candidate
	// Start is the expected one, by the run times that such jobs really had; the two around it are
	// between which eight of ten such jobs start, going by how good the estimates of that site were. Where too
	// few jobs tell that, they are the first possible start, and that by limits; null where that has no bound.
	Start      Time `json:"start"`
	StartEarly Time `json:"start_early"`
	StartLate  Time `json:"start_late"`
	SpreadOf   int  `json:"spread_of"` // how many jobs tell that; 0: too few
	// StartSafe is the start if every job there runs to its limit, as the batch system itself
	// reckons: null where later jobs may overtake it, so that no bound holds.
	StartSafe Time `json:"start_safe"`
	End       Time `json:"end"`
}

func (s *Server) where(r *request) error {
	var sub Submission
	if err := s.decode(r, MaxSubmission, func(d *json.Decoder) error { return readSubmission(d, &sub) }); err != nil {
		return err
	}
	if err := sub.check(); err != nil {
		return err
	}
	n, _, err := s.newJob(&sub)
	if err != nil {
		return err
	}
	f, err := s.service.Where(r.Context(), r.who, n)
	if err != nil {
		return err
	}
	s.answer(r.w, http.StatusOK, newProspects(f))
	return nil
}

func newProspects(d Foreseen) Prospects {
	p := Prospects{At: Time(d.At), Sites: make([]Prospect, 0, len(d.Candidates)), Several: newChoice(d.Several)}
	if d.Chosen != "" {
		p.Chosen = &d.Chosen
	}
	for i, c := range d.Candidates {
		var spread grid.Spread
		if i < len(d.Spreads) {
			spread = d.Spreads[i]
		}
		p.Sites = append(p.Sites, newProspect(d.At, c, spread))
	}
	slices.SortStableFunc(p.Sites, func(a, b Prospect) int {
		return cmp.Or(cmp.Compare(refusals(a), refusals(b)), cmp.Compare(a.End, b.End))
	})
	return p
}

func refusals(p Prospect) int {
	if p.Refusal != nil {
		return 1
	}
	return 0
}

// starting is what it may take to start a job that nothing hinders, where no history tells.
const starting = 5 * grid.Second

func newProspect(at grid.Tick, c grid.Candidate, spread grid.Spread) Prospect {
	p := Prospect{Candidate: newCandidate(c)}
	if c.Refusal != nil {
		return p
	}
	there := at + c.Delivery // no start is before
	start := there + c.Wait
	p.Start, p.End = Time(start), Time(start+c.Run)
	if c.Safe < grid.Unsure {
		p.StartSafe = Time(there + c.Safe)
	}
	switch {
	case spread.Of > 0:
		p.StartEarly, p.StartLate, p.SpreadOf = Time(max(there, start-spread.Early)), Time(start+spread.Late), spread.Of
	case c.Safe < grid.Unsure: // no history: as soon as its files are there, or when all have run to their limits
		p.StartEarly, p.StartLate = Time(there), Time(there+c.Safe+starting)
	}
	return p
}

// Where tells where a job would run if it were handed in now.
func (c *Client) Where(ctx context.Context, s Submission) (Prospects, error) {
	if s.Files == nil {
		s.Files = []File{}
	}
	s.Key = "where" // of what is not handed in
	body, err := json.Marshal(s)
	if err != nil {
		return Prospects{}, fmt.Errorf("writing the job as JSON: %w", err)
	}
	var p Prospects
	err = c.do(ctx, http.MethodPost, "/v1/where", body, &p, c.config.Answer)
	return p, err
}
