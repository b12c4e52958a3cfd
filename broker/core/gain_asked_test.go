package core

import (
	"slices"
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// A pass asks those at which a job could gain more than the margin by what they told, and who tells nothing; the others are asked
// nothing, and no job moves to them. It is 120 s to the end here, of which 30 s are the margin.
func TestAPassAsksWhoCouldGain(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		b, c   grid.Tick // the wait that is told; -1 tells nothing
		change func(*queue)
		asks   []grid.PeerID
		moves  []string
	}{
		"both could":           {0, 10 * grid.Second, nil, []grid.PeerID{her, him}, []string{"1>peer-b"}},
		"one could":            {grid.Hour, 0, nil, []grid.PeerID{him}, []string{"1>peer-c"}},
		"none could":           {grid.Hour, 50 * grid.Second, nil, nil, nil},
		"no more than before":  {grid.Hour, grid.Minute, nil, nil, nil},
		"one tells nothing":    {grid.Hour, -1, nil, []grid.PeerID{him}, []string{"1>peer-c"}},
		"what is told is old":  {grid.Hour, 0, func(q *queue) { q.members[her].foretold.at -= startsFor }, []grid.PeerID{her, him}, []string{"1>peer-c"}},
		"it cannot start here": {grid.Hour, grid.Hour, func(q *queue) { q.draining = true }, []grid.PeerID{her, him}, []string{"1>peer-b"}},
	} {
		q := newQueue(t, 1, nil, her, him)
		q.cfg.Tell = 2 * grid.Second
		for p, wait := range map[grid.PeerID]grid.Tick{her: k.b, him: k.c} {
			q.members[p].site = grid.Site{Name: "x", Speed: 1, Processes: 4}
			if wait >= 0 {
				q.members[p].foretold = foretold{q.now, grid.Starts{Whole: true, Processes: []int{1, 4}, Walltimes: []grid.Tick{grid.Minute}, Waits: []grid.Tick{wait, wait}}}
			}
		}
		if k.change != nil {
			k.change(q)
		}
		told(q, her, grid.Estimate{Wait: max(0, k.b) / 100})
		told(q, him, grid.Estimate{Wait: max(0, k.c)})
		q.pass(20 * grid.Second)
		var asks []grid.PeerID
		for _, s := range q.sent {
			if s.Message.Kind() == wire.KindEstimateRequest {
				asks = append(asks, s.To)
			}
		}
		if slices.Sort(asks); !slices.Equal(asks, k.asks) {
			t.Errorf("%s: asks %v", name, asks)
		}
		if !slices.Equal(q.moving(), k.moves) {
			t.Errorf("%s: moves %v", name, q.moving())
		}
	}
}

// A pass is followed by the next soon while jobs of the queue are left, or this site drains; else it has time. A held job is known as such.
func TestWhenTheNextPassIs(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		drains, alone bool
		soon          bool
	}{"a quiet queue": {}, "it drains": {drains: true, soon: true}, "nobody is there": {alone: true, drains: true}} {
		q := newQueue(t, 2, nil, her)
		q.cfg.Settle, q.cfg.Delta = grid.Second, grid.Hour
		q.draining = k.drains
		if q.shot.Waiting[1].Ineligible = true; k.alone {
			q.members[her].live = grid.Dead
		}
		q.search.wantPass()
		q.armGeneral(passDue, 1) // what the look showed
		q.search.beginPass(q.shot, q.search.estimator.newForecast(q.shot))
		due := q.timers.general[passDue-concerns]
		if due <= q.now || (due-q.now < grid.Minute) != k.soon {
			t.Errorf("%s: the next is due in %v s", name, (due - q.now).Seconds())
		}
		for i, w := range q.shot.Waiting {
			if got := q.search.passes.own.held[w.Job]; got != (i == 1) {
				t.Errorf("%s: job %d is held %t", name, i+1, got)
			}
		}
	}
}
