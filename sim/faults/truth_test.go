package faults

import (
	"slices"
	"testing"

	"gbroker/grid"
)

// When may a job be FAILED that never ran? If a batch system refused it, or if all sites
// of its home's file that could have run it were removed from there while it was open.
func TestFailedWithoutAStartTakesAReason(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		does     func(*site, *fact)
		violated bool
	}{
		{"nothing happened", func(*site, *fact) {}, true},
		{"another job was refused", func(s *site, _ *fact) { s.w.truth.facts["other"].refusal.epoch = grid.Epoch{Term: 1} }, true},
		{"it was refused", func(_ *site, f *fact) { f.refusal.epoch = grid.Epoch{Term: 1} }, false},
		{"it was refused, and has gone to another site since", func(_ *site, f *fact) { f.refusal.epoch = grid.Epoch{Term: 1, Hop: 1} }, true},
		{"one of two sites was removed", func(s *site, _ *fact) { s.unknow(s.members[0]) }, true},
		{"both were removed", func(s *site, _ *fact) { s.unknow(s.members[0]); s.unknow(s.members[0]) }, false},
		{"both were removed, and are back", func(s *site, _ *fact) {
			known := slices.Clone(s.members)
			s.unknow(known[0])
			s.unknow(known[1])
			s.know(known[0])
		}, false},
		{"they are gone for ever, and in the file", func(s *site, _ *fact) {
			for _, m := range s.members {
				s.w.byPeer[m.Peer].gone = true
			}
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(Options{Seed: 1, Brokers: 3, Profile: profile(t, "calm")})
			s := w.sites[0]
			for _, o := range w.sites {
				o.facts.Processes = 4
			}
			s.facts.Processes, s.members = 1, nil
			w.join(s, w.sites[1], true)
			w.join(s, w.sites[2], true)
			f := &fact{id: "job", home: s, cores: 4}
			w.truth.facts["job"], w.truth.facts["other"] = f, &fact{id: "other", home: s, cores: 1}
			c.does(s, f)
			f.searched([]grid.Decision{vain(1, grid.Permanent)})
			w.truth.judge(s, f, &grid.Record{State: grid.Failed, Tenure: grid.Tenure{Epoch: grid.Epoch{Term: 1}}})
			if (w.result.Violation != nil) != c.violated {
				t.Errorf("the violation is %+v", w.result.Violation)
			}
		})
	}
}

// A refusal counts at its epoch, and for the same version at the home, which knows of it, when that begins a term.
func TestARefusalCountsWhereItIsKnown(t *testing.T) {
	t.Parallel()
	f := fact{refusal: refusal{grid.Epoch{Term: 2, Hop: 1}, grid.Minute}}
	for _, c := range []struct {
		at       grid.Epoch
		walltime grid.Tick
		counts   bool
	}{
		{grid.Epoch{Term: 2, Hop: 1}, grid.Minute, true},
		{grid.Epoch{Term: 2, Hop: 2}, grid.Minute, false},
		{grid.Epoch{Term: 2}, grid.Minute, false},
		{grid.Epoch{Term: 3}, grid.Minute, true},
		{grid.Epoch{Term: 3}, grid.Hour, false},
		{grid.Epoch{Term: 3, Hop: 4}, grid.Minute, false},
	} {
		if got := f.refused(&grid.Record{Job: grid.Job{Walltime: c.walltime}, Tenure: grid.Tenure{Epoch: c.at}}); got != c.counts {
			t.Errorf("at %s with %v: %t", c.at, c.walltime, got)
		}
	}
	if (&fact{}).refused(&grid.Record{Tenure: grid.Tenure{Epoch: grid.Epoch{Term: 1}}}) {
		t.Error("nothing was refused, and it counts")
	}
}
