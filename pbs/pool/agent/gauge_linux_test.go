package agent

import (
	"errors"
	"testing"
	"time"
)

// The speed is measured when nobody needs the computer, and never else.
func TestWhenTheSpeedIsMeasured(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		sight Sight
		jobs  map[string]*job
		want  bool
	}{
		"idle":            {Sight{Idle: 1}, nil, true},
		"a job is here":   {Sight{Idle: 1}, map[string]*job{"t": {}}, false},
		"owner at work":   {Sight{Idle: 1, Active: true}, nil, false},
		"not its hours":   {Sight{Idle: 1, Barred: errors.New("its owner gives the hours from 18 to 8")}, nil, false},
		"on battery":      {Sight{Idle: 1, Battery: true}, nil, false},
		"others' program": {Sight{Idle: 0.6}, nil, false},
	} {
		a := &Agent{jobs: test.jobs, owner: newWatcher(owners(func(time.Time) Sight { return test.sight }))}
		if a.unneeded() != test.want {
			t.Errorf("%s: it is to be measured: %v", name, !test.want)
		}
	}
}
