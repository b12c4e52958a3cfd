package torque

import (
	"slices"
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/pbs/external"
	"gbroker/plan"
	"gbroker/test/fakebatch/batch"
)

// Maui 4 and 5: expressions match whole names alone, so that nobody else's nodes are taken, and all of a node is.
func TestMaui05WholeNodes(t *testing.T) {
	t.Parallel()
	s := onStage(t, batch.Config{Nodes: []batch.Node{{Name: "n1", Cores: 2}, {Name: "n10", Cores: 2}, {Name: "xn1", Cores: 2}}})
	if _, err := s.maui.MakeReservation(t.Context(), s.reservation("a1", "n1")); err != nil {
		t.Fatal(err)
	}
	l, err := s.maui.Listing(t.Context())
	if err != nil || len(l.Reservations) != 1 {
		t.Fatalf("%+v, %v", l, err)
	}
	if b := l.Reservations[0]; len(b.Nodes) != 1 || b.Nodes[0] != "n1" || b.Cores != nil {
		t.Errorf("reserved is %+v", b)
	}
	_, err = s.maui.MakeReservation(t.Context(), s.reservation("a2", "n2"))
	kind(t, "no such node", err, grid.ErrInvalid, "n2")
	s.Node(batch.Node{Name: "n10", Down: true})
	_, err = s.maui.MakeReservation(t.Context(), s.reservation("a2", "n10"))
	kind(t, "a node that is down", err, grid.ErrInvalid, "n10 is down")
	for _, bad := range [][]grid.NodeName{nil, {"a|b"}, {"-x"}, {".*"}, {"n1", "n2", "n1"}, slices.Repeat([]grid.NodeName{"n1"}, 1000)} {
		if got, err := expression(bad); err == nil {
			t.Errorf("%.60v is %s", bad, got)
		}
	}
}

// Maui 8: only -W x=FLAGS:ADVRES: binds a job; it comes back with it.
func TestMaui08Binding(t *testing.T) {
	t.Parallel()
	s := onStage(t, batch.Config{})
	native, err := s.maui.MakeReservation(t.Context(), s.reservation("a1", "node01"))
	if err != nil {
		t.Fatal(err)
	}
	o := s.order("exit 0")
	o.Reservation = native
	if j := s.look(s.submit(s.maui, o)); j.Reservation != native || j.State != external.Queued {
		t.Errorf("bound: %+v", j)
	}
	for _, there := range []bool{true, false} {
		l, err := s.maui.Listing(t.Context())
		if err != nil || len(l.Jobs) != 1 || (l.Jobs[0].State == external.Queued) != there || strings.Contains(l.Jobs[0].Reason, "never") == there {
			t.Errorf("with its reservation there (%v): %+v, %v", there, l.Jobs, err)
		}
		if err := s.maui.EndReservation(t.Context(), native); err != nil {
			t.Fatal(err)
		}
	}
	_, err = s.maui.Submit(t.Context(), o)
	kind(t, "a reservation that is not there", err, grid.ErrInvalid, "no reservation")
	if j, _ := s.Job("1.pbs1"); !strings.HasPrefix(j.Account, "gb") || len(j.Account) != 18 {
		t.Errorf("what is bound is charged to %q", j.Account)
	}
	if args := mustQsub(t, o).Args; !slices.Contains(args, "x=FLAGS:ADVRES:"+native) {
		t.Errorf("qsub %v", args)
	}
	for text, want := range map[string]string{"FLAGS:ADVRES:a.0;QOS:hi": "a.0", "QOS:hi;FLAGS:ADVRES:a.0": "a.0", "QOS:hi": "", "": ""} {
		if got := boundTo(text); got != want {
			t.Errorf("%s binds to %q", text, got)
		}
	}
	if tr := s.maui.Traits(); tr.Slack != 90*grid.Second {
		t.Errorf("traits %+v", tr)
	}
}

// Maui 9: two pieces may come to lie on one node.
func TestMaui09PiecesOnOneNode(t *testing.T) {
	t.Parallel()
	s := onStage(t, batch.Config{})
	o := s.order("sleep 1000")
	o.Demand = grid.Demand{Chunks: []grid.Chunk{{Count: 2, Processes: 1, Cores: 1, Memory: 100 << 20}}}
	j := s.awaitState(s.submit(s.maui, o), external.Running)
	if len(j.Places) != 1 || j.Places[0].Cores != 2 || j.Places[0].Memory != 200<<20 || j.Demand.Chunks[0].Count != 2 {
		t.Errorf("it is %+v", j)
	}
}

// What Maui holds, or the server refuses, for the form of a demand is known before: the live notes, 4 and 5.
func TestMauiLive04And05Shapes(t *testing.T) {
	t.Parallel()
	unequal := grid.Demand{Chunks: []grid.Chunk{{Count: 1, Processes: 4, Cores: 4}, {Count: 1, Processes: 3, Cores: 3}}}
	five := grid.Demand{Chunks: []grid.Chunk{{Count: 5, Processes: 1, Cores: 1}}}
	for name, c := range map[string]struct {
		config batch.Config
		demand grid.Demand
		code   string // qsub's, of the demand as it is asked for
		state  external.State
		reason string
		refuse string
	}{
		"more pieces than nodes": {batch.Config{}, five, "190", 0, "", "resources_available.nodect"},
		"raised":                 {batch.Config{NodeCount: 100}, five, "", external.Running, "", ""},
		"raised and exact":       {batch.Config{NodeCount: 100, ExactNodes: true}, five, "", external.Held, "Deferred: state 'Deferred'", "EXACTNODE"},
		"unequal":                {batch.Config{}, unequal, "", external.Held, "BatchHold: active", "ENABLEMULTIREQJOBS"},
		"unequal where it may":   {batch.Config{MultiReq: true}, unequal, "", external.Running, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := onStage(t, c.config)
			s.t = t
			l, err := s.maui.Listing(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			shot := plan.Snapshot{Nodes: l.Nodes, Shapes: l.Shapes}
			if r := plan.Refuse(shot, plan.Question{Demand: c.demand, Limit: grid.Minute}); (r == nil) != (c.refuse == "") || r != nil && !strings.Contains(r.Reason, c.refuse) {
				t.Errorf("the plan refuses it: %+v", r)
			}
			o := s.order("sleep 1000")
			o.Demand = c.demand
			id, err := s.maui.Submit(t.Context(), o)
			if c.code != "" {
				kind(t, "submitting", err, grid.ErrInvalid, c.code)
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			j := s.Await(string(id), func(j batch.Job) bool { return j.State == batch.Running || j.Blocked != "" })
			if l, err = s.maui.Listing(t.Context()); err != nil || len(l.Jobs) != 1 || l.Jobs[0].State != c.state || !strings.Contains(l.Jobs[0].Reason, c.reason) {
				t.Errorf("%c %s is listed as %+v, %v", j.State, j.Blocked, l.Jobs, err)
			}
		})
	}
}
