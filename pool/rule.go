package pool

import (
	"cmp"
	"fmt"
	"math"
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
	ByNeed           // the performance that would still make the deadline, the highest first
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
	// Wait makes a rule of best fit plan ahead: a job waits for a computer that is busy, where that is the weakest which ends it
	// in time and the weakest of those that are free is stronger by more than this factor. 0 looks at what is free alone.
	Wait float64
	// Crowded is the order instead of Order when a plan leaves a job late that could be in time in an empty pool.
	Crowded Order
	// Endangered makes jobs whose slack is no more than this part of their shortest run go before all others of their priority, the shortest first. 0 is off.
	Endangered float64
}

// Rules by their names.
var (
	FCFS    = Rule{}
	ECPFCFS = Rule{InTime: true}
	EDF     = Rule{Order: ByDeadline, Fit: BestFit, InTime: true}
	Slack   = Rule{Order: BySlack, Fit: BestFit, InTime: true}
	Best    = Rule{Order: ByNeed, Fit: BestFit, InTime: true, Wait: 1.5, Crowded: ByDeadline}
)

var named = []struct {
	name string
	rule Rule
}{{"fcfs", FCFS}, {"ecp-fcfs", ECPFCFS}, {"edf", EDF}, {"slack", Slack}, {"best", Best}}

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
	keys, safe, out := make([]float64, len(jobs)), make([]int8, len(jobs)), make([]int, len(jobs))
	ends := newEnds(now, computers)
	for i := range jobs {
		keys[i], safe[i], out[i] = r.key(now, ends, &jobs[i]), 1, i
		if r.endangered(now, ends, &jobs[i]) {
			keys[i], safe[i] = jobs[i].Work, 0
		}
	}
	slices.SortFunc(out, func(a, b int) int {
		return cmp.Or(cmp.Compare(jobs[b].Priority, jobs[a].Priority), cmp.Compare(safe[a], safe[b]), cmp.Compare(keys[a], keys[b]), cmp.Compare(a, b))
	})
	return out
}

// endangered tells whether a job must begin soon.
func (r *Rule) endangered(now grid.Tick, ends *ends, j *Job) bool {
	if r.Endangered == 0 || j.Deadline == 0 {
		return false
	}
	end := ends.first(j)
	return end <= j.Deadline && float64(j.Deadline-end) <= r.Endangered*float64(end-now)
}

// key is by what a rule sorts.
func (r *Rule) key(now grid.Tick, ends *ends, j *Job) float64 {
	switch {
	case r.Order == ByArrival:
		return float64(j.Arrival)
	case j.Deadline == 0:
		return math.Inf(1)
	case r.Order == ByDeadline:
		return float64(j.Deadline)
	case r.Order == BySlack:
		return float64(j.Deadline) - float64(ends.first(j))
	case j.Deadline <= now:
		return math.Inf(-1)
	}
	return -j.Work / float64(j.Deadline-now)
}
