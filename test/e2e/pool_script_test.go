package e2e

import (
	"cmp"
	"slices"
	"testing"
	"time"
)

// incident is what happened to a computer of a pool: its agent "ends" or "starts", or its owner is "free" or does something else.
type incident struct {
	at   time.Duration
	desk int
	what string
}

// script is a soak in virtual time.
type script struct {
	desks   []simulated
	waiting []*soaked
	failed  int
}

// simulated is a computer of a pool in virtual time.
type simulated struct {
	down, busy bool // its agent has ended; its owner needs it
	job        *soaked
	left       time.Duration
}

// foretell gives how many jobs would not end by their deadlines if what happened in a soak were all that takes time: earliest deadline first, one job on a computer,
// what is suspended stands, and what is cut off begins again or is lost.
func foretell(desks int, jobs []soaked, incidents []incident) (failed int) {
	s := script{desks: make([]simulated, desks)}
	arrivals := slices.SortedFunc(slices.Values(jobs), func(a, b soaked) int { return cmp.Compare(a.arrival, b.arrival) })
	const step = 50 * time.Millisecond
	for now := time.Duration(0); ; now += step {
		for ; len(incidents) > 0 && incidents[0].at <= now; incidents = incidents[1:] {
			s.happens(incidents[0])
		}
		for ; len(arrivals) > 0 && arrivals[0].arrival <= now; arrivals = arrivals[1:] {
			s.waiting = append(s.waiting, &arrivals[0])
		}
		if running := s.run(now, step); running+len(s.waiting)+len(arrivals) == 0 {
			return s.failed
		}
	}
}

func (s *script) happens(i incident) {
	d := &s.desks[i.desk]
	switch i.what {
	case "ends":
		if d.job != nil && d.job.rerunnable {
			s.waiting = append(s.waiting, d.job)
		} else if d.job != nil {
			s.failed++
		}
		d.down, d.job = true, nil
	case "starts":
		d.down = false
	default:
		d.busy = i.what != "free"
	}
}

// run lets a step pass, and gives how many jobs have begun and not ended.
func (s *script) run(now, step time.Duration) (running int) {
	slices.SortStableFunc(s.waiting, func(a, b *soaked) int { return cmp.Compare(a.deadline, b.deadline) })
	for i := range s.desks {
		d := &s.desks[i]
		if d.job != nil && !d.busy {
			d.left -= step
		}
		switch {
		case d.job != nil && d.left <= 0:
			d.job = nil
		case d.job != nil && d.job.deadline <= now:
			d.job = nil
			s.failed++
		}
		if d.job == nil && !d.down && !d.busy && len(s.waiting) > 0 {
			d.job, d.left, s.waiting = s.waiting[0], s.waiting[0].runs, s.waiting[1:]
		}
		if d.job != nil {
			running++
		}
	}
	late := len(s.waiting)
	s.waiting = slices.DeleteFunc(s.waiting, func(j *soaked) bool { return j.deadline <= now })
	s.failed += late - len(s.waiting)
	return running
}

// A script is foretold as it would be by hand.
func TestForetell(t *testing.T) {
	t.Parallel()
	const s = time.Second
	for name, c := range map[string]struct {
		jobs      []soaked
		incidents []incident
		failed    int
	}{
		"all in time":     {[]soaked{{runs: 2 * s, deadline: 10 * s}, {runs: 2 * s, deadline: 5 * s}}, nil, 0},
		"one too many":    {[]soaked{{runs: 4 * s, deadline: 9 * s}, {runs: 4 * s, deadline: 6 * s}, {runs: 4 * s, deadline: 10 * s}}, nil, 1},
		"owner is there":  {[]soaked{{runs: 4 * s, deadline: 8 * s}}, []incident{{1 * s, 0, "active"}, {7 * s, 0, "free"}}, 1},
		"owner was there": {[]soaked{{runs: 4 * s, deadline: 8 * s}}, []incident{{1 * s, 0, "battery"}, {3 * s, 0, "free"}}, 0},
		"cut off":         {[]soaked{{runs: 4 * s, deadline: 20 * s}}, []incident{{3 * s, 0, "ends"}, {5 * s, 0, "starts"}}, 1},
		"begun again":     {[]soaked{{runs: 4 * s, deadline: 20 * s, rerunnable: true}}, []incident{{3 * s, 0, "ends"}, {5 * s, 0, "starts"}}, 0},
		"too late again":  {[]soaked{{runs: 4 * s, deadline: 8 * s, rerunnable: true}}, []incident{{3 * s, 0, "ends"}, {5 * s, 0, "starts"}}, 1},
		"none comes back": {[]soaked{{arrival: s, runs: s, deadline: 8 * s}}, []incident{{0, 0, "ends"}}, 1},
	} {
		if got := foretell(1, c.jobs, c.incidents); got != c.failed {
			t.Errorf("%s: %d fail, not %d", name, got, c.failed)
		}
	}
}
