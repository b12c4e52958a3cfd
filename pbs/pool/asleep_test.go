package pool

import (
	"strings"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/pbs/pool/line"
	"gbroker/plan"
)

// Where no computer takes jobs now a pool promises no start at once, and says why it is not sure, of what is asked and of what waits.
func TestAsleep(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		sleeps func(*computer)
		least  grid.Tick // until the start that is told
		says   string
	}{
		{"awake", func(*computer) {}, 0, ""},
		{"paused", func(c *computer) {
			c.status.Availability, c.since = line.Paused, time.Now().Add(-2*time.Hour)
		}, 2 * grid.Hour, "paused by its owner now; 0 of the pool's 1 take jobs"},
		{"paused a moment ago", func(c *computer) { c.status.Availability, c.since = line.Paused, time.Now() }, 30 * grid.Second, "paused by its owner"},
		{"not heard", func(c *computer) { c.seen = time.Now().Add(-time.Hour) }, grid.Hour, "not heard now"},
		{"no session", func(c *computer) { c.session = "" }, 30 * grid.Second, "not heard now"},
		{"at work", func(c *computer) { c.status.Availability = line.Active }, 0, "in use by its owner"},
		{"closed", func(c *computer) { c.status.Availability = line.Barred }, 0, "closed by its owner's rules"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := quiet(t, grid.Site{Speed: 1}, map[string]line.Computer{"a": {Speed: 1, Dedicated: true}})
			c.sleeps(s.computers["a"])
			r := record{Demand: single, Walltime: grid.Minute}
			r.Assignment = line.Assignment{Job: "p.1", Number: 1, Limit: int64(grid.Minute)}
			s.queue = []*entry{newEntry(r)}
			f, now := s.foresight(t)
			waits, _ := f.Waiting(0)
			asked, refusal := f.Ask(plan.Question{Demand: single, Limit: grid.Minute, NotBefore: now})
			if refusal != nil {
				t.Fatal(refusal)
			}
			for _, stay := range []plan.Stay{waits, asked} {
				if stay.Start < now+c.least || (stay.Doubt == "") != (c.says == "") || !strings.Contains(stay.Doubt, c.says) {
					t.Errorf("it starts in %v: %q", (stay.Start - now).Duration(), stay.Doubt)
				}
			}
			shot, err := s.Snapshot(t.Context())
			if err != nil || shot.Nodes[0].Down != (c.says != "") || !strings.Contains(c.says, shot.Nodes[0].Why) {
				t.Errorf("%+v, %v", shot.Nodes[0], err)
			}
		})
	}
}

// A program begins when its owner's hours let it, however long its computer has been free.
func TestStartsWhenTheOwnerLetsIt(t *testing.T) {
	t.Parallel()
	hour := uint32(time.Now().UTC().Hour())
	s := quiet(t, grid.Site{Speed: 1}, map[string]line.Computer{"a": {Speed: 1, Policy: line.Policy{Hours: 1 << ((hour + 3) % 24)}}})
	s.computers["a"].status.Availability = line.Barred
	f, now := s.foresight(t)
	stay, refusal := f.Ask(plan.Question{Demand: single, Limit: grid.Minute, NotBefore: now})
	if wait := stay.Start - now; refusal != nil || wait < grid.Hour || wait > 4*grid.Hour || stay.End <= stay.Start || stay.Doubt == "" {
		t.Errorf("it starts in %v: %+v, %v", wait.Duration(), stay, refusal)
	}
}
