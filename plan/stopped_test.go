package plan

import (
	"strings"
	"testing"

	"gbroker/grid"
)

// Where nothing is started, or nothing of one queue, there is no start to be told, with the
// reason; what can never run is refused for good all the same.
func TestNothingIsStarted(t *testing.T) {
	t.Parallel()
	one := grid.Demand{Chunks: []grid.Chunk{{Count: 1, Processes: 1, Cores: 1}}}
	nine := grid.Demand{Chunks: []grid.Chunk{{Count: 1, Processes: 1, Cores: 9}}}
	for what, c := range map[string]struct {
		queue   Queue
		stopped bool
		asks    string // the reason why one more job has no start
		waits   bool   // the one that waits has none
		none    bool   // nor one of another queue
	}{
		"open":    {queue: Queue{Name: "q"}},
		"stopped": {queue: Queue{Name: "q", Stopped: true, Why: "not started"}, asks: "its queue q is closed now: not started", waits: true},
		"closed":  {queue: Queue{Name: "q", Closed: true, Why: "not enabled"}, asks: "its queue q is closed now: not enabled"},
		"site":    {queue: Queue{Name: "q"}, stopped: true, asks: "it starts no jobs now: scheduling is off", waits: true, none: true},
	} {
		s := Snapshot{
			At: 1000, Nodes: []Node{{Name: "n", Cores: 4}}, Queues: []Queue{c.queue, {Name: "r"}}, Default: "q",
			Stopped: c.stopped, Why: "scheduling is off",
			Waiting: []Waiting{{Job: "a/j", Demand: one, Queue: "q", Limit: grid.Minute}},
		}
		for _, p := range []*Plan{Build(s), Likely(s, runsBy(&s, func(Trait, grid.Tick) grid.Tick { return grid.Second }))} {
			_, r := p.Ask(Question{Demand: one, Limit: grid.Minute, NotBefore: 1000})
			if (r != nil) != (c.asks != "") || r != nil && (!strings.Contains(r.Reason, c.asks) || r.Kind != grid.Temporary) {
				t.Errorf("%s: one more job is refused by %+v", what, r)
			}
			if _, ok := p.Start("a/j"); ok == c.waits {
				t.Errorf("%s: the job that waits starts: %v", what, ok)
			}
			if _, r := p.Ask(Question{Demand: one, Queue: "r", Limit: grid.Minute, NotBefore: 1000}); (r != nil) != c.none {
				t.Errorf("%s: in another queue: %+v", what, r)
			}
			if _, r := p.Ask(Question{Demand: nine, Limit: grid.Minute, NotBefore: 1000}); r == nil || r.Kind != grid.Permanent {
				t.Errorf("%s: what can never run is refused by %+v", what, r)
			}
		}
		if r := Refuse(s, Question{Demand: one, Limit: grid.Minute}); r != nil {
			t.Errorf("%s: it can never run: %+v", what, r)
		}
	}
	s := Snapshot{Nodes: []Node{{Name: "n", Cores: 4}}, Queues: []Queue{{Name: "q", Limit: grid.Minute}}, Default: "q"}
	if r := Refuse(s, Question{Demand: one, Limit: grid.Hour}); r == nil {
		t.Error("the limit of the default queue does not count")
	}
}

// That nodes come and go, and none is there, passes, whatever there is to say of it; a site without any is refused for good.
func TestNoNodesNow(t *testing.T) {
	t.Parallel()
	one := grid.Demand{Chunks: []grid.Chunk{{Count: 1, Processes: 1, Cores: 1}}}
	for of, want := range map[Shapes]grid.RefusalKind{
		{Changing: true}:               grid.Temporary,
		{Changing: true, None: "none"}: grid.Temporary,
		{None: "none"}:                 grid.Permanent,
		{}:                             grid.Permanent,
	} {
		if r := Refuse(Snapshot{Shapes: of}, Question{Demand: one, Limit: grid.Minute}); r == nil || r.Kind != want {
			t.Errorf("without nodes, %+v: refused by %+v", of, r)
		}
	}
}
