package daemon

import (
	"context"
	"errors"
	"strings"
	"testing"

	"go.uber.org/zap"

	"gbroker/broker"
	"gbroker/broker/core"
	"gbroker/grid"
	"gbroker/pbs"
	"gbroker/plan"
)

// glance is a batch system that is only looked at.
type glance struct {
	pbs.System
	nodes []plan.Node
	shot  plan.Snapshot // the rest of what is held
	err   error
	polls int
	down  error // why polls fail, while the last listing is still told
}

func (s *glance) Snapshot(context.Context) (plan.Snapshot, error) {
	shot := s.shot
	shot.Nodes = s.nodes
	return shot, s.err
}

func (s *glance) Poll() { s.polls++ }

func (s *glance) Trouble() error { return s.down }

// What the batch system shows is the site; while it shows nothing there is an alarm that says what to mend.
func TestTheBatchSystemIsFollowed(t *testing.T) {
	t.Parallel()
	batch := &glance{err: errors.New("sinfo: nobody answers")}
	s := &site{
		cfg: Default("/site"), log: zap.NewNop(), batch: batch, facts: grid.Site{Name: "a"},
		broker: broker.NewBroker(core.Config{}, nil, broker.Ports{Log: zap.NewNop()}),
	}
	s.meter = newMeter(s)
	alarm := func() string { return strings.Join(s.alarms(), "; ") }
	if s.see(t.Context(), false); alarm() != "" {
		t.Errorf("one poll that failed is an alarm: %s", alarm())
	}
	if s.see(t.Context(), true); !strings.Contains(alarm(), "sinfo: nobody answers") || !strings.Contains(alarm(), "gbroker doctor --config /site/gbroker.yaml") {
		t.Errorf("the alarm is %q", alarm())
	}
	batch.err, batch.nodes = nil, []plan.Node{{Cores: 3}, {Cores: 4, Down: true}}
	if !s.see(t.Context(), true) || alarm() != "" || s.facts.Processes != 7 {
		t.Errorf("seen again, the alarm is %q, the site %+v", alarm(), s.facts)
	}
	batch.down = errors.New("scontrol: nobody answers")
	if s.see(t.Context(), true) || !strings.Contains(alarm(), "scontrol: nobody answers") {
		t.Errorf("polls fail, the last listing is told still, and the alarm is %q", alarm())
	}
	batch.down = nil
	if !s.see(t.Context(), true) || alarm() != "" {
		t.Errorf("polled again, the alarm is %q", alarm())
	}
	for _, stood := range []struct {
		shot plan.Snapshot
		says string
	}{
		{plan.Snapshot{Stopped: true, Why: "scheduling is False"}, "starts no jobs, so that none is estimated or sent here: scheduling is False"},
		{plan.Snapshot{Default: "q", Queues: []plan.Queue{{Name: "q", Stopped: true, Why: "it is not started"}}}, "queue q, which jobs get that name none, is closed: it is not started"},
		{plan.Snapshot{Default: "q", Queues: []plan.Queue{{Name: "q"}, {Name: "r", Closed: true}}}, ""},
		{plan.Snapshot{Unusable: []string{"queue fresh: odd", "and 2 more"}}, "left out: queue fresh: odd, and 2 more"},
	} {
		batch.shot = stood.shot
		if !s.see(t.Context(), true) || !strings.Contains(alarm(), stood.says) || stood.says == "" && alarm() != "" {
			t.Errorf("of %+v the alarm is %q", stood.shot, alarm())
		}
	}
	if s.notify(); batch.polls != 1 {
		t.Errorf("polled %d times", batch.polls)
	}
}
