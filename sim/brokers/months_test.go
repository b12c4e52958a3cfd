package brokers

import (
	"testing"

	"gbroker/grid"
)

// A log may be of months: brokers go on when the days are over for which a daemon keeps what has ended.
func TestALogOfMonths(t *testing.T) {
	t.Parallel()
	w := threeJobs(Core)
	for day := range grid.Tick(100) {
		next := w.Jobs[2]
		next.Arrival = (day + 1) * grid.Day
		w.Jobs = append(w.Jobs, next)
	}
	r, err := Run(w, nil, nil)
	if err != nil || r.Done != 103 {
		t.Errorf("%d of 103 jobs ended: %v", r.Done, err)
	}
}
