package torque

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/pbs/command"
	"gbroker/pbs/external"
	"gbroker/plan"
	"gbroker/test/fakebatch/batch"
)

// reservation is an hour on nodes, from an hour on.
func (s stage) reservation(id string, nodes ...grid.NodeName) external.Reservation {
	start := s.maui.instant()/grid.Second*grid.Second + grid.Hour
	return external.Reservation{ID: id, Nodes: nodes, Start: start, End: start + grid.Hour, User: "alice"}
}

func (s stage) reservations() []external.Reservation {
	s.t.Helper()
	list, err := s.maui.Reservations(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return list
}

// TORQUE alone is no Reserver: nothing is reserved by it, and no job bound.
func TestTorqueAloneHasNoReservations(t *testing.T) {
	t.Parallel()
	if _, is := external.Client(New(Config{})).(external.Reserver); is {
		t.Error("TORQUE without Maui reserves")
	}
	s := onStage(t, batch.Config{NoReservations: true})
	o := s.order("exit 0")
	o.Reservation = "gbroker.x.0"
	_, err := s.client.Submit(t.Context(), o)
	kind(t, "a reservation", err, grid.ErrInvalid, "without Maui has no reservations")
	o.Reservation, o.Script = "", []byte("#!/bin/sh\nsleep 1000\n")
	o.Demand.Exclusive = true
	if j := s.awaitState(s.submit(s.client, o), external.Running); len(j.Places) != 1 || j.Places[0].Cores != 4 {
		t.Errorf("a whole node is %+v", j.Places)
	}
	if l, err := s.maui.Listing(t.Context()); err != nil || !l.Stopped || len(l.Jobs) != 1 || !strings.Contains(l.Why, "server may not be running") {
		t.Errorf("no Maui where one should be: %+v, %v", l, err)
	}
	if l, err := s.client.Listing(t.Context()); err != nil || len(l.Nodes) != 2 || l.Reservations != nil {
		t.Errorf("TORQUE alone: %+v, %v", l, err)
	}
}

// Maui 1: MM:SS would be hours and minutes, so no span is written so.
func TestMaui01Spans(t *testing.T) {
	t.Parallel()
	for at, want := range map[grid.Tick]string{0: "0:00:00", 1: "0:00:01", 30 * grid.Minute: "0:30:00", 90*grid.Minute - 500: "1:30:00", 100*grid.Hour + 1001: "100:00:02"} {
		if got := clock(at); got != want {
			t.Errorf("%d ms are %s", at, got)
		}
	}
	for text, want := range map[string]grid.Tick{"00:10:02": 602, "-00:00:11": -11, "1:06:00:00": 108000, "5:00:01": 18001, "INFINITY": maxSpan / grid.Second} {
		if got, err := mauiSpan(text); err != nil || got != want*grid.Second {
			t.Errorf("%s is %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"30:00", "3600", "", "-", "x", "--1:00:00"} {
		if got, err := mauiSpan(text); err == nil {
			t.Errorf("%q is %d", text, got)
		}
	}
	m := NewMaui(Config{})
	m.now = func() time.Time { return time.UnixMilli(1_795_216_000_400) }
	args, err := m.setres(external.Reservation{ID: "x7", Nodes: []grid.NodeName{"node01", "node02.site"}, Start: 1_795_216_090_000, End: 1_795_217_890_000, User: "alice"}, "gbx")
	if want := "-a gbx -n gbroker.x7 -s 23:08:10_11/20/26 -d 0:30:00 ^(node01|node02[.]site)$"; err != nil || strings.Join(args, " ") != want {
		t.Errorf("setres %v, %v", args, err)
	}
}

// Maui 2: releaseres always ends with 0; its words decide. What is not there is released.
func TestMaui02Releases(t *testing.T) {
	t.Parallel()
	s := onStage(t, batch.Config{})
	native, err := s.maui.MakeReservation(t.Context(), s.reservation("a1", "node01"))
	if err != nil || native != "gbroker.a1.0" {
		t.Fatalf("%s, %v", native, err)
	}
	for range 2 {
		if err := s.maui.EndReservation(t.Context(), native); err != nil {
			t.Errorf("releasing: %v", err)
		}
	}
	if list := s.reservations(); len(list) != 0 {
		t.Errorf("there are %+v", list)
	}
	kind(t, "an option", s.maui.EndReservation(t.Context(), "-h"), grid.ErrInvalid)
	for _, said := range []string{"", "\n\nreleased User reservation 'b.0'\n", "\n\nERROR:    something else\n"} {
		if _, err := parseReleased("a.0")("", []byte(said)); !errors.Is(err, grid.ErrUnavailable) {
			t.Errorf("%q: %v", said, err)
		}
	}
}

// Maui 3: the identifier is Maui's, a second one of a name is another; times are those asked for, to seconds.
func TestMaui03Identifiers(t *testing.T) {
	t.Parallel()
	s := onStage(t, batch.Config{})
	b := s.reservation("a1", "node01", "node02")
	if _, err := s.maui.MakeReservation(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	list := s.reservations()
	if len(list) != 1 || list[0].ID != "a1" || list[0].Native != "gbroker.a1.0" || !slices.Equal(list[0].Nodes, b.Nodes) || list[0].Cores != nil {
		t.Fatalf("there are %+v", list)
	}
	if got := list[0]; got.Start != b.Start || got.End != b.End || got.User != "" {
		t.Errorf("from %v to %v for %s, asked for %v", got.Start.Time(), got.End.Time(), got.User, b.Start.Time())
	}
	now := s.reservation("a2", "node01")
	now.Start, now.End, now.User = now.Start-2*grid.Hour, now.Start-30*grid.Minute, ""
	if native, err := s.maui.MakeReservation(t.Context(), now); err != nil || native != "gbroker.a2.0" {
		t.Errorf("one that has begun: %s, %v", native, err)
	}
	later := s.reservation("a1", "node01")
	later.Start, later.End = later.Start+3*grid.Hour, later.End+3*grid.Hour
	if native, err := s.maui.MakeReservation(t.Context(), later); err != nil || native != "gbroker.a1.1" {
		t.Errorf("a second of that name: %s, %v", native, err)
	}
	for name, want := range map[string]string{"gbroker.a1.0": "a1", "gbroker.a1": "", "maint.0": "", "gbroker..0": "", "gbroker.a1.x": "", "gbroker.a-1.0": "", "xgbroker.a1.0": "", "gbroker.a1.0.1": ""} {
		if got := ourID(name); got != want {
			t.Errorf("%s is our %q", name, got)
		}
	}
	kind(t, "changing a reservation", s.maui.ChangeReservation(t.Context(), list[0]), grid.ErrInvalid, "release it")
}

// The date of a row has no year and no zone, its relative time stands still between polls of Maui.
func TestMaui03Dates(t *testing.T) {
	t.Parallel()
	at := func(text string) grid.Tick {
		tm, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return grid.InstantOf(tm)
	}
	for _, c := range []struct{ date, near, want string }{
		{"Fri Nov 20 23:16:41", "2026-11-20T23:16:32Z", "2026-11-20T23:16:41Z"},
		{"Sat Nov 21 00:16:41", "2026-11-20T23:16:32Z", "2026-11-20T23:16:41Z"},
		{"Fri Nov 20 17:46:41", "2026-11-20T23:16:32Z", "2026-11-20T23:16:41Z"},
		{"Fri Jan  1 00:00:05", "2026-12-31T23:59:58Z", "2027-01-01T00:00:05Z"},
		{"Thu Dec 31 23:59:58", "2027-01-01T00:00:05Z", "2026-12-31T23:59:58Z"},
		{"Tue Feb 29 12:00:00", "2028-02-29T12:00:09Z", "2028-02-29T12:00:00Z"},
	} {
		got, err := instant(strings.Fields(c.date), at(c.near))
		if err != nil || got != at(c.want) {
			t.Errorf("%s about %s is %v, %v", c.date, c.near, got.Time(), err)
		}
	}
	for _, bad := range []string{"Sat Nov 20 23:16:41", "Fri Nov 20 3:16:41", "Fri Nov 20 23:16", "Fri Nux 20 23:16:41", "Fri Nov 31 23:16:41", "Fri Nov 20 25:16:41", "Mon Nov 23 23:16:41"} {
		if got, err := instant(strings.Fields(bad), at("2026-11-20T23:16:32Z")); err == nil {
			t.Errorf("%s is %v", bad, got.Time())
		}
	}
}

// Maui 4: named nodes are given to whoever asks, also where others have them. Not by us.
func TestMaui04Overlaps(t *testing.T) {
	t.Parallel()
	s := onStage(t, batch.Config{})
	theirs := s.Run("root", "", "setres", "-u", "bob", "-n", "theirs", "-s", "+1:30:00", "-d", "1:00:00", "node02")
	if theirs.Exit != 0 {
		t.Fatalf("setres: %+v", theirs)
	}
	_, err := s.maui.MakeReservation(t.Context(), s.reservation("a1", "node01", "node02"))
	kind(t, "an overlap", err, grid.ErrInvalid, "theirs.0")
	before := s.reservation("a2", "node02")
	before.End -= 31 * grid.Minute
	if _, err := s.maui.MakeReservation(t.Context(), before); err != nil {
		t.Errorf("before theirs: %v", err)
	}
	if _, err := s.maui.MakeReservation(t.Context(), s.reservation("a3", "node01")); err != nil {
		t.Errorf("beside theirs: %v", err)
	}
	adjacent := s.reservation("a4", "node01")
	adjacent.Start, adjacent.End = adjacent.End, adjacent.End+grid.Hour
	if _, err := s.maui.MakeReservation(t.Context(), adjacent); err != nil {
		t.Errorf("just after another: %v", err)
	}
	if list := s.reservations(); len(list) != 4 {
		t.Errorf("there are %+v", list)
	}
}

// Maui reserves over jobs that run, too. Not by us.
func TestMaui04OverJobs(t *testing.T) {
	t.Parallel()
	s := onStage(t, batch.Config{})
	o := s.order("sleep 1000")
	o.Limit = 3 * grid.Hour
	j := s.awaitState(s.submit(s.maui, o), external.Running)
	late := s.reservation("a5", j.Places[0].Node)
	late.Start, late.End = late.Start+grid.Hour, late.End+grid.Hour
	_, err := s.maui.MakeReservation(t.Context(), late)
	kind(t, "over a job that may still run", err, grid.ErrInvalid, "job "+string(j.Local))
}

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

// A reservation that Maui makes of other nodes than asked for is taken back.
func TestMauiMakesAnother(t *testing.T) {
	t.Parallel()
	r, calls := replay(t, map[string]string{"pbsnodes -x": "01-idle/10-pbsnodes-x", "qstat -x -t": "01-idle/06-qstat-x", "showres -n": "01-idle/16-showres-n",
		"setres -a gbx -n gbroker.a1 -s 00:07:03_11/21/26 -d 1:00:00 ^(node01)$": "11-reservations/16-setres-hosts"})
	m := NewMaui(Config{Runner: r})
	m.invent = func() string { return "gbx" }
	m.now = func() time.Time { return time.Unix(1_795_216_023, 0) }
	start := m.instant() + grid.Hour
	_, err := m.MakeReservation(t.Context(), external.Reservation{ID: "a1", Nodes: []grid.NodeName{"node01"}, Start: start, End: start + grid.Hour, User: "alice"})
	kind(t, "other nodes", err, grid.ErrInvalid, "[node01 node02] where [node01]")
	if err == nil || !strings.Contains(err.Error(), "releaseres onhosts.0") {
		t.Errorf("it is not released: %v\n%s", err, calls())
	}
}

// Maui 6: whoever is no administrator is told whom to add.
func TestMaui06Administrators(t *testing.T) {
	t.Parallel()
	r := read(t, "testdata", "11-reservations/01-setres-as-alice")
	for _, who := range []string{"", "broker"} {
		m := NewMaui(Config{Administrator: who})
		kind(t, "no administrator", m.unwilling(commandOf(r), r.result()), grid.ErrInvalid, "ADMIN1 or ADMIN2", "not authorized create reservation", who)
	}
	r = read(t, "testdata", "11-reservations/13-setres-same-name")
	kind(t, "no room", NewMaui(Config{}).unwilling(commandOf(r), r.result()), grid.ErrInvalid, "cannot select 8 tasks")
	r = read(t, "testdata", "12-daemons-down/02-maui-down-showq")
	kind(t, "no Maui", NewMaui(Config{}).unwilling(commandOf(r), r.result()), grid.ErrUnavailable, "server may not be running")
}

// Maui 7: showres shows everybody his own, showres -n shows all; what only the latter has is of whole nodes.
func TestMaui07WhatIsHidden(t *testing.T) {
	t.Parallel()
	r, _ := replay(t, map[string]string{"pbsnodes -x": "01-idle/10-pbsnodes-x", "showres -n": "11-reservations/23-showres-n", "showres": "11-reservations/22-showres"})
	m := NewMaui(Config{Runner: r})
	m.now = func() time.Time { return time.Unix(1_795_216_595, 0) }
	list, err := m.Reservations(t.Context())
	if err != nil || len(list) != 6 || list[3].Native != "maint.0" || len(list[3].Nodes) != 2 {
		t.Errorf("%+v, %v", list, err)
	}
	m.now = func() time.Time { return time.Unix(1_795_216_595+3*86400, 0) }
	if list, err := m.Reservations(t.Context()); !errors.Is(err, grid.ErrUnavailable) {
		t.Errorf("by a clock that is three days off: %+v, %v", list, err)
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

// A reservation that Maui opens to others than asked for is taken back.
func TestMauiOpensIt(t *testing.T) {
	t.Parallel()
	s := onStage(t, batch.Config{})
	s.maui.invent = func() string { return "gbx:gby" } // two accounts
	_, err := s.maui.MakeReservation(t.Context(), s.reservation("a1", "node01"))
	kind(t, "a bad name", err, grid.ErrInvalid, "gbx:gby")
	kind(t, "another's", s.maui.closed(t.Context(), "nosuch.0", "gbx"), grid.ErrInvalid, "opened the reservation nosuch.0")
	if list := s.reservations(); len(list) > 0 {
		t.Errorf("left is %+v", list)
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
		if m.meet(text, &external.Listing{}, now) != is {
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
