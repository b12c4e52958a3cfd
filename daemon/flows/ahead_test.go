package flows

import (
	"sync/atomic"
	"testing"
	"time"

	"gbroker/api"
	"gbroker/grid"
)

// The clock is a century ahead at a start: the periods since are missed, and who asks does not wait for their being counted.
func TestClockIsFarAhead(t *testing.T) {
	t.Parallel()
	var off atomic.Int64
	set := func(c *Config) {
		c.Now = func() grid.Tick { return grid.InstantOf(time.Now()) + grid.Tick(off.Load()) }
	}
	folder, b := t.TempDir(), newBroker()
	s := api.FlowSubmission{Key: "k", Name: "often", Tasks: []api.FlowTask{made("top", "", "left")}, Periodic: &api.FlowPeriodic{Rate: 10, PerS: 1}}
	s.Tasks[0].RuntimeS = 0.01
	k, stop := keeperWith(t, folder, b, set)
	id := begin(t, k, s)
	until := func(what string, is func(*api.FlowPeriods) bool) {
		t.Helper()
		within(t, 5*time.Second, what, func() {
			for {
				if f, err := k.Flow(t.Context(), bob, id); err != nil || is(f.Periods) {
					return
				}
				time.Sleep(time.Millisecond) //house:allow sleep: what a keeper does is seen by looking
			}
		})
	}
	until("the first instance", func(p *api.FlowPeriods) bool { return p.Begun > 0 })
	stop()
	const century = 100 * 365 * 24 * time.Hour
	off.Store(century.Milliseconds())
	k, stop = keeperWith(t, folder, b, set)
	defer stop()
	until("what is missed", func(p *api.FlowPeriods) bool { return p.Missed > int(century/(101*time.Millisecond)) })
}
