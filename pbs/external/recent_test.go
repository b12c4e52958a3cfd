package external

import (
	"testing"
	"time"

	"gbroker/grid"
)

// others starts a job of somebody else on all cores, behind our back.
func (b *bench) others() {
	b.far.set(func() {
		b.far.next++
		b.far.jobs = append(b.far.jobs, &Job{Local: grid.LocalID("full"), User: "other", State: Running, Limit: grid.Hour,
			Places: []Place{{Node: "n1", Cores: 4}, {Node: "n2", Cores: 4}}})
	})
}

func (b *bench) polls() (n int) {
	b.far.set(func() { n = b.far.listings })
	return n
}

// Idle nodes are believed for a moment only: others submit too. It costs a poll in a fifth of the regular interval, and
// none while the nodes are full.
func TestIdleNodesAreLookedAtAnew(t *testing.T) {
	inBubble(t, func(b *bench) {
		refresh := b.poller.refresh
		b.later(time.Second)
		if s, err := b.Snapshot(b.Context()); err != nil || len(s.Running) != 0 {
			t.Fatalf("%+v, %v", s.Running, err)
		}
		b.others()
		b.later(refresh / recently)
		b.later(time.Millisecond)
		if s, err := b.Snapshot(b.Context()); err != nil || len(s.Running) != 1 {
			t.Errorf("the nodes are full, and told is %+v, %v", s.Running, err)
		}
		before := b.polls()
		for range 100 { // full, however often it is asked for
			b.later(refresh / 1000)
			if _, err := b.Snapshot(b.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if n := b.polls() - before; n > 0 {
			t.Errorf("%d polls while no job could start", n)
		}
		b.far.set(func() { b.far.jobs = nil })
		b.later(refresh + refresh/2)
		before = b.polls()
		for range 1000 { // idle: one each fifth of the interval
			b.later(refresh / 1000)
			if _, err := b.Snapshot(b.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if n := b.polls() - before; n < 3 || n > recently+2 {
			t.Errorf("%d polls in an interval while asked all the time", n)
		}
		b.far.set(func() { b.far.slow = time.Minute })
		b.later(refresh / 4)
		asked := time.Now()
		if _, err := b.Snapshot(b.Context()); err != nil || time.Since(asked) > aMoment {
			t.Errorf("a slow system makes who asks wait %v, %v", time.Since(asked), err)
		}
		b.far.set(func() { b.far.slow = 0 })
		b.later(2 * time.Minute) // what was begun ends
	})
}
