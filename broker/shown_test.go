package broker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"gbroker/broker/core"
	"gbroker/grid"
	"gbroker/plan"
	"gbroker/wire"
)

// What has become durable is shown to readers, in an order that does not depend on when it came, until it is deleted.
func TestWhatIsDurableIsShown(t *testing.T) {
	t.Parallel()
	h := newHands()
	b := h.b
	b.reservations.reset(nil)
	b.allocations.reset(nil)
	b.budgets.reset(nil)
	save := func(e grid.Entity) { b.dispatch(t.Context(), core.Save{Change: grid.Saved(e)}, 0) }
	for _, r := range []grid.Reservation{{ID: "late", Start: 9}, {ID: "b", Start: 5}, {ID: "a", Start: 5}} {
		save(&r)
	}
	names := func() (all []grid.ReservationID) {
		for _, r := range b.Reservations() {
			all = append(all, r.ID)
		}
		return all
	}
	if got := names(); !slices.Equal(got, []grid.ReservationID{"a", "b", "late"}) {
		t.Errorf("reservations %v", got)
	}
	save(&grid.Budget{User: "bob"})
	save(&grid.Budget{User: "ann", Spent: 5})
	if got := b.Budgets(); len(got) != 2 || got[0].User != "ann" || got[0].Spent != 5 {
		t.Errorf("budgets %+v", got)
	}
	save(&grid.Allocation{Of: "j", Round: 3})
	if a, is := b.Allocation("j"); !is || a.Round != 3 {
		t.Errorf("allocation %+v, %t", a, is)
	}
	save(&grid.SiteState{Draining: true})
	if !b.SiteState().Draining {
		t.Error("the state of the site is as it was")
	}
	b.dispatch(t.Context(), core.Save{Change: grid.Deleted(grid.KindReservation, "b")}, 0)
	b.dispatch(t.Context(), core.Save{Change: grid.Deleted(grid.KindAllocation, "j")}, 0)
	if got := names(); !slices.Equal(got, []grid.ReservationID{"a", "late"}) {
		t.Errorf("reservations after one was deleted %v", got)
	}
	if _, is := b.Allocation("j"); is || len(b.Budgets()) != 2 {
		t.Error("what was deleted is shown, or more is gone")
	}
}

// A change is told with what was shown before it; what is no promise is shown, and told to nobody.
func TestChangesAreTold(t *testing.T) {
	t.Parallel()
	h := newHands()
	h.b.budgets.reset(nil)
	h.b.reservations.reset(nil)
	h.b.allocations.reset(nil)
	var told []string
	h.b.ports.Changed = func(before grid.Entity, c grid.Change) {
		say := func(e grid.Entity) string {
			switch e := e.(type) {
			case nil:
				return "none"
			case *grid.Record:
				return e.State.String()
			case *grid.Group:
				return e.Name
			case *grid.Reservation:
				return e.State.String()
			}
			kind, key := e.Entity()
			return fmt.Sprint(kind, key)
		}
		told = append(told, say(before)+" "+say(c.Record))
	}
	gone := func(kind grid.Kind, key string) core.Effect { return core.Save{Change: grid.Deleted(kind, key)} }
	save := func(e grid.Entity) core.Effect { return core.Save{Change: grid.Saved(e)} }
	r := grid.Record{Job: jobOf(me, "a", "1"), State: grid.Ready}
	running := r
	running.State = grid.Running
	for _, e := range []core.Effect{
		save(&r), core.Show{Record: &r}, save(&running), gone(grid.KindJob, string(r.Job.ID)),
		save(&grid.Budget{User: "ann"}), save(&grid.SiteState{}), save(&grid.Allocation{Of: "j"}), gone(grid.KindAllocation, "j"),
		save(&grid.Template{Group: "a.1.all"}), save(&grid.Group{ID: "a.1.all", Name: "one"}), save(&grid.Group{ID: "a.1.all", Name: "two"}),
		gone(grid.KindTemplate, "a.1.all"), gone(grid.KindGroup, "a.1.all"),
		save(&grid.Reservation{ID: "r", State: grid.Tentative}), save(&grid.Reservation{ID: "r", State: grid.Bound}), gone(grid.KindReservation, "r"),
	} {
		h.b.dispatch(t.Context(), e, 0)
	}
	if want := []string{
		"none READY", "READY RUNNING", "RUNNING none",
		"none 8ann", "none 2", "none 7j", "7j none",
		"none 4a.1.all", "none one", "one two", "none none", "two none",
		"none TENTATIVE", "TENTATIVE BOUND", "BOUND none",
	}; !slices.Equal(told, want) {
		t.Errorf("told is %q, want %q", told, want)
	}
	shown := r
	shown.State = grid.Assigned
	h.b.dispatch(t.Context(), core.Show{Record: &shown}, 0)
	if got, is := h.b.view.shown(r.Job.ID); !is || got.State != grid.Assigned {
		t.Errorf("shown is %s, %t", got.State, is)
	}
}

// peersOf sends as it is told.
type peersOf func(to grid.PeerID, m wire.Message) error

func (p peersOf) Send(to grid.PeerID, m wire.Message) error { return p(to, m) }

// Effects that take no time are done at once, each by who is there for it.
func TestEffectsThatAreDoneAtOnce(t *testing.T) {
	t.Parallel()
	h := newHands()
	b, ctx := h.b, t.Context()
	sent := grid.PeerID("")
	b.ports.Peers = peersOf(func(to grid.PeerID, _ wire.Message) error { sent = to; return errBoom })
	b.dispatch(ctx, core.Send{To: her, Message: wire.Recall{}}, 0)
	if sent != her {
		t.Errorf("sent to %q", sent)
	}
	uplink := core.Uplink{Reserved: map[grid.PeerID]int64{her: 5}, Rest: 7}
	b.dispatch(ctx, uplink, 0) // with nobody who shares it
	shared := int64(0)
	b.ports.Share = func(reserved map[grid.PeerID]int64, rest int64) { shared = reserved[her]*100 + rest }
	if b.dispatch(ctx, uplink, 0); shared != 507 {
		t.Errorf("shared is %d", shared)
	}
	displace := core.Displace{Jobs: []plan.Displaced{{CoreSeconds: 1.5}, {CoreSeconds: 2}}}
	b.dispatch(ctx, displace, 0) // with nobody who counts
	gone := ""
	b.ports.Displaced = func(jobs int, seconds float64) { gone = fmt.Sprint(jobs, " ", seconds) }
	if b.dispatch(ctx, displace, 0); gone != "2 3.5" {
		t.Errorf("displaced are %s", gone)
	}
	b.dispatch(ctx, core.Note{Text: "a word"}, 0)
	b.dispatch(ctx, core.ShowAccuracy{}, 0)
	if b.accuracy.Load() == nil {
		t.Error("the accuracy is not shown")
	}
	if len(h.calls) > 0 {
		t.Errorf("asked were %q", h.calls)
	}
}

// Those who wait for a group hear of its end, of its removal, and of neither when their time is over; what lies beside it goes with it.
func TestGroupsAreWaitedFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newHands().b
		g := grid.Group{ID: grid.NewGroupID("a", "01ARZ3NDEKTSV4RRFFQ69G5FAV"), Jobs: 3, Template: grid.Hash{1}, Coming: []int{0}}
		save := func(e grid.Entity) { b.groups.change(grid.Saved(e)) }
		type end struct {
			g     grid.Group
			known bool
		}
		wait := func(ctx context.Context) <-chan end {
			c := make(chan end, 1)
			go func() { g, known := b.WaitGroup(ctx, g.ID); c <- end{g, known} }()
			synctest.Wait()
			return c
		}
		if e := <-wait(t.Context()); e.known {
			t.Errorf("one that is not there: %+v", e)
		}
		save(&g)
		save(&grid.Template{Group: g.ID, Inputs: grid.Manifest{{Path: "x"}}})
		if r, known := b.groups.outline(g.ID.Template()); !known || len(r.Job.Inputs) != 1 || r.State != grid.StageIn {
			t.Errorf("its template is outlined %+v, %t", r, known)
		}
		for n, known := range map[int]bool{1: true, 3: true, 4: false} {
			if _, is := b.groups.outline(g.ID.Job(n)); is != known {
				t.Errorf("job %d is known: %t", n, is)
			}
		}
		ends := g
		r := &grid.Results{Group: g.ID}
		ends.Set(r, 2, grid.Result{State: grid.Completed})
		save(r)
		if r, _ := b.groups.outline(g.ID.Job(2)); r.State != grid.Completed {
			t.Errorf("one that has ended is %s", r.State)
		}
		brief, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if e := <-wait(brief); !e.known || e.g.Ended != 0 {
			t.Errorf("without time: %+v", e)
		}
		c := wait(t.Context())
		g.Coming = nil
		save(&g)
		if synctest.Wait(); len(c) > 0 {
			t.Error("it is told of another change")
		}
		g.Ended = 5
		save(&g)
		if e := <-c; !e.known || e.g.Ended != 5 {
			t.Errorf("ended: %+v", e)
		}
		g.Ended = 0
		save(&g)
		c = wait(t.Context())
		b.groups.change(grid.Deleted(grid.KindTemplate, string(g.ID)))
		if synctest.Wait(); len(c) > 0 {
			t.Error("what lies beside it ends it")
		}
		b.groups.change(grid.Deleted(grid.KindGroup, string(g.ID)))
		if e := <-c; e.known {
			t.Errorf("deleted: %+v", e)
		}
	})
}

// A group that is removed has no jobs and nothing beside it any more, and is listed as long as it is kept.
func TestGroupsThatAreRemoved(t *testing.T) {
	t.Parallel()
	b := newHands().b
	id := func(n int) grid.GroupID { return grid.NewGroupID("a", fmt.Sprintf("01ARZ3NDEKTSV4RRFFQ69G5F%02d", n)) }
	groups := []grid.Group{{ID: id(2), Jobs: 2, Template: grid.Hash{1}}, {ID: id(1), Jobs: 2, Template: grid.Hash{1}, Name: "other"}}
	results := []grid.Results{{Group: id(2), Of: []byte{1, 2, 3, 4}}}
	b.groups.reset(groups, []grid.Template{{Group: id(2), Inputs: grid.Manifest{{Path: "x"}}}, {Group: id(3)}}, results)
	if of := b.groups.all[id(2)].results[0].Of; &of[0] == &results[0].Of[0] {
		t.Error("what Core changes is shown")
	}
	list := b.Groups(func(*grid.Group) bool { return true })
	if len(list) != 2 || list[0].ID != id(1) || list[1].ID != id(2) {
		t.Errorf("listed are %+v", list)
	}
	if list = b.Groups(func(g *grid.Group) bool { return g.Name == "" }); len(list) != 1 || list[0].ID != id(2) {
		t.Errorf("of those without a name %+v", list)
	}
	if _, known := b.Group(id(3)); known {
		t.Error("a template alone is a group")
	}
	gone := groups[0]
	gone.Removed = true
	b.groups.change(grid.Saved(&gone))
	if one := b.groups.all[id(2)]; one.inputs != nil || len(one.results) > 0 {
		t.Errorf("beside it are %+v, %+v", one.inputs, one.results)
	}
	if _, known := b.groups.outline(id(2).Job(1)); known {
		t.Error("a job of it is known")
	}
	if g, known := b.Group(id(2)); !known || !g.Removed {
		t.Errorf("it is %+v, %t", g, known)
	}
}

// pages is a journal of which pages are read.
type pages struct {
	journalStub
	fails error
	asked []int
}

func (j *pages) Page(_ context.Context, after grid.JobID, user string, limit int) (list []grid.Record, _ error) {
	j.asked = append(j.asked, limit)
	for _, r := range j.recs {
		if r.Job.ID > after && (user == "" || r.Job.User.Name == user) && len(list) < limit {
			list = append(list, r)
		}
	}
	return list, j.fails
}

func (j *pages) History(_ context.Context, kind grid.Kind, key string) ([]grid.Event, error) {
	return []grid.Event{{Why: fmt.Sprint(kind, " ", key)}}, nil
}

func (j *pages) Decisions(context.Context, grid.JobID) ([]grid.Decision, error) {
	return slices.Clone(j.decisions), j.fails
}

// Jobs are listed page by page, as they are shown where they go on, until there are as many as were asked for.
func TestJobsAreListedByPages(t *testing.T) {
	t.Parallel()
	b, j := newHands().b, &pages{}
	var journal Journal = j
	b.journal.Store(&journal)
	const all = 2*maxJournalPage + 5
	id := func(n int) grid.JobID { return grid.NewJobID("a", fmt.Sprintf("%026d", n)) }
	for n := range all {
		j.recs = append(j.recs, grid.Record{Job: grid.Job{ID: id(n)}, State: grid.Completed})
	}
	b.view.set(grid.Record{Job: grid.Job{ID: id(3)}, State: grid.Running})
	anyone := func(*grid.Record) bool { return true }
	for _, k := range []struct{ limit, got int }{{all + 1, all}, {all, all}, {1, 1}, {maxJournalPage, maxJournalPage}, {maxJournalPage + 1, maxJournalPage + 1}} {
		list, err := b.Jobs(t.Context(), "", k.limit, "", anyone)
		if err != nil || len(list) != k.got || list[len(list)-1].Job.ID != id(k.got-1) {
			t.Errorf("up to %d: %d, %v", k.limit, len(list), err)
		}
	}
	if slices.Max(j.asked) > maxJournalPage {
		t.Errorf("%d are read at once", slices.Max(j.asked))
	}
	list, err := b.Jobs(t.Context(), id(1), 2, "", func(r *grid.Record) bool { return r.Job.ID != id(2) })
	if err != nil || len(list) != 2 || list[0].State != grid.Running || list[1].Job.ID != id(4) {
		t.Errorf("without one: %+v, %v", list, err)
	}
	j.fails = errBoom
	if _, err := b.Jobs(t.Context(), "", 5, "", anyone); !errors.Is(err, grid.ErrUnavailable) {
		t.Errorf("from a journal that cannot be read: %v", err)
	}
}

// What was decided of a job ends with why it stays now, of which only the last word counts.
func TestDecisionsEndWithTheLastWord(t *testing.T) {
	t.Parallel()
	b, j := newHands().b, &pages{}
	var journal Journal = j
	b.journal.Store(&journal)
	r := grid.Record{Job: jobOf(me, "a", "1"), State: grid.Ready}
	chosen := grid.Decision{Chosen: "a"}
	old, now := grid.Decision{Unmoved: true, Stays: "then"}, grid.Decision{Unmoved: true, Stays: "now"}
	for name, k := range map[string]struct {
		kept []grid.Decision
		stay *grid.Decision
		want string
	}{
		"nothing":               {nil, nil, ""},
		"a place":               {[]grid.Decision{chosen}, nil, "a"},
		"a place, and it stays": {[]grid.Decision{chosen}, &now, "a now"},
		"it stays":              {nil, &now, "now"},
		"it stayed before":      {[]grid.Decision{chosen, old}, &now, "a now"},
		"it stayed":             {[]grid.Decision{chosen, old}, nil, "a then"},
	} {
		j.decisions, r.Stay = k.kept, k.stay
		b.view.set(r)
		list, err := b.Decisions(t.Context(), r.Job.ID)
		got := ""
		for i, d := range list {
			if i > 0 {
				got += " "
			}
			got += string(d.Chosen) + d.Stays
		}
		if err != nil || got != k.want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	j.fails = errBoom
	if _, err := b.Decisions(t.Context(), r.Job.ID); !errors.Is(err, grid.ErrUnavailable) {
		t.Errorf("from a journal that cannot be read: %v", err)
	}
	if h, err := b.History(t.Context(), "j"); err != nil || len(h) != 1 || h[0].Why != fmt.Sprint(grid.KindJob, " j") {
		t.Errorf("the history of a job is %+v, %v", h, err)
	}
	if h, err := b.GroupHistory(t.Context(), "g"); err != nil || len(h) != 1 || h[0].Why != fmt.Sprint(grid.KindGroup, " g") {
		t.Errorf("the history of a group is %+v, %v", h, err)
	}
}

// Jobs that go on are counted by what is asked of them, and listed up to as many as are wanted, in order.
func TestJobsThatGoOn(t *testing.T) {
	t.Parallel()
	b := newHands().b
	for n, state := range []grid.State{grid.Running, grid.Ready, grid.Running} {
		b.view.set(grid.Record{Job: jobOf(me, "a", fmt.Sprint(n)), State: state})
	}
	got := b.Count(func(r *grid.Record) string {
		if r.State == grid.Ready {
			return ""
		}
		return r.State.String()
	})
	if len(got) != 1 || got["RUNNING"] != 2 {
		t.Errorf("counted are %v", got)
	}
	running := func(r *grid.Record) bool { return r.State == grid.Running }
	if list := b.Live(5, running); len(list) != 2 || list[0].Job.ID >= list[1].Job.ID {
		t.Errorf("listed are %+v", list)
	}
	if list := b.Live(1, running); len(list) != 1 {
		t.Errorf("one is %d", len(list))
	}
	ended := core.Ended{}
	ended[grid.Completed] = 3
	b.showEnded(ended)
	if got := b.Ended(); len(got) != 1 || got["COMPLETED"] != 3 {
		t.Errorf("ended are %v", got)
	}
}
