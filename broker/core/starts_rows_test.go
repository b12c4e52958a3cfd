package core

import (
	"testing"

	"gbroker/grid"
)

// The row of a site that was not asked has the least that it told, also where nothing else is known; that of one which is refused for another reason has nothing.
func TestRowsOfWhoWasNotAsked(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*search, *job)
		told   bool
	}{
		"told":              {func(*search, *job) {}, true},
		"the least is told": {func(_ *search, j *job) { j.rec.Job.Demand.Chunks[0].Memory = 1 }, true},
		"it has refused it": {func(m *search, j *job) { j.blocked[her] = m.now + grid.Hour }, false},
	} {
		_, m, j := telling(t, grid.Hour, 0)
		if j.blocked == nil {
			j.blocked = map[grid.PeerID]grid.Tick{}
		}
		test.change(m, j)
		r := m.round
		r.replies[m.cfg.Self].answers = []grid.Estimate{{}}
		_, most := m.foretell(r)
		for p, a := range most {
			r.replies[p] = a
		}
		for _, row := range m.candidates(j, r, 0) {
			if row.Peer != her {
				continue
			}
			if row.Told != test.told || (row.Least > grid.Hour/2 && row.Run > 0) != test.told {
				t.Errorf("%s: %+v, refused for %v", name, row, row.Refusal)
			}
		}
	}
}

// What a site told is good for one job of a round: for the next it is asked.
func TestWhatWasToldIsForOneJob(t *testing.T) {
	t.Parallel()
	_, m, j := telling(t, 3*grid.Hour, 10*grid.Second)
	other := *j
	other.rec.Job.ID = grid.NewJobID("a", "00000000000000000000000002")
	m.jobs[other.rec.Job.ID] = &other
	r := m.round
	r.jobs = append(r.jobs, other.rec.Job.ID)
	r.replies[m.cfg.Self].answers = []grid.Estimate{{Wait: 2 * grid.Hour}, {Wait: 2 * grid.Hour}}
	m.askWhoCould(r)
	if r.replies[him].told || !r.replies[her].told {
		t.Errorf("c answers by what it told %t, b %t", r.replies[him].told, r.replies[her].told)
	}
}
