package main

import (
	"fmt"
	"slices"
	"time"
)

// The goals: where tells the site at which the job runs, and a spread in which it starts.
const (
	goalSame   = 0.9
	goalWithin = 0.8
	soonStart  = 2.0 // seconds: a job that is told no more is told to start at once
)

// shares are how true what was told was of some jobs.
type shares struct {
	Jobs   int     `json:"jobs"`
	Same   float64 `json:"same_site"`
	Spread float64 `json:"with_spread"`
	Within float64 `json:"start_within_spread"`
	Width  float64 `json:"median_width_of_spread_s"`
}

func share(list []foretold, counts func(*foretold) bool) (s shares) {
	var widths []float64
	for i := range list {
		f := &list[i]
		if f.Warm || !counts(f) {
			continue
		}
		s.Jobs++
		if f.same() {
			s.Same++
		}
		if f.spread() {
			s.Spread++
			widths = append(widths, f.LateS-f.EarlyS)
		}
		if f.within() {
			s.Within++
		}
	}
	if s.Jobs > 0 {
		n := float64(s.Jobs)
		s.Same, s.Spread, s.Within = s.Same/n, s.Spread/n, s.Within/n
		s.Width = median(widths)
	}
	return s
}

func (s shares) good() bool { return s.Jobs > 0 && s.Same >= goalSame && s.Within >= goalWithin }

// whereReport is a run.
type whereReport struct {
	Seed    uint64     `json:"seed"`
	Mix     string     `json:"mix"`
	Seconds float64    `json:"seconds"`
	All     shares     `json:"all"`
	AtOnce  shares     `json:"told_to_start_at_once"`
	Waiting shares     `json:"told_to_wait"`
	Good    bool       `json:"good"`
	Jobs    []foretold `json:"jobs"`
}

func newWhereReport(seed uint64, took time.Duration, list []foretold) whereReport {
	r := whereReport{Seed: seed, Mix: whereMix, Seconds: took.Seconds(), Jobs: list,
		All:     share(list, func(*foretold) bool { return true }),
		AtOnce:  share(list, func(f *foretold) bool { return f.ToldS <= soonStart }),
		Waiting: share(list, func(f *foretold) bool { return f.ToldS > soonStart }),
	}
	r.Good = r.All.good()
	return r
}

func (r *whereReport) table() string {
	line := func(name string, s shares) string {
		return fmt.Sprintf("%-22s %4d jobs  same site %5.1f %%  start within the spread %5.1f %% (told for %5.1f %%, median width %.1f s)\n",
			name, s.Jobs, 100*s.Same, 100*s.Within, 100*s.Spread, s.Width)
	}
	return fmt.Sprintf("\nseed %d, %.1f min; %s\n\n", r.Seed, r.Seconds/60, r.Mix) +
		line("all", r.All) + line("told to start at once", r.AtOnce) + line("told to wait", r.Waiting)
}

// verdict is why the goal is missed, or nil.
func (r *whereReport) verdict() error {
	if !r.Good {
		return fmt.Errorf("the goal is missed: the site is the same for %.1f %% (%.0f %% are wanted), the start within the spread for %.1f %% (%.0f %%)",
			100*r.All.Same, 100*goalSame, 100*r.All.Within, 100*goalWithin)
	}
	return nil
}

// median is 0 of none.
func median(list []float64) float64 {
	if len(list) == 0 {
		return 0
	}
	slices.Sort(list)
	return list[len(list)/2]
}
