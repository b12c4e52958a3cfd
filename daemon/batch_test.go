package daemon

import (
	"context"
	"errors"
	"strings"
	"testing"

	"go.uber.org/zap"

	"gbroker/broker"
	"gbroker/grid"
	"gbroker/pbs"
	"gbroker/plan"
)

// glance is a batch system that is only looked at.
type glance struct {
	pbs.System
	nodes []plan.Node
	err   error
	polls int
}

func (s *glance) Snapshot(context.Context) (plan.Snapshot, error) {
	return plan.Snapshot{Nodes: s.nodes}, s.err
}

func (s *glance) Poll() { s.polls++ }

// What the batch system shows is the site; while it shows nothing there is an alarm that says what to mend.
func TestTheBatchSystemIsFollowed(t *testing.T) {
	t.Parallel()
	batch := &glance{err: errors.New("sinfo: nobody answers")}
	s := &site{
		cfg: Default("/site"), log: zap.NewNop(), batch: batch, facts: grid.Site{Name: "a"},
		broker: broker.NewBroker(broker.Config{}, nil, broker.Ports{Log: zap.NewNop()}),
	}
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
	if s.notify(); batch.polls != 1 {
		t.Errorf("polled %d times", batch.polls)
	}
}
