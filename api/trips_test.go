package api_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"gbroker/api"
	"gbroker/grid"
)

func text(n int) string { return fmt.Sprintf("job%d", n) }

// handedIn is a job of the tests, by its key.
func handedIn(t *testing.T, c *api.Client, key string) grid.JobID {
	t.Helper()
	a, err := c.Submit(t.Context(), api.Submission{Key: key, Name: key + ".jsdl", Document: plain})
	if err != nil {
		t.Fatal(err)
	}
	return a.ID
}

// A group goes in whole, is told page by page, waited for, cancelled and removed, as its jobs are; what cannot be is refused.
func TestAGroupFromItsSubmissionToItsEnd(t *testing.T) {
	t.Parallel()
	service, _, c := serve(t, api.Config{})
	ctx := t.Context()
	one := api.Submission{Name: "a.jsdl", Document: plain}
	for name, s := range map[string]api.GroupSubmission{
		"no jobs":      {Key: "key-of-a-group-1"},
		"no key":       {Jobs: []api.Submission{one}},
		"key of a job": {Key: "key-of-a-group-1", Jobs: []api.Submission{{Key: "x", Document: plain}}},
		"job anyway":   {Key: "key-of-a-group-1", Jobs: []api.Submission{{QueueAnyway: true, Document: plain}}},
		"no document":  {Key: "key-of-a-group-1", Jobs: []api.Submission{one, {}}},
		"both":         {Key: "key-of-a-group-1", Jobs: []api.Submission{one}, Sweep: &one},
	} {
		if a, err := c.SubmitGroup(ctx, s); !errors.Is(err, grid.ErrInvalid) {
			t.Errorf("%s: %+v, %v", name, a, err)
		}
	}
	all := api.GroupSubmission{Key: "key-of-a-group-1", Name: "three", Jobs: []api.Submission{one, {Name: "b.jsdl", Document: withFile, Files: []api.File{{Path: "data", Size: 3, Mode: 0o644}}}, one}}
	made, err := c.SubmitGroup(ctx, all)
	if err != nil || made.Again || made.Jobs != 3 || made.Name != "three" || made.Coming != 1 || len(made.Wanted) != 1 || made.Wanted[0].Job != made.ID.Job(2) || made.Sweep || made.Ended != 0 {
		t.Fatalf("it is made %+v, %v", made, err)
	}
	if again, err := c.SubmitGroup(ctx, all); err != nil || !again.Again || again.ID != made.ID {
		t.Errorf("again: %+v, %v", again, err)
	}
	if g, err := c.Group(ctx, made.ID); err != nil || len(g.Members) != 3 || g.States["SUBMITTED"] != 2 || g.States["STAGEIN"] != 1 || g.Next != 0 || g.User == "" {
		t.Errorf("it is %+v, %v", g, err)
	}
	if g, err := c.GroupPage(ctx, made.ID, api.Members{After: 1, Limit: 1}); err != nil || len(g.Members) != 1 || g.Members[0].ID != made.ID.Job(2) || g.Next != 2 {
		t.Errorf("a page: %+v, %v", g, err)
	}
	for _, page := range []api.Members{{After: -1, Limit: 1}, {Limit: -1}, {Limit: api.MaxPage + 1}, {After: grid.MaxSweep + 1}} {
		if _, err := c.GroupPage(ctx, made.ID, page); !errors.Is(err, grid.ErrInvalid) {
			t.Errorf("page %+v: %v", page, err)
		}
	}
	if list, err := c.Groups(ctx); err != nil || len(list.Groups) != 1 || list.Groups[0].ID != made.ID || list.Groups[0].Members != nil {
		t.Errorf("listed are %+v, %v", list, err)
	}
	if h, err := c.GroupHistory(ctx, made.ID); err != nil || len(h.Events) != 1 || h.Events[0].Why != "accepted" {
		t.Errorf("its history: %+v, %v", h, err)
	}
	if err := c.RemoveGroup(ctx, made.ID); !errors.Is(err, grid.ErrNotYet) {
		t.Errorf("removed before its end: %v", err)
	}
	if err := service.Change(made.ID.Job(1), func(r *grid.Record) { r.State, r.HasExit, r.ExitCode = grid.Completed, true, 3 }); err != nil {
		t.Fatal(err)
	}
	if g, err := c.CancelGroup(ctx, made.ID); err != nil || !g.CancelRequested || g.Over != 3 || g.FailedExits == 0 || g.Ended == 0 {
		t.Errorf("cancelled: %+v, %v", g, err)
	}
	if g, err := c.WaitGroup(ctx, made.ID); err != nil || g.Ended == 0 || len(g.Members) > 0 {
		t.Errorf("waited for: %+v, %v", g, err)
	}
	if err := c.RemoveGroup(ctx, made.ID); err != nil {
		t.Error(err)
	}
	if _, err := c.Group(ctx, made.ID); !errors.Is(err, grid.ErrNotFound) {
		t.Errorf("after that: %v", err)
	}
	if _, err := c.Group(ctx, "nonsense"); !errors.Is(err, grid.ErrInvalid) {
		t.Errorf("one that cannot be: %v", err)
	}
	service.Fail(errors.New("no disk"))
	for name, ask := range map[string]func() error{
		"submit": func() error {
			_, err := c.SubmitGroup(ctx, api.GroupSubmission{Key: "key-of-a-group-2", Jobs: []api.Submission{one}})
			return err
		},
		"list": func() error { _, err := c.Groups(ctx); return err },
		"wait": func() error { _, err := c.WaitGroup(ctx, made.ID); return err },
	} {
		if err := ask(); err == nil {
			t.Errorf("%s is answered by a broker that fails", name)
		}
	}
}

// Jobs are altered and handed in again in the words of users, within what can be.
func TestAlterationsAndResubmissions(t *testing.T) {
	t.Parallel()
	service, _, c := serve(t, api.Config{})
	ctx, id := t.Context(), handedIn(t, c, "key-of-a-job-1")
	seconds := func(s float64) api.Alteration { return api.Alteration{WalltimeS: &s} }
	queue := func(q string) api.Alteration { return api.Alteration{Queue: &q} }
	for name, to := range map[string]api.Alteration{
		"no walltime": seconds(0), "less": seconds(-1), "too long": seconds(grid.MaxWalltime.Seconds() + 1), "queue": queue("../q"),
	} {
		if _, err := c.Alter(ctx, id, to); !errors.Is(err, grid.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if done, err := c.Alter(ctx, id, seconds(grid.MaxWalltime.Seconds())); err != nil || !done.Confirmed {
		t.Errorf("the longest: %+v, %v", done, err)
	}
	if done, err := c.Alter(ctx, id, seconds(90)); err != nil || !done.Confirmed {
		t.Errorf("altered: %+v, %v", done, err)
	}
	if _, err := c.Alter(ctx, id, queue("long")); err != nil {
		t.Error(err)
	}
	var job grid.Job
	if err := service.Change(id, func(r *grid.Record) { job, r.State = r.Job, grid.Completed }); err != nil || job.Walltime != 90*grid.Second || job.Queue != "long" {
		t.Errorf("it is altered to %v, %q, %v", job.Walltime, job.Queue, err)
	}
	if _, err := c.Resubmit(ctx, id, ""); !errors.Is(err, grid.ErrInvalid) {
		t.Errorf("without a key: %v", err)
	}
	again, err := c.Resubmit(ctx, id, "key-of-a-job-2")
	if err != nil || again.ID == id || again.ID == "" {
		t.Errorf("again: %+v, %v", again, err)
	}
	if same, err := c.Resubmit(ctx, id, "key-of-a-job-2"); err != nil || same.ID != again.ID {
		t.Errorf("under the same key it is %s, not %s (%v)", same.ID, again.ID, err)
	}
	if _, err := c.Resubmit(ctx, "nonsense", "key-of-a-job-3"); !errors.Is(err, grid.ErrInvalid) {
		t.Errorf("one that cannot be: %v", err)
	}
	if _, err := c.Alter(ctx, "nonsense", seconds(1)); !errors.Is(err, grid.ErrInvalid) {
		t.Errorf("one that cannot be: %v", err)
	}
}

// Reservations are made, changed, listed and given up in whole seconds; what cannot be held is refused by its field.
func TestReservationsOfUsers(t *testing.T) {
	t.Parallel()
	_, _, c := serve(t, api.Config{})
	ctx := t.Context()
	good := api.ReservationRequest{Nodes: 2, Cores: 4, From: 1_800_000_000_001, Span: 60}
	for name, change := range map[string]func(q *api.ReservationRequest){
		"no nodes":       func(q *api.ReservationRequest) { q.Nodes = 0 },
		"too many":       func(q *api.ReservationRequest) { q.Nodes = grid.MaxReservedNodes + 1 },
		"cores":          func(q *api.ReservationRequest) { q.Cores = grid.MaxProcesses + 1 },
		"no time":        func(q *api.ReservationRequest) { q.Span = 0.9 },
		"too long":       func(q *api.ReservationRequest) { q.Span = grid.MaxReservation.Seconds() + 1 },
		"no start":       func(q *api.ReservationRequest) { q.From = 0 },
		"too short":      func(q *api.ReservationRequest) { q.Until = q.From + 1000 },
		"site":           func(q *api.ReservationRequest) { q.Site = "../a" },
		"queue":          func(q *api.ReservationRequest) { q.Queue = "a b" },
		"both":           func(q *api.ReservationRequest) { q.Bandwidth = 5 },
		"bandwidth":      func(q *api.ReservationRequest) { q.Nodes, q.Cores, q.Bandwidth = 0, 0, -1 },
		"much bandwidth": func(q *api.ReservationRequest) { q.Nodes, q.Cores, q.Bandwidth = 0, 0, grid.MaxReservedRate+1 },
	} {
		q := good
		if change(&q); name != "" {
			if _, err := c.Reserve(ctx, q); !errors.Is(err, grid.ErrInvalid) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	h, err := c.Reserve(ctx, good)
	if err != nil || h.Start != 1_800_000_001_000 || h.End != h.Start+60_000 || len(h.Nodes) != 2 || h.State != grid.Confirmed.String() || h.Job != nil {
		t.Fatalf("reserved %+v, %v", h, err)
	}
	for name, q := range map[string]api.PlaceRequest{
		"nothing": {}, "no time": {Span: 0.5}, "too long": {Span: grid.MaxReservation.Seconds() + 1}, "less than none": {Nodes: -1}, "too many": {Nodes: grid.MaxReservedNodes + 1}, "before all time": {At: -5000},
	} {
		if _, err := c.ChangeReservation(ctx, h.ID, q); !errors.Is(err, grid.ErrInvalid) {
			t.Errorf("a change of %s: %v", name, err)
		}
	}
	if now, err := c.ChangeReservation(ctx, h.ID, api.PlaceRequest{At: h.Start + 1, Span: 1, Nodes: 3}); err != nil || now.Start != h.Start+1000 || now.End != now.Start+1000 || len(now.Nodes) != 3 {
		t.Errorf("changed: %+v, %v", now, err)
	}
	if list, err := c.Reservations(ctx); err != nil || len(list) != 1 || list[0].ID != h.ID {
		t.Errorf("listed: %+v, %v", list, err)
	}
	if now, err := c.ReleaseReservation(ctx, h.ID); err != nil || now.State != grid.Released.String() {
		t.Errorf("released: %+v, %v", now, err)
	}
	for name, ask := range map[string]func(id grid.ReservationID) error{
		"release": func(id grid.ReservationID) error { _, err := c.ReleaseReservation(ctx, id); return err },
		"change": func(id grid.ReservationID) error {
			_, err := c.ChangeReservation(ctx, id, api.PlaceRequest{Nodes: 1})
			return err
		},
	} {
		if err := ask("none"); !errors.Is(err, grid.ErrNotFound) {
			t.Errorf("%s of one that is not there: %v", name, err)
		}
		if err := ask("No-Name"); !errors.Is(err, grid.ErrInvalid) {
			t.Errorf("%s of one that cannot be: %v", name, err)
		}
	}
}

// What jobs have used counts where they ended, by user, site, month or day of a zone: how long they waited if they ran, and which failed.
func TestUsageIsSummedUp(t *testing.T) {
	t.Parallel()
	service, _, c := serve(t, api.Config{})
	ctx := t.Context()
	at := func(text string) grid.Tick {
		when, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		return grid.InstantOf(when)
	}
	last := at("2026-01-31T23:30:00Z")
	for n, change := range []func(r *grid.Record){
		func(r *grid.Record) { // two hours on two cores, after a wait of an hour
			r.State, r.HasExit, r.Submitted, r.Started, r.Finished = grid.Completed, true, last-3*grid.Hour, last-2*grid.Hour, last
			r.Usage.CPU, r.Job.Demand = 3*grid.Hour, grid.Demand{Chunks: []grid.Chunk{{Count: 2, Processes: 1, Cores: 1}}}
		},
		func(r *grid.Record) { // an hour later, with another status, without a wait
			r.State, r.HasExit, r.ExitCode, r.Submitted, r.Started, r.Finished = grid.Completed, true, 1, last, last, last+grid.Hour
			r.Job.Demand = grid.Demand{Chunks: []grid.Chunk{{Count: 1, Processes: 1, Cores: 1}}}
		},
		func(r *grid.Record) { r.State, r.Submitted, r.Ended = grid.Killed, last, last }, // it never ran
		func(r *grid.Record) { r.State, r.Started = grid.Running, last },                 // it runs
	} {
		if err := service.Change(handedIn(t, c, text(n)+"-of-usage"), change); err != nil {
			t.Fatal(err)
		}
	}
	u, err := c.Usage(ctx, "month", 0, 0, "")
	if err != nil || len(u.Rows) != 2 || u.Rows[0].Key != "2026-01" || u.Rows[1].Key != "2026-02" || u.By != "month" {
		t.Fatalf("by month: %+v, %v", u, err)
	}
	if r := u.Total; r.Jobs != 3 || r.Failed != 2 || r.CoreHours != 5 || r.CPUHours != 3 || r.MeanWaitS != 1800 || r.MaxWaitS != 3600 {
		t.Errorf("in all %+v", r)
	}
	if r := u.Rows[0]; r.Jobs != 2 || r.Failed != 1 || r.MeanWaitS != 3600 {
		t.Errorf("in January %+v", r)
	}
	for by, want := range map[string]string{"day": "2026-02-01", "month": "2026-02"} {
		if u, err := c.Usage(ctx, by, 0, 0, "Asia/Tokyo"); err != nil || len(u.Rows) != 1 || u.Rows[0].Key != want {
			t.Errorf("by %s where it is tomorrow: %+v, %v", by, u.Rows, err)
		}
	}
	if u, err := c.Usage(ctx, "site", 0, 0, "UTC"); err != nil || len(u.Rows) != 2 || u.Rows[0].Key != "-" || u.Rows[0].Jobs != 1 {
		t.Errorf("by site: %+v, %v", u.Rows, err)
	}
	for name, k := range map[string]struct {
		since, until api.Time
		jobs         int
	}{"from then on": {api.Time(last), 0, 3}, "later": {api.Time(last + 1), 0, 1}, "before": {0, api.Time(last), 0}, "until after": {0, api.Time(last + 1), 2}} {
		if u, err := c.Usage(ctx, "user", k.since, k.until, ""); err != nil || u.Total.Jobs != k.jobs {
			t.Errorf("%s: %+v, %v", name, u.Total, err)
		}
	}
	for name, ask := range map[string][2]string{"by": {"moon", ""}, "zone": {"day", "Nowhere/None"}} {
		if _, err := c.Usage(ctx, ask[0], 0, 0, ask[1]); !errors.Is(err, grid.ErrInvalid) {
			t.Errorf("%s %q: %v", name, ask, err)
		}
	}
}

// A workflow is planned over the sites that live, take jobs and may be sent them, the home first, by what is known of the ways to them.
func TestPlacesOfAWorkflow(t *testing.T) {
	t.Parallel()
	rate, delay := 5e6, 0.25
	site := func(name string, change func(s *api.Site)) api.Site {
		s := api.Site{Name: grid.SiteName(name), Processes: 4, Speed: 2, State: grid.Alive.String(), Send: true, Batch: "slurm"}
		change(&s)
		return s
	}
	list := api.Places([]api.Site{
		site("near", func(s *api.Site) { s.RTTS, s.Bandwidth = &delay, []api.Rate{{}, {BytesPerS: &rate}} }),
		site("far", func(s *api.Site) { s.Batch, s.Bandwidth = "torque", []api.Rate{{}} }),
		site("dead", func(s *api.Site) { s.State = grid.Dead.String() }),
		site("unsent", func(s *api.Site) { s.Send = false }),
		site("draining", func(s *api.Site) { s.Draining = true }),
		site("empty", func(s *api.Site) { s.Processes = 0 }),
		site("still", func(s *api.Site) { s.Speed = 0 }),
		site("home", func(s *api.Site) { s.Self, s.Send, s.Batch, s.Draining = true, false, "embedded", true }),
	})
	if len(list) != 3 || list[0].Name != "home" || list[1].Name != "near" || list[2].Name != "far" {
		t.Fatalf("%+v", list)
	}
	if p := list[1]; p.Cores != 4 || p.Speed != 2 || p.Rate != rate || p.Delay != 250*time.Millisecond || p.Overhead != 1500*time.Millisecond {
		t.Errorf("near: %+v", p)
	}
	if p := list[2]; p.Rate != grid.DefaultBandwidth || p.Delay != 0 || p.Overhead != 10*time.Second {
		t.Errorf("far: %+v", p)
	}
	if list[0].Overhead != 500*time.Millisecond {
		t.Errorf("home: %+v", list[0])
	}
}

// Who asks a broker what it is hears its site, and as whom he is known.
func TestWhatABrokerSaysOfItself(t *testing.T) {
	t.Parallel()
	service, _, c := serve(t, api.Config{})
	site, peer := service.Self()
	self, err := c.Self(t.Context())
	if err != nil || self.Name != site.Name || self.Peer != peer || self.Processes != site.Processes || self.Speed != site.Speed || self.Architecture != site.Architecture ||
		self.System != site.System || self.Version == "" || self.User == "" || self.Draining != site.Draining {
		t.Errorf("%+v, %v; it is %+v", self, err, site)
	}
}
