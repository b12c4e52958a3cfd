package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"gbroker/api"
	"gbroker/broker/core"
	"gbroker/grid"
	"gbroker/wire"
)

// documentOf is a job of a shell script.
func documentOf(name, script string, processes int) string {
	return fmt.Sprintf(`<JobDefinition xmlns="http://schemas.ggf.org/jsdl/2005/11/jsdl"
	xmlns:posix="http://schemas.ggf.org/jsdl/2005/11/jsdl-posix"><JobDescription><JobIdentification><JobName>%s</JobName></JobIdentification><Application><posix:POSIXApplication>
	<posix:Executable>/bin/sh</posix:Executable><posix:Argument>-c</posix:Argument><posix:Argument>%s</posix:Argument>
	<posix:Output>out</posix:Output><posix:WallTimeLimit>300</posix:WallTimeLimit></posix:POSIXApplication></Application>
	<Resources><TotalCPUCount><Exact>%d</Exact></TotalCPUCount></Resources></JobDescription></JobDefinition>`, name, script, processes)
}

// A group is asked for, listed, waited for, cancelled and removed as one, and one of which a job can never run is refused whole.
func TestAGroupOfASite(t *testing.T) {
	t.Parallel()
	a := serveSite(t, "alpha", 2)
	group := func(key string, scripts ...string) (api.GroupAccepted, error) {
		g := api.GroupSubmission{Key: key, Name: "both"}
		for i, script := range scripts {
			cores := 1
			if script == "" {
				cores = 3
			}
			g.Jobs = append(g.Jobs, api.Submission{Name: "j.jsdl", Document: documentOf(fmt.Sprint("j", i), script, cores)})
		}
		return a.SubmitGroup(t.Context(), g)
	}
	if _, err := group("never", "true", ""); !errors.Is(err, grid.ErrInvalid) || !strings.Contains(err.Error(), "job 2") {
		t.Errorf("one of a group can never run: %v", err)
	}
	g, err := group("g", "true", "echo x")
	if err != nil || g.Again || g.Jobs != 2 || g.Name != "both" {
		t.Fatalf("%+v, %v", g, err)
	}
	if again, err := group("g", "true", "echo x"); err != nil || !again.Again || again.ID != g.ID {
		t.Errorf("handed in again: %+v, %v", again, err)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	end, err := a.WaitGroup(ctx, g.ID)
	for err == nil && end.Over < 2 {
		end, err = a.WaitGroup(ctx, g.ID)
	}
	if err != nil || end.States["COMPLETED"] != 2 || end.Ended == 0 {
		t.Errorf("it ended as %+v, %v", end, err)
	}
	if page, err := a.GroupPage(t.Context(), g.ID, api.Members{Limit: 1}); err != nil || len(page.Members) != 1 || page.Next != 1 {
		t.Errorf("the first of them: %+v, %v", page, err)
	}
	if h, err := a.GroupHistory(t.Context(), g.ID); err != nil || len(h.Events) == 0 {
		t.Errorf("its history is %+v, %v", h, err)
	}
	slow, err := group("slow", "sleep 100", "sleep 100", "sleep 100")
	if err != nil {
		t.Fatal(err)
	}
	if list, err := a.Groups(t.Context()); err != nil || len(list.Groups) != 2 {
		t.Errorf("the groups are %+v, %v", list, err)
	}
	if err := a.RemoveGroup(t.Context(), slow.ID); err == nil {
		t.Error("a group that runs can be removed")
	}
	if c, err := a.CancelGroup(t.Context(), slow.ID); err != nil || !c.CancelRequested {
		t.Errorf("cancelled: %+v, %v", c, err)
	}
	a.soon("all of the group are killed", func() bool {
		s, err := a.Group(t.Context(), slow.ID)
		return err == nil && s.States["KILLED"] == 3
	})
	if err := a.RemoveGroup(t.Context(), g.ID); err != nil {
		t.Error(err)
	}
	served := func(user string, w core.Wish) (core.Found, error) {
		w.User, w.Group, w.Limit = user, slow.ID, 2
		return service{a.site}.serve(t.Context(), core.Serve{From: "her", Wish: w})
	}
	for ask := wire.WishStatus; ask <= wire.WishHistory; ask++ {
		known := ask == wire.WishStatus || ask == wire.WishCancel || ask == wire.WishHistory
		if ask == wire.WishRemove {
			continue
		}
		f, err := served(slow.User, core.Wish{Ask: ask})
		if (err == nil) != known || known && (f.Group.ID != slow.ID || len(f.Jobs) != 2) || (ask == wire.WishHistory) != (len(f.Events) > 0) {
			t.Errorf("wish %d of a user elsewhere: %+v, %v", ask, f, err)
		}
		if _, err := served("mallory", core.Wish{Ask: ask}); !errors.Is(err, grid.ErrForbidden) {
			t.Errorf("wish %d of who has no part in it: %v", ask, err)
		}
	}
	if _, err := served(slow.User, core.Wish{Ask: wire.WishRemove}); err != nil {
		t.Error(err)
	}
	if _, err := a.Group(t.Context(), slow.ID); !errors.Is(err, grid.ErrNotFound) {
		t.Errorf("a group that was removed from elsewhere: %v", err)
	}
	const none = grid.GroupID("alpha.01ABCDEFGHJKMNPQRSTVWXYZ00.all")
	for what, ask := range map[string]func(grid.GroupID) error{
		"group":   func(id grid.GroupID) error { _, err := a.Group(t.Context(), id); return err },
		"wait":    func(id grid.GroupID) error { _, err := a.WaitGroup(t.Context(), id); return err },
		"cancel":  func(id grid.GroupID) error { _, err := a.CancelGroup(t.Context(), id); return err },
		"history": func(id grid.GroupID) error { _, err := a.GroupHistory(t.Context(), id); return err },
		"remove":  func(id grid.GroupID) error { return a.RemoveGroup(t.Context(), id) },
	} {
		for _, id := range []grid.GroupID{g.ID, none} {
			if err := ask(id); !errors.Is(err, grid.ErrNotFound) {
				t.Errorf("%s of a group that is not there: %v", what, err)
			}
		}
	}
}

// A job is changed while it waits, and handed in again with its files when it has ended.
func TestAJobIsAlteredAndHandedInAgain(t *testing.T) {
	t.Parallel()
	a := serveSite(t, "alpha", 1)
	first := a.submit("first", "sleep 100", 1)
	a.until(first, grid.Running)
	second := a.submit("second", "cat in", 1)
	yes, five, many := true, 5, 2
	if c, err := a.Alter(t.Context(), second, api.Alteration{Held: &yes, Priority: &five}); err != nil || !c.Confirmed {
		t.Errorf("altered: %+v, %v", c, err)
	}
	longer := 400.0
	if _, err := a.Alter(t.Context(), second, api.Alteration{WalltimeS: &longer}); err != nil {
		t.Errorf("it is made longer: %v", err)
	}
	if _, err := a.Alter(t.Context(), second, api.Alteration{Processes: &many}); !errors.Is(err, grid.ErrInvalid) {
		t.Errorf("it is made wider than the site: %v", err)
	}
	if _, err := a.Resubmit(t.Context(), first, "again"); !errors.Is(err, grid.ErrNotYet) {
		t.Errorf("one that runs is handed in again: %v", err)
	}
	for what, ask := range map[string]func(grid.JobID) error{
		"alter": func(id grid.JobID) error {
			_, err := a.Alter(t.Context(), id, api.Alteration{Priority: &five})
			return err
		},
		"resubmit": func(id grid.JobID) error { _, err := a.Resubmit(t.Context(), id, "k"); return err },
	} {
		if err := ask("alpha.01ABCDEFGHJKMNPQRSTVWXYZ00"); !errors.Is(err, grid.ErrNotFound) {
			t.Errorf("%s of a job that nobody has: %v", what, err)
		}
	}
	if _, err := a.Cancel(t.Context(), first); err != nil {
		t.Error(err)
	}
	a.until(first, grid.Killed)
	third, err := a.Resubmit(t.Context(), first, "again")
	if err != nil || third.ID == first {
		t.Fatalf("%+v, %v", third, err)
	}
	if same, err := a.Resubmit(t.Context(), first, "again"); err != nil || same.ID != third.ID {
		t.Errorf("the same once more: %+v, %v", same, err)
	}
	a.until(third.ID, grid.Running)
	if st, err := a.Job(t.Context(), second); err != nil || st.State != "READY" {
		t.Errorf("what is held overtook: %+v, %v", st, err)
	}
}

// Reservations are made, moved, listed and given up; a budget is that of the file, and changes of the file are taken up.
func TestReservationsAndBudgetsOfASite(t *testing.T) {
	t.Parallel()
	a := serveSite(t, "alpha", 2)
	from := grid.InstantOf(time.Now()) + grid.Hour
	from -= from % grid.Second
	h, err := a.Reserve(t.Context(), api.ReservationRequest{Nodes: 1, Cores: 1, From: api.Time(from), Span: 600})
	if err != nil || h.Site != "alpha" || grid.Tick(h.Start) != from || grid.Tick(h.End) != from+10*grid.Minute || len(h.Nodes) != 1 {
		t.Fatalf("%+v, %v", h, err)
	}
	if list, err := a.Reservations(t.Context()); err != nil || len(list) != 1 || list[0].ID != h.ID {
		t.Errorf("held are %+v, %v", list, err)
	}
	moved, err := a.ChangeReservation(t.Context(), h.ID, api.PlaceRequest{At: api.Time(from + grid.Hour)})
	if err != nil || grid.Tick(moved.Start) != from+grid.Hour {
		t.Errorf("moved: %+v, %v", moved, err)
	}
	if gone, err := a.ReleaseReservation(t.Context(), h.ID); err != nil || gone.ID != h.ID {
		t.Errorf("given up: %+v, %v", gone, err)
	}
	if _, err := a.Reserve(t.Context(), api.ReservationRequest{Nodes: 2, Cores: 1, From: api.Time(from), Span: 600}); err == nil {
		t.Error("more nodes than there are")
	}
	if _, err := a.Reserve(t.Context(), api.ReservationRequest{Site: "nowhere", Nodes: 1, From: api.Time(from), Span: 600}); err == nil {
		t.Error("at a site that nobody knows")
	}
	if list, err := a.Budgets(t.Context()); err != nil || len(list) != 0 {
		t.Errorf("budgets before: %+v, %v", list, err)
	}
	text, err := os.ReadFile(a.cfg.File)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(a.cfg.File, append(text, "\nbudgets: {ann: 3.5}\nprices: {base: 2}\nreservations: {offered: false}\n"...), 0o644); err != nil {
		t.Fatal(err)
	}
	now := a.reloaded(a.cfg)
	if now.Budgets["ann"] != 3_500_000 || now.Prices == nil || now.Reservations.Offered || a.pricing.Load().Prices.Base != 2 {
		t.Errorf("taken up is %+v", now)
	}
	a.soon("the budget is there", func() bool {
		list, err := a.Budgets(t.Context())
		return err == nil && len(list) == 1 && list[0].User == "ann" && *list[0].Free == 3.5
	})
	a.soon("nothing is reserved any more", func() bool {
		_, err := a.Reserve(t.Context(), api.ReservationRequest{Nodes: 1, Cores: 1, From: api.Time(from), Span: 600})
		return err != nil
	})
}

// What /metrics tells is counted as it happens, and its neighbours are in it.
func TestMetricsOfASite(t *testing.T) {
	t.Parallel()
	a, b := serveSite(t, "alpha", 2), serveSite(t, "beta", 1)
	know(t, a, b)
	a.until(a.submit("one", "true", 1), grid.Completed)
	a.until(a.submit("two", "sleep 100", 1), grid.Running)
	a.meter.displace(3, 1.5)
	metrics := func() string {
		w := httptest.NewRecorder()
		a.meter.handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
		text, err := io.ReadAll(w.Result().Body)
		if err != nil || w.Code != 200 {
			t.Fatalf("%d, %v: %s", w.Code, err, text)
		}
		return string(text)
	}
	a.soon("the batch system has told", func() bool { return strings.Contains(metrics(), "\ngbroker_batch_cores_busy ") })
	a.soon("the way is measured", func() bool { return strings.Contains(metrics(), "\ngbroker_member_round_trip_seconds{") })
	for range 2 {
		a.monitor.Observe(b.self, 512<<20, 16*time.Second)
	}
	text := metrics()
	const way = `{site="beta",size_bytes="536870912"} `
	for _, line := range []string{
		"gbroker_member_bandwidth_forecast_bytes_per_second" + way + "3.3554432e+07", "gbroker_member_bandwidth_age_seconds" + way + "0",
		"gbroker_member_bandwidth_spread" + way + "0", "gbroker_member_bandwidth_by_hour" + way + "0",
		"gbroker_jobs_accepted_total 2", `gbroker_jobs_ended_total{state="COMPLETED"} 1`, `gbroker_jobs{state="RUNNING"} 1`, `gbroker_jobs{state="COMPLETED"} 1`,
		"gbroker_jobs_displaced_total 3", "gbroker_displaced_core_seconds_total 1.5", "gbroker_job_wait_seconds_count 2", "gbroker_batch_cores 2", "gbroker_batch_jobs_waiting 0",
		"gbroker_alarms 0", `gbroker_member_up{site="beta"} 1`, `gbroker_member_bytes_total{direction="in",site="beta"} `, `gbroker_member_bytes_total{direction="out",site="beta"} `,
		`gbroker_member_round_trip_seconds{site="beta"} `, `gbroker_disk_free_bytes{of="journal"} `, `gbroker_disk_free_bytes{of="jobs"} `, "gbroker_journal_bytes ", "gbroker_build_info{",
	} {
		if !strings.Contains(text, "\n"+line) {
			t.Errorf("%s is not told", line)
		}
	}
	list, err := a.Sites(t.Context())
	for _, s := range list {
		if s.Self {
			continue
		}
		r := s.Bandwidth[len(s.Bandwidth)-1]
		if r.SizeBytes != 512<<20 || !r.Measured || *r.BytesPerS != 32<<20 || r.AgeS == nil || *r.AgeS > 60 || r.Spread == nil || *r.Spread != 0 || r.ByHour {
			t.Errorf("of the way to %s is told %+v", s.Name, r)
		}
	}
	if err != nil || len(list) != 2 {
		t.Errorf("the sites are %+v, %v", list, err)
	}
	for _, line := range []string{`gbroker_disk_free_bytes{of="jobs"} 0` + "\n", "gbroker_journal_bytes 0\n"} {
		if strings.Contains(text, line) {
			t.Errorf("told is %s", line)
		}
	}
}

// Changes are told in their order, from any position on; what is not remembered is said to be so.
func TestChangesOfASite(t *testing.T) {
	t.Parallel()
	a := serveSite(t, "alpha", 2)
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	var id grid.JobID
	var seen []string
	enough := errors.New("enough")
	err := a.Changes(ctx, api.Position{}, func(e api.FeedEvent) error {
		switch {
		case id == "":
			id = a.submit("one", "true", 1)
		case e.Job != nil && e.Job.ID == id:
			if seen = append(seen, e.Job.State); e.Job.State == "COMPLETED" {
				return enough
			}
		}
		return nil
	})
	if !errors.Is(err, enough) || len(seen) < 2 {
		t.Errorf("seen are %v, %v", seen, err)
	}
	err = a.Changes(ctx, api.Position{Life: 1, Sequence: 1}, func(e api.FeedEvent) error {
		if e.Name != api.EventReset {
			t.Errorf("of another life: %+v", e)
		}
		return enough
	})
	if !errors.Is(err, enough) {
		t.Error(err)
	}
}

// What an administrator decides about a neighbour and its jobs.
func TestForgetting(t *testing.T) {
	t.Parallel()
	a, b := serveSite(t, "alpha", 1), serveSite(t, "beta", 4)
	know(t, a, b)
	id := a.submit("far", "sleep 100", 3)
	a.until(id, grid.Running)
	if _, err := a.Forget(t.Context(), api.Forgetting{Site: "nowhere"}); !errors.Is(err, grid.ErrNotFound) {
		t.Errorf("a neighbour that nobody knows: %v", err)
	}
	f, err := a.Forget(t.Context(), api.Forgetting{Site: "beta", DryRun: true})
	if err != nil || f.Peer != b.self || len(f.Jobs) != 1 || f.Jobs[0].ID != id {
		t.Errorf("to be forgotten: %+v, %v", f, err)
	}
	if g, err := a.Forget(t.Context(), api.Forgetting{Site: string(b.self), DryRun: true}); err != nil || len(g.Jobs) != 1 {
		t.Errorf("by its peer ID: %+v, %v", g, err)
	}
	own := a.submit("near", "sleep 100", 1)
	a.until(own, grid.Running)
	for _, site := range []string{"alpha", string(a.self)} {
		if f, err := a.Forget(t.Context(), api.Forgetting{Site: site, DryRun: true}); !errors.Is(err, grid.ErrInvalid) || !strings.Contains(err.Error(), "at a neighbour") {
			t.Errorf("a site forgets itself, as %s: %+v, %v", site, f, err)
		}
	}
	for _, former := range []grid.PeerID{"A", "B"} {
		if err := a.names.keep([]grid.Member{{Name: "gone", Peer: former}}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := a.Forget(t.Context(), api.Forgetting{Site: "gone"}); !errors.Is(err, grid.ErrNotFound) || !strings.Contains(err.Error(), "A B") {
		t.Errorf("two that were called so, one after the other: %v", err)
	}
	if _, err := a.End(t.Context(), "alpha.01ABCDEFGHJKMNPQRSTVWXYZ00", api.Ending{As: api.AsDead}); !errors.Is(err, grid.ErrNotFound) {
		t.Errorf("the end of a job that nobody has: %v", err)
	}
	if _, err := a.End(t.Context(), id, api.Ending{As: api.AsDead, DryRun: true}); err == nil {
		t.Error("a job whose owner answers may be ended by a word")
	}
	if all, err := a.AllSites(t.Context()); !errors.Is(err, grid.ErrInvalid) {
		t.Errorf("all sites, without a key of the grid: %+v, %v", all, err)
	}
	var out bytes.Buffer
	if _, err := a.Output(t.Context(), id, "out", &out); err != nil {
		t.Errorf("what it has written so far: %v", err)
	}
}
