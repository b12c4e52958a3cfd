package torque

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/pbs/external"
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
