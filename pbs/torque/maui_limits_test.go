package torque

import (
	"strings"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/pbs/command"
	"gbroker/pbs/external"
	"gbroker/plan"
	"gbroker/test/fakebatch/batch"
)

// A limit of Maui's that a job meets is learned: the job waits for others of its user, and so will the next.
func TestMauiLimitsAreLearned(t *testing.T) {
	t.Parallel()
	r := read(t, "testdata", "20-policies-and-outages/54-maxjob-showq-b")
	why, err := parseBlocked(r.command, r.stdout)
	if err != nil || len(why) != 1 {
		t.Fatalf("%v, %v", why, err)
	}
	var m Maui
	now := time.Now()
	for text, is := range map[string]bool{why["583"]: true, "violates active HARD MAXPROC limit of 6 for class batch (R: 4, U: 4)": true, "state 'Deferred'": false, "active": false} {
		if m.meet(text, now) != is {
			t.Errorf("%q is a limit: %v", text, !is)
		}
	}
	place := []external.Place{{Node: "n1", Cores: 1}}
	l := external.Listing{
		Queues: []plan.Queue{{Name: "batch"}, {Name: "short"}},
		Jobs:   []external.Job{{User: "alice", Queue: "short", State: external.Running, Places: place}, {User: "alice", Queue: "batch", State: external.Queued}, {User: "bob", Queue: "short"}},
	}
	m.limits.Put(&l, now.Add(time.Minute))
	if len(l.Caps) != 2 || len(l.Jobs[0].Caps) != 1 || len(l.Jobs[1].Caps) != 2 || l.Jobs[2].Caps != nil || len(l.Queues[0].Ours) != 1 || l.Queues[1].Ours != nil || l.Ours != nil {
		t.Errorf("the listing is %+v", l)
	}
	if c := l.Caps[l.Jobs[0].Caps[0]]; c.Most != 2 || c.Cores || c.All || c.Why != "Maui's MAXJOB of user alice" {
		t.Errorf("alice's limit is %+v", c)
	}
	if c := l.Caps[l.Queues[0].Ours[0]]; c.Most != 6 || !c.Cores || !c.All {
		t.Errorf("the limit of the class is %+v", c)
	}
}

// Maui 10: a server that is down is no empty queue, and reserves nothing; Maui down is no empty queue either.
func TestMaui10ServerDown(t *testing.T) {
	t.Parallel()
	s := onStage(t, batch.Config{})
	s.submit(s.maui, s.order("sleep 1000"))
	s.Down()
	if a := s.Run("alice", "", "showq"); a.Exit != 0 || !strings.Contains(a.Stdout, "Total Jobs: 0") {
		t.Fatalf("showq while the server is down: %+v", a)
	}
	_, err := s.maui.Listing(t.Context())
	kind(t, "listing", err, grid.ErrUnavailable, "111")
	_, err = s.maui.MakeReservation(t.Context(), s.reservation("a1", "node01"))
	kind(t, "reserving", err, grid.ErrUnavailable)
	_, err = s.maui.Submit(t.Context(), s.order("exit 0"))
	kind(t, "submitting", err, grid.ErrUnavailable, "111")
	s.Up()
	if list := s.reservations(); len(list) != 0 {
		t.Errorf("there are %+v", list)
	}
	s.Set(batch.Faults{NoScheduler: true})
	if l, err := s.maui.Listing(t.Context()); err != nil || !l.Stopped || len(l.Jobs) != 1 || l.Jobs[0].State != external.Running {
		t.Errorf("while Maui does not run: %+v, %v", l, err)
	}
	_, err = s.maui.MakeReservation(t.Context(), s.reservation("a1", "node01"))
	kind(t, "reserving", err, grid.ErrUnavailable, "server may not be running")
	s.Healthy()
	if l, err := s.maui.Listing(t.Context()); err != nil || len(l.Jobs) != 1 || l.Stopped {
		t.Errorf("%+v, %v", l, err)
	}
}

// Whole nodes are asked for by their size, and pieces share one where they fit.
func TestWholeNodes(t *testing.T) {
	t.Parallel()
	nodes := []plan.Node{{Cores: 4}, {Cores: 8, Properties: []string{"big"}}}
	for _, c := range []struct {
		chunk      grid.Chunk
		properties []string
		want       string
	}{
		{grid.Chunk{Count: 1, Processes: 1, Cores: 1}, nil, "1:ppn=8"},
		{grid.Chunk{Count: 9, Processes: 1, Cores: 1, Memory: 1 << 10}, []string{"big"}, "2:ppn=8:big 16kb"},
		{grid.Chunk{Count: 3, Processes: 3, Cores: 3}, nil, "2:ppn=8"},
		{grid.Chunk{Count: 1, Processes: 9, Cores: 9}, nil, "1:ppn=9"},
		{grid.Chunk{Count: 2, Processes: 1, Cores: 4, Resources: []grid.Resource{{Name: gpu, Amount: 1}}}, nil, "1:ppn=8:gpus=2"},
	} {
		d := whole(grid.Demand{Chunks: []grid.Chunk{c.chunk}, Properties: c.properties, Exclusive: true}, nodes)
		got, mem, err := asks(d)
		if got = strings.TrimSpace(got + " " + mem); err != nil || got != c.want {
			t.Errorf("%+v asks for %s, %v; not for %s", c.chunk, got, err, c.want)
		}
	}
}

// The queue is in Maui's order; what it does not consider is held.
func TestMauiOrdersTheQueue(t *testing.T) {
	t.Parallel()
	job := func(id grid.LocalID, s external.State) external.Job { return external.Job{Local: id, State: s} }
	list := []external.Job{job("1.p", external.Queued), job("2.p", external.Queued), job("3.p", external.Queued), job("4.p", external.Queued), job("5.p", external.Running)}
	arrange(list, map[string]place{"3": {rank: 0}, "2": {rank: 1}, "1": {rank: 2, blocked: "Deferred"}, "77": {rank: 3}})
	got := ""
	for _, j := range list {
		got += string(j.Local) + states[j.State] + " "
	}
	if want := "3.pqueued 2.pqueued 1.pheld 4.pqueued 5.prunning "; got != want {
		t.Errorf("the queue is %s", got)
	}
	if !strings.Contains(list[2].Reason, "Deferred") {
		t.Errorf("the reason is %q", list[2].Reason)
	}
}

// Maui may count more jobs than it prints; a row that it does not count is a list that is not whole.
func TestMauiCountsMoreThanItPrints(t *testing.T) {
	t.Parallel()
	const head = "ACTIVE JOBS---\nIDLE JOBS---\n7 alice Idle 1 00:10:00 Sun Nov 22 05:19:02\nBLOCKED JOBS---\n"
	for totals, good := range map[string]bool{
		"Total Jobs: 1   Active Jobs: 0   Idle Jobs: 1   Blocked Jobs: 0": true,
		"Total Jobs: 4   Active Jobs: 1   Idle Jobs: 2   Blocked Jobs: 1": true,
		"Total Jobs: 1   Active Jobs: 1   Idle Jobs: 0   Blocked Jobs: 0": false,
		"Total Jobs: 0   Active Jobs: 0   Idle Jobs: 1   Blocked Jobs: 0": false,
		"Total Jobs: 1   Active Jobs: 0   Idle Jobs: 1":                   false,
	} {
		if order, err := parseQueue("showq", []byte(head+totals+"\n")); (err == nil) != good || good && len(order) != 1 {
			t.Errorf("%s: %v, %v", totals, order, err)
		}
	}
}

// Maui 11: no XML is asked for. The policy is read of showconfig; where that is not shown it is the configured one.
func TestMaui11Policies(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"BACKFILLPOLICY[0] FIRSTFIT\nRESERVATIONPOLICY[0] CURRENTHIGHEST\nRESDEPTH[0] 10\nRESDEPTH 24\n": "easy:10",
		"BACKFILLPOLICY[0] BESTFIT\nRESERVATIONPOLICY[0] HIGHEST\n":                                      "easy",
		"BACKFILLPOLICY[0] FIRSTFIT\nRESERVATIONPOLICY[0] NEVER\n":                                       "firstfit",
		"BACKFILLPOLICY[0] FIRSTFIT\nRESERVATIONPOLICY[0] HIGHEST\nRESERVATIONDEPTH[0] 0\n":              "firstfit",
		"BACKFILLPOLICY[0] NONE\nRESERVATIONPOLICY[0] CURRENTHIGHEST\n":                                  "fcfs",
		"BACKFILLPOLICY[0] OTHER\nRESERVATIONPOLICY[0] HIGHEST\n":                                        "",
		"BACKFILLPOLICY[0] NONE\nRESERVATIONPOLICY[0] OTHER\n":                                           "",
		"RESERVATIONPOLICY[0] HIGHEST\n":                                                                 "", "": "",
		"BACKFILLPOLICY[0] FIRSTFIT\nRESERVATIONPOLICY[0] HIGHEST\nRESDEPTH[0] many\n": "",
	} {
		c, err := parseConfig("showconfig", []byte(text))
		if (err != nil) != (want == "") || err == nil && c.policy.String() != want {
			t.Errorf("%q is %s, %v", text, c.policy, err)
		}
	}
	s := onStage(t, batch.Config{})
	s.Refuse("showconfig", 1, "ERROR:    'showconfig' failed\nERROR:    user 'x' is not authorized to execute command 'showconfig'\n", 1)
	m := NewMaui(Config{Runner: command.Runner{Folders: []string{s.Bin}, Limit: time.Minute}, Policy: plan.Policy{Kind: plan.ConsRebuild}})
	for _, want := range []plan.Kind{plan.ConsRebuild, plan.EASY} {
		if l, err := m.Listing(t.Context()); err != nil || l.Policy.Kind != want {
			t.Errorf("the policy is %s, %v", l.Policy, err)
		}
	}
}

// Maui 12: a poll is a few commands, however much there is.
func TestMaui12FewCommands(t *testing.T) {
	t.Parallel()
	s := onStage(t, batch.Config{})
	if _, err := s.maui.MakeReservation(t.Context(), s.reservation("a1", "node01")); err != nil {
		t.Fatal(err)
	}
	before := s.Calls()
	if _, err := s.maui.Listing(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := s.Calls() - before; n != 8 {
		t.Errorf("a poll is %d commands", n)
	}
}
