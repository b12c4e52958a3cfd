package pool

import (
	"cmp"
	"fmt"
	"slices"

	"gbroker/grid"
)

// Order is in which order waiting jobs are looked at.
type Order uint8

// Orders. A higher priority goes before each.
const (
	ByArrival  Order = iota
	ByDeadline       // those without one last
	BySlack          // deadline less the shortest run that is left, in the pool
)

// Fit is which computer a job gets.
type Fit uint8

// Fits.
const (
	AnyFit  Fit = iota // one drawn by chance
	BestFit            // the weakest that ends it in time
)

// Rule says which job runs where. The zero value is FCFS.
type Rule struct {
	Order  Order
	Fit    Fit
	InTime bool    // a job is given only to a computer that ends it in time
	Margin float64 // of safety: a job is in time if it would be with so much more work, as a part of it
}

// Rules by their names.
var (
	FCFS    = Rule{}
	ECPFCFS = Rule{InTime: true}
	EDF     = Rule{Order: ByDeadline, Fit: BestFit, InTime: true}
	Slack   = Rule{Order: BySlack, Fit: BestFit, InTime: true}
)

var named = []struct {
	name string
	rule Rule
}{{"fcfs", FCFS}, {"ecp-fcfs", ECPFCFS}, {"edf", EDF}, {"slack", Slack}}

// Rules are the names of the rules, for people.
func Rules() (out []string) {
	for _, n := range named {
		out = append(out, n.name)
	}
	return out
}

// ParseRule reads the name of a rule.
func ParseRule(name string) (Rule, error) {
	for _, n := range named {
		if n.name == name {
			return n.rule, nil
		}
	}
	return Rule{}, fmt.Errorf("there is no rule %q; there are %v", name, Rules())
}

// ends is when c ends j if it begins then, and whether that is in time.
func (r *Rule) ends(c *Computer, j *Job, from grid.Tick) (end grid.Tick, inTime bool) {
	end = c.Forecast.End(from, j.Work)
	if j.Deadline == 0 || r.Margin == 0 || end > j.Deadline {
		return end, end < Never && (j.Deadline == 0 || end <= j.Deadline)
	}
	return end, c.Forecast.End(from, j.Work*(1+r.Margin)) <= j.Deadline
}

// order sorts jobs for a rule.
func (r *Rule) order(now grid.Tick, computers []Computer, jobs []Job) []int {
	keys := make([]grid.Tick, len(jobs))
	for i := range jobs {
		keys[i] = r.key(now, computers, &jobs[i])
	}
	out := make([]int, len(jobs))
	for i := range out {
		out[i] = i
	}
	slices.SortFunc(out, func(a, b int) int {
		return cmp.Or(cmp.Compare(jobs[b].Priority, jobs[a].Priority), cmp.Compare(keys[a], keys[b]), cmp.Compare(a, b))
	})
	return out
}

func (r *Rule) key(now grid.Tick, computers []Computer, j *Job) grid.Tick {
	switch {
	case r.Order == ByArrival:
		return j.Arrival
	case j.Deadline == 0:
		return Never
	case r.Order == ByDeadline:
		return j.Deadline
	}
	return j.Deadline - shortest(now, computers, j)
}

// shortest is when j would end on the computer of the pool that is best for it, were all free.
func shortest(now grid.Tick, computers []Computer, j *Job) grid.Tick {
	end := Never
	for i := range computers {
		if c := &computers[i]; c.Lacks(j) == "" {
			end = min(end, c.Forecast.End(now, j.Work))
		}
	}
	return end
}
