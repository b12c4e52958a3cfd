package broker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"

	"gbroker/broker/core"
	"gbroker/grid"
	"gbroker/plan"
	"gbroker/reserve"
)

// failing is a journal of which one call fails, named by it.
type failing struct {
	journalStub
	guard  sync.Mutex
	call   string
	seen   []grid.PeerID
	words  []grid.LastWord
	told   int
	closed int
}

// only lets one call fail from now on, or none ("").
func (j *failing) only(call string) {
	j.guard.Lock()
	defer j.guard.Unlock()
	j.call = call
}

func (j *failing) err(call string) error {
	j.guard.Lock()
	defer j.guard.Unlock()
	if j.call == call {
		return errBoom
	}
	return nil
}

func (j *failing) Site(context.Context) (grid.SiteState, error) {
	return grid.SiteState{Draining: true}, j.err("Site")
}
func (j *failing) Peers(context.Context) (map[grid.PeerID][]grid.JournalID, error) {
	return nil, j.err("Peers")
}
func (j *failing) Groups(context.Context) ([]grid.Group, error) { return nil, j.err("Groups") }
func (j *failing) Templates(context.Context) ([]grid.Template, error) {
	return nil, j.err("Templates")
}
func (j *failing) Results(context.Context) ([]grid.Results, error) { return nil, j.err("Results") }
func (j *failing) Allocations(context.Context) ([]grid.Allocation, error) {
	return []grid.Allocation{{Of: "j", Parts: make([]grid.AllocatedPart, 1)}}, j.err("Allocations")
}
func (j *failing) Budgets(context.Context) ([]grid.Budget, error) {
	return []grid.Budget{{User: "ann"}}, j.err("Budgets")
}
func (j *failing) Reservations(context.Context) ([]grid.Reservation, error) {
	return []grid.Reservation{{ID: "r1"}}, j.err("Reservations")
}
func (j *failing) Each(ctx context.Context, give func(grid.Record) error) error {
	return errors.Join(j.journalStub.Each(ctx, give), j.err("Each"))
}
func (j *failing) Told(_ context.Context, want func(grid.LastWord) bool) (list []grid.Record, _ error) {
	for _, w := range j.words {
		if want(w) {
			list = append(list, grid.Record{Job: grid.Job{ID: w.Job}, State: w.State, Tenure: grid.Tenure{Role: grid.Owning}})
		}
	}
	return list, j.err("Told")
}
func (j *failing) SeenPeer(_ context.Context, p grid.PeerID, _ grid.JournalID) error {
	j.seen = append(j.seen, p)
	return j.err("SeenPeer")
}
func (j *failing) Commit(ctx context.Context, changes []grid.Change) error {
	return errors.Join(j.journalStub.Commit(ctx, changes), j.err("Commit"))
}
func (j *failing) Tell(_ context.Context, _ uint32, records []grid.Record) error {
	j.told += len(records)
	return j.err("Tell")
}
func (j *failing) Close() error { j.closed++; return nil }

// A broker does not begin on a journal that cannot be read in full, whatever of it; it says so, and leaves the journal to others.
func TestABrokerBeginsOnAWholeJournal(t *testing.T) {
	t.Parallel()
	for _, call := range []string{"Site", "Peers", "Groups", "Templates", "Results", "Allocations", "Budgets", "Reservations", "Each", "Told"} {
		j := &failing{call: call}
		b := (&shell{}).broker()
		b.ports.Journal = func(context.Context) (Journal, error) { return j, nil }
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		err := b.Run(ctx)
		cancel()
		if !errors.Is(err, errBoom) || !strings.Contains(err.Error(), "loading the journal") || j.closed != 1 {
			t.Errorf("%s fails: %v, closed %d times", call, err, j.closed)
		}
		select {
		case <-b.Ready():
			t.Errorf("%s fails, and it is ready", call)
		default:
		}
	}
	b := (&shell{}).broker()
	b.ports.Journal = func(context.Context) (Journal, error) { return nil, errBoom }
	if err := b.Run(t.Context()); !errors.Is(err, errBoom) || !strings.Contains(err.Error(), "opening the journal") {
		t.Errorf("one that cannot be opened: %v", err)
	}
}

// When a broker is ready, readers see what is in its journal.
func TestABrokerThatIsReadyShowsItsJournal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := &failing{}
		job := jobOf(her, "b", "1")
		j.recs = []grid.Record{{Job: job, State: grid.Running, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1, Hop: 1}}}}
		b := (&shell{}).broker()
		b.cfg.Granted = map[string]grid.Amount{"ann": 5}
		b.ports.Journal = func(context.Context) (Journal, error) { return j, nil }
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- b.Run(ctx) }()
		<-b.Ready()
		if r, known, err := b.Job(ctx, job.ID); !known || err != nil || r.State != grid.Running {
			t.Errorf("its job: %+v, %t, %v", r, known, err)
		}
		if a, is := b.Allocation("j"); !is || len(a.Parts) != 1 || len(b.Budgets()) != 1 || len(b.Reservations()) != 1 || !b.SiteState().Draining {
			t.Errorf("shown are %v, %v, %v, %+v", a, b.Budgets(), b.Reservations(), b.SiteState())
		}
		cancel()
		if err := <-ended; err != nil || j.closed != 1 {
			t.Errorf("it ends with %v, its journal closed %d times", err, j.closed)
		}
		b.Post(core.Tick{}) // who comes too late is not held
	})
}

// What the journal has of ends, and of cancelled groups, and the file beside it lacks, is written there at a start, and no more;
// where that file has another end, that counts.
func TestABrokerWritesWhatTheFileBesideLacks(t *testing.T) {
	t.Parallel()
	j := &failing{}
	for _, n := range []string{"1", "2", "3"} {
		j.recs = append(j.recs, grid.Record{Job: jobOf(me, "a", n), State: grid.Completed, Ended: 5, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}, Run: grid.Run{End: grid.Completed}})
	}
	j.words = []grid.LastWord{{Job: j.recs[0].Job.ID, State: grid.Completed}, {Job: j.recs[1].Job.ID, State: grid.Killed}}
	b := (&shell{}).broker()
	c, err := b.core(t.Context(), b.cfg, j)
	if err != nil {
		t.Fatal(err)
	}
	written := map[grid.JobID]grid.State{}
	for _, e := range c.Step(1_000_000, core.Boot{}) {
		if w, is := e.(core.KeepTold); is {
			written[w.Record.Job.ID] = w.Record.State
		}
	}
	if len(written) != 2 || written[j.recs[1].Job.ID] != grid.Killed || written[j.recs[2].Job.ID] != grid.Completed {
		t.Errorf("written are %v", written)
	}
}

// A save that fails ends a Core: who had asked is told, nothing of it leaves, and another Core is made of the journal after a moment.
func TestASaveThatFailsEndsTheCore(t *testing.T) {
	t.Parallel()
	for _, call := range []string{"Commit", "Tell"} {
		synctest.Test(t, func(t *testing.T) {
			j := &failing{}
			b := (&shell{}).broker()
			var opened atomic.Int32
			b.ports.Journal = func(context.Context) (Journal, error) { opened.Add(1); return j, nil }
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error)
			go func() { ended <- b.Run(ctx) }()
			<-b.Ready()
			synctest.Wait()
			j.only(call)
			if err := b.Drain(ctx, false); !errors.Is(err, grid.ErrUnavailable) || !errors.Is(err, errBoom) || !errors.Is(err, ErrPerhaps) {
				t.Errorf("%s fails, and who asked is told %v", call, err)
			}
			j.only("")
			synctest.Wait()
			if opened.Load() != 1 {
				t.Errorf("%s failed, and the journal is opened again at once", call)
			}
			time.Sleep(2 * time.Second)
			synctest.Wait()
			if err := b.Drain(ctx, false); err != nil || opened.Load() != 2 {
				t.Errorf("%s failed, and the next Core says %v; the journal was opened %d times", call, err, opened.Load())
			}
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		})
	}
}

// What a peer's journal is noted at is written first, and is worth no failure; nothing is committed where nothing has changed.
func TestWhatIsWrittenBeforeEffectsLeave(t *testing.T) {
	t.Parallel()
	b := newHands().b
	b.host.Begin(core.New(core.Config{Self: me}, nil, nil), b.clocks())
	seen := []core.Saw{{Peer: her}}
	change := []grid.Change{grid.Saved(&grid.Record{Job: jobOf(me, "a", "1")})}
	for _, k := range []struct {
		name   string
		write  core.Write
		fails  string
		failed bool
		recs   int
		told   int
	}{
		{"only what a peer said", core.Write{Seen: seen}, "", false, 0, 0},
		{"what a peer said, in vain", core.Write{Seen: seen}, "SeenPeer", false, 0, 0},
		{"a change", core.Write{Changes: change}, "", false, 1, 0},
		{"a change, in vain", core.Write{Changes: change, Told: make([]grid.Record, 1)}, "Commit", true, 1, 0},
		{"a word", core.Write{Told: make([]grid.Record, 1)}, "Commit", false, 0, 1},
		{"both", core.Write{Changes: change, Told: make([]grid.Record, 1)}, "", false, 1, 1},
	} {
		j := &failing{call: k.fails}
		err := b.write(t.Context(), j, &k.write)
		if (err != nil) != k.failed || len(j.recs) != k.recs || j.told != k.told || len(j.seen) != len(k.write.Seen) {
			t.Errorf("%s: %v, %d changes, %d words, %d peers", k.name, err, len(j.recs), j.told, len(j.seen))
		}
	}
}

// What was set while one Core lived is so for the next.
func TestTheNextCoreIsConfiguredAsTheLast(t *testing.T) {
	t.Parallel()
	b := newHands().b
	b.host.Begin(core.New(core.Config{Self: me}, nil, nil), b.clocks())
	prices, members := &plan.Pricing{}, []grid.Member{{Peer: him, SameUsers: true}}
	for _, e := range []core.Event{
		core.MembersChanged{Members: members}, core.OwnSite{Site: grid.Site{Name: "now"}}, core.BudgetsChanged{Granted: map[string]grid.Amount{"ann": 5}},
		core.PricesChanged{Prices: prices}, core.LimitsChanged{User: core.UserLimits{Jobs: 7}, OfferFiles: 8}, core.ReservingChanged{Rules: reserve.Rules{Limit: 9}},
	} {
		b.post(e)
	}
	c := &b.cfg
	if len(b.members) != 1 || !b.SameUsers(him) || b.SameUsers(her) || !b.SameUsers(me) {
		t.Errorf("members %+v", b.members)
	}
	if c.Site.Name != "now" || c.Granted["ann"] != 5 || c.Prices != prices || c.User.Jobs != 7 || c.OfferFiles != 8 || c.Reserving.Limit != 9 {
		t.Errorf("%+v", c)
	}
	b.SetBudgets(map[string]grid.Amount{"bob": 1})
	b.SetReserving(reserve.Rules{Limit: 3})
	heard := fmt.Sprintf("%+v %+v", <-b.events, <-b.events)
	if want := fmt.Sprintf("%+v %+v", core.BudgetsChanged{Granted: map[string]grid.Amount{"bob": 1}}, core.ReservingChanged{Rules: reserve.Rules{Limit: 3}}); heard != want {
		t.Errorf("Core hears %s, want %s", heard, want)
	}
}

// Sweeps tell Core what is in the batch system and on the disk, each though the other is not known, until the broker ends.
func TestSweepsTellWhatThereIs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHands()
		h.folders = []grid.JobID{"x"}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() { h.b.sweep(ctx); close(ended) }()
		heard := func() (all []string) {
			synctest.Wait()
			for len(h.b.events) > 0 {
				all = append(all, fmt.Sprintf("%T", <-h.b.events))
			}
			return all
		}
		time.Sleep(firstSweep - time.Second)
		if got := heard(); len(got) > 0 {
			t.Errorf("too early: %v", got)
		}
		time.Sleep(time.Second)
		if got := heard(); !slices.Equal(got, []string{"core.Attempts", "core.Folders"}) {
			t.Errorf("the first tells %v", got)
		}
		h.only("Attempts")
		time.Sleep(secondSweep)
		if got := heard(); !slices.Equal(got, []string{"core.Folders"}) {
			t.Errorf("without the batch system: %v", got)
		}
		h.only("Jobs")
		time.Sleep(nextSweeps)
		if got := heard(); !slices.Equal(got, []string{"core.Attempts"}) {
			t.Errorf("without the folders: %v", got)
		}
		cancel()
		<-ended
	})
}

// The age of what was put aside, and is removed, is that of ended jobs.
type asides struct {
	shell
	then time.Time
}

func (a *asides) DropAside(then time.Time) (int, error) { a.then = then; return 1, errBoom }

func TestWhatWasPutAsideIsKeptLikeEndedJobs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := &asides{}
		b := NewBroker(core.Config{Self: me, Keep: 3 * grid.Hour}, nil, Ports{Stager: a, Log: zap.NewNop()})
		b.host.Begin(core.New(core.Config{Self: me}, nil, nil), core.Reading{})
		var aside sync.WaitGroup
		aside.Go(b.dropAside)
		b.post(core.OwnSite{Site: grid.Site{Name: "now"}}) // the site's files are read again meanwhile
		aside.Wait()
		if age := time.Since(a.then); age != 3*time.Hour {
			t.Errorf("removed is what is older than %v", age)
		}
	})
}

// A job is refused where the disk of the journal has no more than its reserve, or its files have no room, with how much there is.
func TestRoomForAJob(t *testing.T) {
	t.Parallel()
	h := newHands()
	const room = 10 << 20
	h.taken.Store(1<<40 - room)
	sized := func(n int64) *grid.Job { return &grid.Job{Inputs: grid.Manifest{{Path: "x", Size: n}}} }
	if err := h.b.roomFor(sized(room)); err != nil || h.b.full() {
		t.Errorf("what just fits: %v, full %t", err, h.b.full())
	}
	if err := h.b.roomFor(sized(room + 1)); !errors.Is(err, grid.ErrUnavailable) || !strings.Contains(err.Error(), "brings 11 MiB, and there is room for 10 MiB") {
		t.Errorf("what does not: %v", err)
	}
	h.taken.Store(1 << 40)
	if err := h.b.roomFor(sized(0)); !errors.Is(err, grid.ErrUnavailable) || !h.b.full() {
		t.Errorf("nothing, where there is no room: %v", err)
	}
	h.taken.Store(0)
	for free, fine := range map[int64]bool{Reserve: true, Reserve - 1: false} {
		var journal Journal = spacious{&h.journal, free, nil}
		h.b.journal.Store(&journal)
		if err := h.b.roomFor(sized(1)); (err == nil) != fine || h.b.full() == fine || err != nil && !strings.Contains(err.Error(), "63 MiB are left, and 64 MiB are kept") {
			t.Errorf("a journal with %d bytes: %v", free, err)
		}
	}
	var journal Journal = spacious{&h.journal, 0, errBoom}
	h.b.journal.Store(&journal)
	if err := h.b.roomFor(sized(1)); !errors.Is(err, errBoom) || h.b.full() {
		t.Errorf("where it cannot be told: %v, full %t", err, h.b.full())
	}
}

// spacious is a journal on a disk with so much room.
type spacious struct {
	*journalStub
	free int64
	err  error
}

func (j spacious) Space() (int64, error) { return j.free, j.err }
