package api

import (
	"encoding/json"
	"math"
	"strconv"

	"gbroker/grid"
)

// Explanation is why a job is where it is.
type Explanation struct {
	ID        grid.JobID `json:"id"`
	Demand    Demand     `json:"demand"` // what every site was asked for
	Decisions []Decision `json:"decisions"`
	Stay      *Stay      `json:"stay"` // null unless the latest search left the waiting job where it is
	// Allocation is null unless the job may run at several sites at once, and this broker is its home.
	Allocation *Allocation `json:"allocation"`
	Reason     string      `json:"reason"` // of the job's state, as in Status
}

// Stay is a search for a waiting job that moved nothing.
type Stay struct {
	Decision Decision `json:"decision"`
	Why      string   `json:"why"`
}

// Decision is one run of the search.
type Decision struct {
	At         Time           `json:"at"`
	Epoch      string         `json:"epoch"`
	Chosen     *grid.SiteName `json:"chosen"` // null where nobody could run it
	Candidates []Candidate    `json:"candidates"`
}

// Candidate is one site that was asked. The waits and the total are null where it refused.
type Candidate struct {
	Site      grid.SiteName `json:"site"`
	SizeBytes int64         `json:"size_bytes"`
	Bandwidth *float64      `json:"bandwidth_bytes_per_s"` // null for the site itself: nothing is sent
	Measured  bool          `json:"measured"`
	DeliveryS float64       `json:"delivery_s"`
	WaitS     *float64      `json:"wait_s"`
	SafeWaitS *float64      `json:"safe_wait_s"` // if every job there runs to its limit; null: later jobs may overtake it, and no bound holds
	RunS      float64       `json:"run_s"`
	TotalS    *float64      `json:"total_s"`
	// UnpreferredS is what the total has more because the user prefers other sites.
	UnpreferredS float64 `json:"unpreferred_s,omitempty"`
	// Told: it was not asked; the waits are the most by what it had told of starts. Where no most is known it is refused for that.
	Told bool `json:"told,omitempty"`
	// WaitLeastS and TotalLeastS are the least by what it had told; null where it was asked, or nothing is known.
	WaitLeastS  *float64 `json:"wait_least_s,omitempty"`
	TotalLeastS *float64 `json:"total_least_s,omitempty"`
	// CrowdedS is what the total has more because the site is nearly full.
	CrowdedS float64  `json:"crowded_s,omitempty"`
	Price    float64  `json:"price,omitempty"` // of a core for an hour; left out where the site has none
	Doubt    string   `json:"doubt,omitempty"` // why the site is not sure of its waits
	Chosen   bool     `json:"chosen"`
	Refusal  *Refusal `json:"refusal"`
}

// Refusal is why a site cannot run the job. Programs go by its kind; the reason is for people.
type Refusal struct {
	Kind      string   `json:"kind"` // permanent, temporary, or unknown, which counts as temporary
	Reason    string   `json:"reason"`
	Asked     Quantity `json:"asked"`
	Available Quantity `json:"available"`
	AgainS    *float64 `json:"again_after_s"` // null: not known
}

// Quantity is an integer (a JSON number), a word (a JSON string) or nothing (null).
type Quantity string

// MarshalJSON writes a number where q is one.
func (q Quantity) MarshalJSON() ([]byte, error) {
	if q == "" {
		return []byte("null"), nil
	}
	if n, err := strconv.ParseInt(string(q), 10, 64); err == nil {
		return strconv.AppendInt(nil, n, 10), nil
	}
	return json.Marshal(string(q))
}

// UnmarshalJSON is the inverse of MarshalJSON.
func (q *Quantity) UnmarshalJSON(b []byte) error {
	if string(b) == "null" {
		*q = ""
		return nil
	}
	if len(b) > 0 && b[0] != '"' {
		*q = Quantity(b)
		return nil
	}
	return json.Unmarshal(b, (*string)(q))
}

func newExplanation(r *grid.Record, decisions []grid.Decision, a *grid.Allocation) Explanation {
	e := Explanation{ID: r.Job.ID, Reason: r.Why(), Demand: NewDemand(r.Job.Demand), Decisions: make([]Decision, 0, len(decisions))}
	for _, d := range decisions {
		if d.Unmoved {
			e.Stay = &Stay{newDecision(d), d.Stays}
			continue
		}
		e.Decisions, e.Stay = append(e.Decisions, newDecision(d)), nil
	}
	if a != nil {
		e.Allocation = newAllocation(a)
	}
	return e
}

func newDecision(d grid.Decision) Decision {
	v := Decision{At: Time(d.At), Epoch: d.Epoch.String(), Candidates: make([]Candidate, 0, len(d.Candidates))}
	if d.Chosen != "" {
		v.Chosen = &d.Chosen
	}
	for _, c := range d.Candidates {
		v.Candidates = append(v.Candidates, newCandidate(c))
	}
	return v
}

func newCandidate(c grid.Candidate) Candidate {
	v := Candidate{
		Site:         c.Site,
		SizeBytes:    c.Size,
		Measured:     c.Measured,
		DeliveryS:    c.Delivery.Seconds(),
		RunS:         c.Run.Seconds(),
		Chosen:       c.Chosen,
		UnpreferredS: c.Unpreferred.Seconds(),
		CrowdedS:     c.Crowded.Seconds(),
		Price:        c.Price,
		Doubt:        c.Doubt,
		Told:         c.Told,
	}
	if c.Bandwidth > 0 {
		v.Bandwidth = finite(c.Bandwidth)
	}
	if c.Told && c.Least < grid.Unforeseen {
		v.WaitLeastS, v.TotalLeastS = finite(c.Least.Seconds()), finite((c.Delivery + c.Least + c.Run + c.Unpreferred + c.Crowded).Seconds())
	}
	if c.Refusal != nil {
		v.Refusal = newRefusal(c.Refusal)
		return v
	}
	if v.WaitS, v.TotalS = finite(c.Wait.Seconds()), finite(c.Total.Seconds()); c.Safe < grid.Unsure {
		v.SafeWaitS = finite(c.Safe.Seconds())
	}
	return v
}

func newRefusal(r *grid.Refusal) *Refusal {
	v := &Refusal{Kind: r.Kind.String(), Reason: r.Reason, Asked: Quantity(r.Asked), Available: Quantity(r.Available)}
	if r.Again > 0 {
		v.AgainS = finite(r.Again.Seconds())
	}
	return v
}

// finite is x, or nil where JSON has no word for it.
func finite(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}
