package broker

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"gbroker/broker/core"
	"gbroker/grid"
	"gbroker/wire"
)

// asked answers one request, and gives it without its token.
func asked(t *testing.T, b *Broker, a core.Answer) <-chan core.Event {
	t.Helper()
	came := make(chan core.Event, 1)
	go func() {
		select {
		case e := <-b.events:
			v := reflect.New(reflect.TypeOf(e)).Elem()
			v.Set(reflect.ValueOf(e))
			token := v.FieldByName("Token")
			a.Token = core.Token(token.Uint())
			token.SetZero()
			came <- v.Interface().(core.Event)
			b.answer(a)
		case <-t.Context().Done():
		}
	}()
	return came
}

// What is asked of a broker is put to Core as it was said, and what Core answers is told, an error too.
func TestRequestsAreAnsweredByCore(t *testing.T) {
	t.Parallel()
	job := jobOf(me, "a", "1")
	made := grid.Record{Job: job, State: grid.StageOut, Reason: "made", Run: grid.Run{End: grid.Completed}}
	group, template := grid.Group{ID: "a.g", Name: "g"}, &grid.Template{Document: "d"}
	held := grid.Reservation{ID: "r1", Cores: 4}
	answer := core.Answer{
		Record: made, Again: true, Fates: []core.Fate{{Job: "f"}}, Where: grid.Decision{Chosen: "a"}, Spread: []grid.Spread{{Of: 3}}, Several: &grid.SlotChoice{},
		Group: group, Jobs: []grid.Record{made}, Reservation: held, Slack: 7, Found: core.Found{Next: 5}, Asked: []string{"b"},
	}
	wish, reserve := core.Wish{Job: job.ID, User: "ann"}, wire.Reserve{ID: "r1"}
	for name, k := range map[string]struct {
		ask   func(ctx context.Context, b *Broker) (told any, err error)
		event core.Event
		told  any
	}{
		"submit": {func(ctx context.Context, b *Broker) (any, error) {
			r, again, err := b.Submit(ctx, job, "k", true)
			return []any{r.Reason, again}, err
		}, core.Submit{Job: job, Key: "k", Anyway: true}, []any{"made", true}},
		"where": {func(ctx context.Context, b *Broker) (any, error) {
			d, err := b.Where(ctx, job, "k")
			return d.Chosen, err
		},
			core.Where{Job: job, Key: "k"}, grid.SiteName("a")},
		"where all": {func(ctx context.Context, b *Broker) (any, error) {
			d, spread, several, err := b.WhereAll(ctx, job)
			return []any{d.Chosen, len(spread), several != nil}, err
		}, core.Where{Job: job, All: true, Cost: grid.SourceCost{Bytes: 5}}, []any{grid.SiteName("a"), 1, true}},
		"uploaded": {func(ctx context.Context, b *Broker) (any, error) {
			r, err := b.Uploaded(ctx, job.ID, grid.Manifest{{Path: "x"}})
			return r.Reason, err
		}, core.Uploaded{Job: job.ID, Inputs: grid.Manifest{{Path: "x"}}}, "made"},
		"cancel": {func(ctx context.Context, b *Broker) (any, error) {
			r, sure, err := b.Cancel(ctx, job.ID, "ann")
			return []any{r.Reason, sure}, err
		}, core.CancelRequest{Job: job.ID, By: "ann"}, []any{"made", true}},
		"alter": {func(ctx context.Context, b *Broker) (any, error) {
			r, sure, err := b.Alter(ctx, core.Alter{Job: job.ID, By: "ann"})
			return []any{r.Reason, sure}, err
		}, core.Alter{Job: job.ID, By: "ann"}, []any{"made", true}},
		"remove": {func(ctx context.Context, b *Broker) (any, error) { return nil, b.Remove(ctx, job.ID) }, core.RemoveRequest{Job: job.ID}, nil},
		"drain":  {func(ctx context.Context, b *Broker) (any, error) { return nil, b.Drain(ctx, true) }, core.DrainRequest{On: true}, nil},
		"forget": {func(ctx context.Context, b *Broker) (any, error) {
			f, err := b.Forget(ctx, her, true, true, "root")
			return len(f), err
		}, core.Forget{Site: her, Fenced: true, DryRun: true, By: "root"}, 1},
		"end": {func(ctx context.Context, b *Broker) (any, error) {
			r, err := b.EndJob(ctx, job.ID, true, false, "root")
			return r.Reason, err
		}, core.EndJob{Job: job.ID, Dead: true, By: "root"}, "made"},
		"resume":        {func(ctx context.Context, b *Broker) (any, error) { l, err := b.Resume(ctx); return len(l), err }, core.Resume{}, 1},
		"had duplicate": {func(ctx context.Context, b *Broker) (any, error) { l, err := b.HadDuplicate(ctx); return len(l), err }, core.HadDuplicate{}, 1},
		"elsewhere": {func(ctx context.Context, b *Broker) (any, error) {
			f, err := b.AskElsewhere(ctx, her, wish)
			return f.Next, err
		}, core.Forward{To: her, Wish: wish}, 5},
		"submit a group": {func(ctx context.Context, b *Broker) (any, error) {
			g, jobs, again, err := b.SubmitGroup(ctx, group, []grid.Job{job}, template, true)
			return []any{g.Name, len(jobs), again}, err
		}, core.SubmitGroup{Group: group, Jobs: []grid.Job{job}, Template: template, Anyway: true}, []any{"g", 1, true}},
		"cancel a group": {func(ctx context.Context, b *Broker) (any, error) {
			g, err := b.CancelGroup(ctx, group.ID, "ann")
			return g.Name, err
		}, core.CancelGroup{Group: group.ID, By: "ann"}, "g"},
		"remove a group": {func(ctx context.Context, b *Broker) (any, error) { return nil, b.RemoveGroup(ctx, group.ID) }, core.RemoveGroup{Group: group.ID}, nil},
		"reserve": {func(ctx context.Context, b *Broker) (any, error) {
			r, slack, err := b.Reserve(ctx, her, reserve)
			return []any{r.Cores, slack}, err
		}, core.ReserveRequest{To: her, Reserve: reserve}, []any{4, grid.Tick(7)}},
		"release": {func(ctx context.Context, b *Broker) (any, error) {
			r, err := b.Release(ctx, "r1", "ann")
			return r.Cores, err
		},
			core.ReleaseRequest{ID: "r1", By: "ann"}, 4},
		"change": {func(ctx context.Context, b *Broker) (any, error) {
			r, err := b.ChangeReservation(ctx, "r1", 5, 6, 7)
			return r.Cores, err
		}, core.ChangeRequest{ID: "r1", Start: 5, Length: 6, Nodes: 7}, 4},
	} {
		h := newHands()
		h.b.view.set(made)
		came := asked(t, h.b, answer)
		told, err := k.ask(t.Context(), h.b)
		if event := <-came; fmt.Sprintf("%T%+v", event, event) != fmt.Sprintf("%T%+v", k.event, k.event) {
			t.Errorf("%s: Core is asked %T%+v, want %T%+v", name, event, event, k.event, k.event)
		}
		if err != nil || !reflect.DeepEqual(told, k.told) {
			t.Errorf("%s: it is told %v, %v; want %v", name, told, err, k.told)
		}
		came = asked(t, h.b, core.Answer{Err: errRefused})
		if _, err := k.ask(t.Context(), h.b); !errors.Is(err, grid.ErrForbidden) {
			t.Errorf("%s: refused it is told %v", name, err)
		}
		<-came
	}
}

// Who asks a broker that stops, or has no more time, is told that it is not there; what he asked for may have been done.
func TestRequestsThatNobodyAnswers(t *testing.T) {
	t.Parallel()
	h := newHands()
	brief, cancel := context.WithCancel(t.Context())
	cancel()
	busy := func() {
		for len(h.b.events) < cap(h.b.events) {
			h.b.events <- core.Tick{}
		}
	}
	busy()
	if err := h.b.Drain(brief, true); !errors.Is(err, grid.ErrUnavailable) || !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "too busy") || errors.Is(err, ErrPerhaps) {
		t.Errorf("a broker that is busy: %v", err)
	}
	<-h.b.events
	for len(h.b.events) < cap(h.b.events) { // either is drawn where there is room
		if err := h.b.Drain(brief, true); !errors.Is(err, grid.ErrUnavailable) || !errors.Is(err, context.Canceled) {
			t.Errorf("one that does not answer: %v", err)
		}
	}
	close(h.b.done)
	if err := h.b.Drain(t.Context(), true); !errors.Is(err, grid.ErrUnavailable) || !strings.Contains(err.Error(), "stopping") {
		t.Errorf("one that stops: %v", err)
	}
	<-h.b.events
	if err := h.b.Drain(t.Context(), true); !errors.Is(err, grid.ErrUnavailable) || !strings.Contains(err.Error(), "stopping") {
		t.Errorf("one that stops before it answers: %v", err)
	}
	answered := 0
	h.b.answers.Range(func(any, any) bool { answered++; return true })
	if answered > 0 {
		t.Errorf("%d requests are remembered of which nobody waits for an answer", answered)
	}
}

// A job whose end is asked for is certain to have ended where it has, where its end is known, or where it never was more than a number.
func TestWhenACancelIsCertain(t *testing.T) {
	t.Parallel()
	job := jobOf(me, "a", "1")
	sweep := grid.Group{ID: grid.NewGroupID("a", "01ARZ3NDEKTSV4RRFFQ69G5FAV"), Jobs: 3}
	for name, k := range map[string]struct {
		id    grid.JobID
		show  *grid.Record
		sure  bool
		state grid.State
	}{
		"it runs":         {job.ID, &grid.Record{Job: job, State: grid.Running}, false, grid.Running},
		"it has ended":    {job.ID, &grid.Record{Job: job, State: grid.Killed}, true, grid.Killed},
		"its end is told": {job.ID, &grid.Record{Job: job, State: grid.StageOut, Run: grid.Run{End: grid.Killed}}, true, grid.StageOut},
		"a number":        {sweep.ID.Job(2), nil, true, grid.Submitted},
	} {
		synctest.Test(t, func(t *testing.T) {
			h := newHands()
			h.b.groups.all[sweep.ID] = &group{Group: sweep}
			if k.show != nil {
				h.b.view.set(*k.show)
				h.journal.recs = append(h.journal.recs, *k.show) // where it is read that it is archived
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			asked(t, h.b, core.Answer{})
			began := time.Now()
			r, sure, err := h.b.Cancel(ctx, k.id, "ann")
			if err != nil || sure != k.sure || r.State != k.state || (time.Since(began) == 0) != k.sure {
				t.Errorf("%s: %s, %t, %v, after %v", name, r.State, sure, err, time.Since(began))
			}
		})
	}
}

// An alteration is settled where nothing that it replaces can start any more: a job that is to be kept back has to be here, and waiting.
func TestWhenAnAlterationIsSettled(t *testing.T) {
	t.Parallel()
	held, free, later, walltime := true, false, grid.Tick(5), grid.Hour
	back, on := grid.Alteration{Held: &held}, grid.Alteration{Held: &free}
	for _, k := range []struct {
		name string
		r    grid.Record
		to   grid.Alteration
		want bool
	}{
		{"it is on its way", grid.Record{AtHome: grid.AtHome{Altered: &grid.Alteration{}}}, on, false},
		{"one that is let go, wherever it is", grid.Record{State: grid.Assigned}, on, true},
		{"one that is changed", grid.Record{State: grid.Assigned}, grid.Alteration{Walltime: &walltime}, true},
		{"one that is held, and waits here", grid.Record{State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning}}, back, true},
		{"one that is held, and its files come", grid.Record{State: grid.StageIn, Tenure: grid.Tenure{Role: grid.Owning}}, back, true},
		{"one that is held, and waits elsewhere", grid.Record{State: grid.Ready, Tenure: grid.Tenure{Role: grid.Watching}}, back, false},
		{"one that is held, and is in the batch system", grid.Record{State: grid.Assigned, Tenure: grid.Tenure{Role: grid.Owning}}, back, false},
		{"one that is to start later, and is in the batch system", grid.Record{State: grid.Assigned, Tenure: grid.Tenure{Role: grid.Owning}}, grid.Alteration{NotBefore: &later}, false},
	} {
		if got := settled(&k.r, k.to); got != k.want {
			t.Errorf("%s: %t", k.name, got)
		}
	}
}

// A broker that starts has nothing to tell: it says that, and is no broker without jobs.
func TestABrokerThatStartsKnowsNothing(t *testing.T) {
	t.Parallel()
	b := NewBroker(core.Config{Self: me}, nil, Ports{Log: zap.NewNop()})
	ctx := t.Context()
	sweep := grid.Group{ID: grid.NewGroupID("a", "01ARZ3NDEKTSV4RRFFQ69G5FAV"), Jobs: 3}
	for name, ask := range map[string]func() error{
		"a job":          func() error { _, _, err := b.Job(ctx, "j"); return err },
		"its document":   func() error { _, err := b.Whole(ctx, "j"); return err },
		"its history":    func() error { _, err := b.History(ctx, "j"); return err },
		"its decisions":  func() error { _, err := b.Decisions(ctx, "j"); return err },
		"a group's":      func() error { _, err := b.GroupHistory(ctx, "g"); return err },
		"jobs":           func() error { _, err := b.Jobs(ctx, "", 5, "", nil); return err },
		"jobs of groups": func() error { _, err := b.JobsOf(ctx, sweep, 0, 3); return err },
		"room":           func() error { _, _, err := b.Room(); return err },
		"room for a job": func() error { _, _, err := b.Submit(ctx, grid.Job{}, "", false); return err },
		"room for a sweep": func() error {
			_, _, _, err := b.SubmitGroup(ctx, sweep, nil, &grid.Template{}, false)
			return err
		},
		"room for a group": func() error {
			_, _, _, err := b.SubmitGroup(ctx, sweep, []grid.Job{{}}, nil, false)
			return err
		},
	} {
		if err := ask(); !errors.Is(err, grid.ErrUnavailable) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, alarm := b.Alarm(); alarm || b.SiteState().Draining || b.JournalID() != (grid.JournalID{}) || len(b.Ended()) > 0 || b.Reserves() {
		t.Error("it tells more than it knows")
	}
	if fmt.Sprint(b.Accuracy()) != fmt.Sprint(core.Accuracy{}) {
		t.Errorf("it tells how good its estimates are: %+v", b.Accuracy())
	}
}

// That a job over several sites is held or altered is not certain while parts of it that were told to go may begin.
func TestPartsThatMayBegin(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		of   *grid.Allocation
		want bool
	}{
		"it has none":               {nil, false},
		"nothing was told to go":    {&grid.Allocation{Parts: []grid.AllocatedPart{{Made: true}}}, false},
		"all parts have ended":      {&grid.Allocation{Go: 5, Parts: []grid.AllocatedPart{{Made: true, Fate: grid.Killed}, {}}}, false},
		"one was told, and may yet": {&grid.Allocation{Go: 5, Parts: []grid.AllocatedPart{{Made: true, Fate: grid.Killed}, {Made: true}}}, true},
	} {
		if mayBegin(k.of) != k.want {
			t.Errorf("%s: %t", name, !k.want)
		}
	}
}
