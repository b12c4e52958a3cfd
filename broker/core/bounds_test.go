package core

import (
	"slices"
	"testing"

	"gbroker/grid"
)

// What is at a bound is within it, what is beyond is not.
func TestBoundsOfAnAllowance(t *testing.T) {
	t.Parallel()
	c := signed()
	j := jobOf(her, "b", "1")
	j.Inputs = grid.Manifest{{Path: "in", Size: 1000, Ranges: make([]grid.Hash, 1)}}
	c.cfg.OfferFiles = 5000
	own := j
	own.Home = me
	for name, k := range map[string]struct {
		of      *grid.Job
		has     allowance
		refused bool
	}{
		"one offer less":          {&j, allowance{offers: maxOffersOf - 1}, false},
		"as many offers":          {&j, allowance{offers: maxOffersOf}, true},
		"one that fetches less":   {&j, allowance{fetching: maxFetchingOf - 1}, false},
		"as many that fetch":      {&j, allowance{fetching: maxFetchingOf}, true},
		"documents to the bound":  {&j, allowance{documents: maxOfferBytes - j.DocumentSize()}, false},
		"documents beyond":        {&j, allowance{documents: maxOfferBytes - j.DocumentSize() + 1}, true},
		"files to the bound":      {&j, allowance{files: 4000}, false},
		"files beyond":            {&j, allowance{files: 4001}, true},
		"a job of this home goes": {&own, allowance{offers: maxOffersOf, files: 1 << 40}, false},
	} {
		if why := c.ownership.beyond(&k.has, k.of); (why != nil) != k.refused {
			t.Errorf("%s: %+v", name, why)
		}
	}
}

// An attempt counts as vanished after so many listings without it, and not before its grace is over.
func TestBoundsOfAVanishedAttempt(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		since    grid.Tick
		misses   int
		vanished bool
	}{"a moment too soon": {9_999, 9, false}, "in time": {10_000, goodListings - 1, true}, "not seen often enough": {20_000, goodListings - 2, false}} {
		o := &others{}
		r := runningHere(nil)
		kern := kernelOf(o, r)
		kern.cfg.Grace = 10 * grid.Second
		m := &execution{kernel: kern, estimator: o, gates: o, home: o, ownership: o, recovery: o, search: o, terms: o}
		j := kern.jobs[r.Job.ID]
		j.misses, j.rec.Missing = k.misses, kern.now-k.since
		if got := m.vanished(j); got != k.vanished {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// Of each life that is lost the farthest position is kept, and only what is farther is news.
func TestBoundsOfALostBranch(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		at   grid.JournalID
		news bool
		kept []grid.JournalID
	}{
		"nothing":      {grid.JournalID{}, false, []grid.JournalID{in(2, 10)}},
		"as far":       {in(2, 10), false, []grid.JournalID{in(2, 10)}},
		"not so far":   {in(2, 9), false, []grid.JournalID{in(2, 10)}},
		"farther":      {in(2, 11), true, []grid.JournalID{in(2, 11)}},
		"another life": {in(3, 1), true, []grid.JournalID{in(2, 10), in(3, 1)}},
	} {
		r := &rollback{lost: []grid.JournalID{in(2, 10)}}
		if news := r.note(k.at); news != k.news || !slices.Equal(r.lost, k.kept) {
			t.Errorf("%s: news %t, kept %v", name, news, r.lost)
		}
	}
}

// A result is kept as long as its retention, and while there is room for it; of what its user has removed the key is kept as long as keys are.
func TestBoundsOfRetention(t *testing.T) {
	t.Parallel()
	o := &others{}
	kern := kernelOf(o)
	kern.now = 10 * keyLife
	kern.cfg.Keep, kern.cfg.KeepBytes = 3*keyLife, 100
	m := &home{kernel: kern}
	ago := func(span grid.Tick) grid.Tick { return kern.now - span }
	for name, k := range map[string]struct {
		removed          bool
		submitted, ended grid.Tick
		size, newer      int64
		counts           int64
		gone             bool
	}{
		"young":                       {false, ago(5 * keyLife), ago(grid.Hour), 10, 0, 10, false},
		"old":                         {false, ago(5 * keyLife), ago(3*keyLife + 1), 10, 0, 10, true},
		"as much as there is room":    {false, ago(grid.Hour), ago(grid.Minute), 10, 90, 10, false},
		"more than there is room":     {false, ago(grid.Hour), ago(grid.Minute), 10, 91, 10, true},
		"of no size":                  {false, ago(grid.Hour), ago(grid.Minute), 0, 500, 0, false},
		"removed, and ended lately":   {true, ago(2 * keyLife), ago(keyLife), 10, 500, 0, false},
		"removed, and handed in then": {true, ago(keyLife), ago(keyLife + 1), 10, 500, 0, false},
		"removed long ago":            {true, ago(keyLife + 1), ago(keyLife + 1), 10, 0, 10, true},
	} {
		if counts, gone := m.outlived(k.removed, k.submitted, k.ended, k.size, k.newer); counts != k.counts || gone != k.gone {
			t.Errorf("%s: counts %d, gone %t", name, counts, gone)
		}
	}
}

// So many jobs enter in one step; the others in the next.
func TestMoreJobsThanEnterAtOnce(t *testing.T) {
	t.Parallel()
	s := newStand()
	s.window = maxEntering + 10
	s.begin()
	id := s.sweep("1", maxEntering+10, 0)
	if len(s.entered) != maxEntering+10 || s.saved[id].Entered != maxEntering+10 {
		t.Errorf("%d have entered", len(s.entered))
	}
	s = newStand()
	s.window = maxEntering + 10
	s.begin()
	s.groups.made(grid.Group{ID: id, User: grid.User{Name: "alice"}, Jobs: maxEntering + 10, Submitted: s.now, Template: grid.Hash{1}}, &grid.Template{Group: id, Document: "1"})
	if s.groups.fill(); len(s.entered) != maxEntering {
		t.Errorf("%d enter at once", len(s.entered))
	}
}
