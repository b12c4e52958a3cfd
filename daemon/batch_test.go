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
	down  string // why polls fail, while the last listing is still told
}

func (s *glance) Snapshot(context.Context) (plan.Snapshot, error) {
	shot := s.shot
	shot.Nodes = s.nodes
	return shot, s.err
}

func (s *glance) Poll() { s.polls++ }

func (s *glance) Trouble() string { return s.down }

// What the batch system shows is the site; while it shows nothing there is an alarm that says what to mend.
func TestTheBatchSystemIsFollowed(t *testing.T) {
	t.Parallel()
	batch := &glance{err: errors.New("sinfo: nobody answers")}
	s := &site{
		cfg: Default("/site"), log: zap.NewNop(), batch: batch, facts: grid.Site{Name: "a"},
		broker: broker.NewBroker(core.Config{}, nil, broker.Ports{Log: zap.NewNop()}),
	}
	s.meter = newMeter(s)
	if s.see(t.Context(), false); s.alarm() != "" {
		t.Errorf("one poll that failed is an alarm: %s", s.alarm())
	}
	if s.see(t.Context(), true); !strings.Contains(s.alarm(), "sinfo: nobody answers") || !strings.Contains(s.alarm(), "gbroker doctor --config /site/gbroker.yaml") {
		t.Errorf("the alarm is %q", s.alarm())
	}
	batch.err, batch.nodes = nil, []plan.Node{{Cores: 3}, {Cores: 4, Down: true}}
	if !s.see(t.Context(), true) || s.alarm() != "" || s.facts.Processes != 7 {
		t.Errorf("seen again, the alarm is %q, the site %+v", s.alarm(), s.facts)
	}
	batch.down = "scontrol: nobody answers"
	if s.see(t.Context(), true) || !strings.Contains(s.alarm(), "scontrol: nobody answers") {
		t.Errorf("polls fail, the last listing is told still, and the alarm is %q", s.alarm())
	}
	batch.down = ""
	if !s.see(t.Context(), true) || s.alarm() != "" {
		t.Errorf("polled again, the alarm is %q", s.alarm())
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
		if !s.see(t.Context(), true) || !strings.Contains(s.alarm(), stood.says) || stood.says == "" && s.alarm() != "" {
			t.Errorf("of %+v the alarm is %q", stood.shot, s.alarm())
		}
	}
	if s.notify(); batch.polls != 1 {
		t.Errorf("polled %d times", batch.polls)
	}
}
