package main

import (
	"fmt"
	"io"
	"maps"
	"slices"

	"gbroker/sim/faults"
)

// faultsSum is what gsim faults prints.
type faultsSum struct {
	Histories  int                `json:"histories"`
	First      uint64             `json:"first_seed"`
	Last       uint64             `json:"last_seed"`
	Steps      int                `json:"steps"`
	Faults     map[string]int     `json:"faults"`
	Moved      int                `json:"moved"`
	Jobs       int                `json:"jobs"`
	Violations []faults.Violation `json:"violations"`
	Coverage   map[string]int     `json:"coverage"`
	Median     faultsMedian       `json:"median"`
	PerSecond  float64            `json:"histories_per_s"`

	all                  bool
	steps, struck, moved []int
}

// faultsMedian is the median history.
type faultsMedian struct {
	Steps  int     `json:"steps"`
	Faults int     `json:"faults"`
	Moved  float64 `json:"moved"` // of its jobs
}

func newFaultsSum(all bool) *faultsSum {
	s := &faultsSum{Faults: map[string]int{}, Violations: []faults.Violation{}, Coverage: map[string]int{}, all: all}
	for _, name := range faults.Points() {
		s.Coverage[name] = 0
	}
	return s
}

// add takes a history in; false where no more are wanted.
func (s *faultsSum) add(r faults.Result) bool {
	if s.Histories++; s.Histories == 1 {
		s.First = r.Seed
	}
	s.Last = r.Seed
	s.Steps += r.Steps
	s.Moved += r.Moved
	s.Jobs += r.Jobs
	for k, n := range r.Faults {
		if n > 0 {
			s.Faults[faults.Kind(k).String()] += n
		}
	}
	for name, n := range r.Coverage {
		s.Coverage[name] += n
	}
	s.steps, s.struck = append(s.steps, r.Steps), append(s.struck, r.Struck())
	s.moved = append(s.moved, 1000*r.Moved/max(r.Jobs, 1))
	if r.Violation != nil {
		s.Violations = append(s.Violations, *r.Violation)
	}
	return r.Violation == nil || s.all
}

// finish reckons what is of all histories, which took so many seconds.
func (s *faultsSum) finish(seconds float64) {
	s.Median = faultsMedian{median(s.steps), median(s.struck), float64(median(s.moved)) / 1000}
	s.PerSecond = float64(s.Histories) / max(seconds, 1e-9)
}

func (s *faultsSum) struckInAll() (n int) {
	for _, k := range s.Faults {
		n += k
	}
	return n
}

// median is the middle one.
func median(list []int) int {
	if len(list) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(list))
	return sorted[len(sorted)/2]
}

func (s *faultsSum) print(w io.Writer) error {
	rows := [][2]string{
		{"histories", fmt.Sprintf("%d, %.0f per second", s.Histories, s.PerSecond)},
		{"seeds", fmt.Sprintf("%d-%d", s.First, s.Last)},
		{"steps", fmt.Sprintf("%d, median %d", s.Steps, s.Median.Steps)},
		{"jobs", fmt.Sprintf("%d, of which moved %d, median %.0f %%", s.Jobs, s.Moved, 100*s.Median.Moved)},
		{"faults", fmt.Sprintf("%d, median %d", s.struckInAll(), s.Median.Faults)},
	}
	for _, name := range slices.Sorted(maps.Keys(s.Faults)) {
		rows = append(rows, [2]string{"  " + name, fmt.Sprint(s.Faults[name])})
	}
	hit := 0
	for _, n := range s.Coverage {
		hit += min(n, 1)
	}
	rows = append(rows, [2]string{"crash points hit", fmt.Sprintf("%d of %d", hit, len(s.Coverage))})
	for _, name := range slices.Sorted(maps.Keys(s.Coverage)) {
		if s.Coverage[name] > 0 {
			rows = append(rows, [2]string{"  " + name, fmt.Sprint(s.Coverage[name])})
		}
	}
	rows = append(rows, [2]string{"violations", fmt.Sprint(len(s.Violations))})
	for _, v := range s.Violations {
		rows = append(rows, [2]string{fmt.Sprintf("  seed %d, step %d", v.Seed, v.Step), v.Property + ": " + v.Text})
	}
	return printRows(w, rows)
}
