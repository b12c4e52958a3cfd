package broker

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/zap"

	"gbroker/broker/core"
	"gbroker/grid"
	"gbroker/plan"
	"gbroker/wire"
)

const me, her, him = grid.PeerID("peer-a"), grid.PeerID("peer-b"), grid.PeerID("peer-c")

func jobOf(home grid.PeerID, site grid.SiteName, n string) grid.Job {
	return grid.Job{ID: grid.NewJobID(site, "0000000000000000000000000"+n), Home: home,
		User: grid.User{Home: home, Name: "alice"}, Walltime: 60000, Program: grid.Program{Executable: "/bin/true"},
		Demand: grid.Demand{Chunks: []grid.Chunk{{Count: 1, Processes: 1, Cores: 1}}}}
}

type shell struct {
	journal    journalStub
	observe    func()
	fetching   atomic.Int32
	collecting atomic.Int32
	folders    atomic.Int32
	taken      atomic.Int64 // of the space for files of jobs
}

type journalStub struct {
	fail      atomic.Bool
	mu        sync.Mutex
	recs      []grid.Record
	decisions []grid.Decision // of all jobs
	reads     int             // of records, single or some
}

func (j *journalStub) ID() grid.JournalID { return grid.JournalID{} }
func (j *journalStub) Each(_ context.Context, give func(grid.Record) error) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, r := range j.recs {
		if err := give(r); err != nil {
			return err
		}
	}
	return nil
}
func (j *journalStub) find(id grid.JobID) int {
	return slices.IndexFunc(j.recs, func(r grid.Record) bool { return r.Job.ID == id })
}
func (j *journalStub) Record(_ context.Context, id grid.JobID) (grid.Record, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.reads++
	if k := j.find(id); k >= 0 {
		return j.recs[k], nil
	}
	return grid.Record{}, grid.ErrNotFound
}
func (j *journalStub) Records(_ context.Context, ids []grid.JobID) (list []grid.Record, _ error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.reads++
	for _, id := range ids {
		if k := j.find(id); k >= 0 {
			list = append(list, j.recs[k])
		}
	}
	return list, nil
}
func (j *journalStub) Page(context.Context, grid.JobID, string, int) ([]grid.Record, error) {
	return j.recs, nil
}
func (j *journalStub) Groups(context.Context) ([]grid.Group, error)             { return nil, nil }
func (j *journalStub) Budgets(context.Context) ([]grid.Budget, error)           { return nil, nil }
func (j *journalStub) Allocations(context.Context) ([]grid.Allocation, error)   { return nil, nil }
func (j *journalStub) Templates(context.Context) ([]grid.Template, error)       { return nil, nil }
func (j *journalStub) Results(context.Context) ([]grid.Results, error)          { return nil, nil }
func (j *journalStub) Site(context.Context) (grid.SiteState, error)             { return grid.SiteState{}, nil }
func (j *journalStub) Reservations(context.Context) ([]grid.Reservation, error) { return nil, nil }
func (j *journalStub) History(context.Context, grid.Kind, string) ([]grid.Event, error) {
	return nil, nil
}
func (j *journalStub) Decisions(context.Context, grid.JobID) ([]grid.Decision, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.decisions), nil
}
func (j *journalStub) Space() (int64, error)                                       { return 1 << 40, nil }
func (j *journalStub) SeenPeer(context.Context, grid.PeerID, grid.JournalID) error { return nil }
func (j *journalStub) Peers(context.Context) (map[grid.PeerID][]grid.JournalID, error) {
	return nil, nil
}
func (j *journalStub) Lives() []grid.Life    { return nil }
func (j *journalStub) Witness() grid.Witness { return grid.Witness{} }
func (j *journalStub) Told(context.Context, func(grid.LastWord) bool) ([]grid.Record, error) {
	return nil, nil
}
func (j *journalStub) Tell(context.Context, uint32, []grid.Record) error { return nil }
func (j *journalStub) Close() error                                      { return nil }
func (j *journalStub) Commit(_ context.Context, changes []grid.Change) error {
	if j.fail.CompareAndSwap(true, false) {
		return errors.New("no space")
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, c := range changes {
		id, r, _ := c.Job()
		j.decisions = append(j.decisions, c.Decisions...)
		if k := j.find(id); r != nil && k >= 0 {
			j.recs[k] = *r
		} else if r != nil {
			j.recs = append(j.recs, *r)
		}
	}
	return nil
}

func (s *shell) Send(grid.PeerID, wire.Message) error                       { return nil }
func (s *shell) PublishOwner(context.Context, grid.JobID, grid.Epoch) error { return nil }
func (s *shell) Observe(grid.PeerID, int64, time.Duration)                  { s.observe() }
func (s *shell) Snapshot(context.Context) (plan.Snapshot, error) {
	return plan.Snapshot{At: 1, Policy: plan.Policy{Kind: plan.EASY}, Site: grid.Site{Name: "a", Speed: 1}, Nodes: []plan.Node{{Name: "n", Cores: 4}}}, nil
}
func (s *shell) Submit(context.Context, grid.Submission) (grid.LocalID, error)  { return "l", nil }
func (s *shell) Withdraw(context.Context, grid.AttemptID, string) (bool, error) { return true, nil }
func (s *shell) Kill(context.Context, grid.AttemptID, string) error             { return nil }
func (s *shell) Progress(_ context.Context, a grid.AttemptID, _ string) (grid.Progress, error) {
	return grid.Progress{ID: a, Phase: grid.Waiting}, nil
}
func (s *shell) Attempts(context.Context) ([]grid.AttemptID, error) { return nil, nil }
func (s *shell) Paths(grid.JobID) (string, string)                  { return "", "" }
func (s *shell) Fetch(ctx context.Context, _ grid.PeerID, _ grid.JobID, _ core.FileSet, _ grid.Manifest, _ grid.User, _ []grid.Grant) error {
	s.fetching.Add(1)
	<-ctx.Done() // as stage: a peer that is not reached is tried again until ctx is done
	return ctx.Err()
}
func (s *shell) MakeFolder(grid.JobID) error                   { s.folders.Add(1); return nil }
func (s *shell) Prepare(context.Context, grid.Job, bool) error { return nil }
func (s *shell) Collect(context.Context, grid.Job) (grid.Manifest, []grid.MissingOutput, error) {
	s.collecting.Add(1)
	return nil, nil, nil
}
func (s *shell) Discard(grid.JobID, bool) error { return nil }
func (s *shell) Bring(context.Context, grid.PeerID, grid.Job) (bool, error) {
	return false, nil
}
func (s *shell) Costs(context.Context, grid.Job) grid.SourceCost { return grid.SourceCost{} }
func (s *shell) Export(context.Context, grid.Job, grid.Manifest, func(string)) (failed, gone []string, err error) {
	return nil, nil, nil
}
func (s *shell) End(grid.JobID) error                              { return nil }
func (s *shell) Jobs() ([]grid.JobID, error)                       { return nil, nil }
func (s *shell) HasInputs(grid.JobID, grid.Manifest) error         { return nil }
func (s *shell) Share(grid.JobID, grid.JobID, grid.Manifest) error { return nil }

func (s *shell) SetAside(grid.JobID, bool, time.Time) (string, error) { return "", nil }
func (s *shell) Aside() (map[string]grid.JobID, error)                { return nil, nil }
func (s *shell) PutBack(string, grid.JobID) (bool, error)             { return false, nil }
func (s *shell) DropAside(time.Time) (int, error)                     { return 0, nil }
func (s *shell) Space() (int64, error)                                { return 1<<40 - s.taken.Load(), nil }

func (s *shell) broker() *Broker {
	return NewBroker(core.Config{Self: me, Site: grid.Site{Name: "a", Speed: 1}}, []grid.Member{{Name: "b", Peer: her, Send: true}}, Ports{
		Peers: s, Hints: s, Links: s, Batch: s, Stager: s, Log: zap.NewNop(),
		Journal: func(context.Context) (Journal, error) { return &s.journal, nil },
		Clock:   func() grid.Tick { return grid.InstantOf(time.Now()) },
		Tokens:  func(string, grid.JobID) ([]grid.AttemptID, error) { return nil, nil },
		Gather:  func(string, grid.AttemptID, bool, []grid.Gathered) error { return nil },
	})
}

// 16 fetches from a site that is down stop every Collect, Fetch and Discard.
func TestADeadPeerStopsNoCollect(t *testing.T) {
	t.Parallel()
	s := &shell{}
	for n := range 40 {
		j := jobOf(me, "a", string(rune('A'+n)))
		s.journal.recs = append(s.journal.recs, grid.Record{
			Job:    j,
			State:  grid.StageOut,
			Tenure: grid.Tenure{Role: grid.Watching, Owner: her, Epoch: grid.Epoch{Term: 1, Hop: 1}},
			Run:    grid.Run{End: grid.Completed, Outputs: grid.Manifest{{Path: "x"}}},
		})
	}
	mine := jobOf(me, "a", "Z")
	s.journal.recs = append(s.journal.recs, grid.Record{Job: mine, State: grid.Finished, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}, Run: grid.Run{End: grid.Completed, Attempt: 1}})
	b := s.broker()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	go b.Run(ctx)
	<-b.Ready()
	r, _, _ := b.Wait(ctx, mine.ID, func(r *grid.Record) bool { return r.State.Terminal() })
	if !r.State.Terminal() {
		t.Errorf("the local job is %s: %d fetches hold all slots, %d collects ran", r.State, s.fetching.Load(), s.collecting.Load())
	}
}

// What is learned from a delivery comes back as an event: the loop that takes
// events does not wait for that.
func TestTheLoopDoesNotWaitForItself(t *testing.T) {
	t.Parallel()
	s := &shell{}
	b := s.broker()
	s.observe = func() { b.Post(core.LinkChanged{Peer: her}) }
	for len(b.events) < cap(b.events) {
		b.events <- core.Tick{} // a burst of messages
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	left := make(chan struct{})
	go func() {
		b.dispatch(ctx, core.Delivered{Peer: her, Size: 1 << 20, Took: 1}, 0)
		close(left)
	}()
	select {
	case <-left:
	case <-time.After(5 * time.Second):
		t.Fatal("the loop waits for room in its own queue")
	}
	close(b.done) // lets Post go
	b.executor.wait()
}

// After a failed save the new Core believes that all neighbours are dead.
func TestANewCoreKnowsWhoLives(t *testing.T) {
	t.Parallel()
	s := &shell{}
	b := s.broker()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	go b.Run(ctx)
	<-b.Ready()
	b.Post(core.PeerChanged{Peer: her, Liveness: grid.Alive})
	s.journal.fail.Store(true)
	if _, _, err := b.Submit(ctx, jobOf(me, "a", "1"), "k1", false); err == nil {
		t.Fatal("it should have failed")
	}
	j := jobOf(me, "a", "2")
	j.Demand.Chunks[0].Count = 4
	if _, _, err := b.Submit(ctx, j, "k2", false); err != nil {
		t.Fatal(err)
	}
	b.Wait(ctx, j.ID, func(r *grid.Record) bool { return r.State != grid.Submitted && r.State != grid.Ready })
	decisions, err := b.Decisions(ctx, j.ID)
	if err != nil || len(decisions) == 0 {
		t.Fatalf("%d decisions, %v", len(decisions), err)
	}
	for _, row := range decisions[0].Candidates {
		if row.Site == "b" && (row.Refusal == nil || row.Refusal.Reason != "no answer in time") {
			t.Errorf("b lives, and was to be asked: %+v", row.Refusal)
		}
	}
}

// The loop was not run for a while, or the wall clock was set: Core hears of a Stall
// before anything else.
func TestStallsAreNoticed(t *testing.T) {
	t.Parallel()
	s := &shell{}
	b := s.broker()
	now, wall := grid.Tick(1_000_000), grid.Tick(5_000_000)
	b.ports.Clock = func() grid.Tick { return now }
	b.ports.Wall = func() grid.Tick { return wall }
	turn := func() []core.Effect {
		w, _ := b.host.Turn(b.clocks)
		b.host.Written(1)
		return w.Effects
	}
	c := core.New(core.Config{Self: me}, nil, nil)
	b.host.Begin(c, b.clocks())
	turn()
	for _, k := range []struct {
		name      string
		now, wall grid.Tick // how far each goes on
		stall     bool
	}{
		{"as it should be", 10, 10, false},
		{"the wall clock goes back an hour", 10, 10 - grid.Hour, true},
		{"and on from there", 10, 10, false},
		{"the machine slept: only the wall clock knows", 10, grid.Minute, true},
		{"stopped for a minute", grid.Minute, grid.Minute, true},
	} {
		for at, _ := c.Next(); at < now; at, _ = c.Next() {
			c.Step(now, core.Tick{}) // nothing is due
		}
		now, wall = now+k.now, wall+k.wall
		noted := false
		b.host.Post(core.Tick{})
		for _, e := range turn() {
			if _, is := e.(core.Note); is {
				noted = true
			}
		}
		if noted != k.stall {
			t.Errorf("%s: stall %t", k.name, noted)
		}
	}
}

// Peers' files: the home's broker, and those who ask for users that are ours.
func TestWhoMayFetch(t *testing.T) {
	t.Parallel()
	s := &shell{}
	mine, hers := jobOf(me, "a", "1"), jobOf(her, "b", "2")
	b := s.broker()
	for _, j := range []grid.Job{mine, hers} {
		b.view.set(grid.Record{Job: j, State: grid.StageOut, Tenure: grid.Tenure{Owner: me}, Run: grid.Run{End: grid.Completed}})
	}
	may := func(p grid.PeerID, id grid.JobID, set core.FileSet) bool {
		_, err := b.MayFetch(t.Context(), p, id, set)
		return err == nil
	}
	if !may(her, hers.ID, core.OutputFiles) || !may(her, hers.ID, core.LiveFiles) || may(her, mine.ID, core.LiveFiles) || may(him, hers.ID, core.LiveFiles) {
		t.Error("without trust: only the home")
	}
	b.post(core.MembersChanged{Members: []grid.Member{{Peer: her, SameUsers: true}, {Peer: him}}})
	if !may(her, mine.ID, core.LiveFiles) || may(her, mine.ID, core.OutputFiles) || may(him, mine.ID, core.LiveFiles) || may(him, hers.ID, core.LiveFiles) {
		t.Error("b has the same users, c has not")
	}
}

// Only who has the end of a job in its journal says that what it left is gone: one that has lost the
// record, or a duplicate of the broker, is asked again.
func TestWhoSaysThatOutputIsGone(t *testing.T) {
	t.Parallel()
	s := &shell{}
	b := s.broker()
	var journal Journal = &journalStub{}
	b.journal.Store(&journal)
	j := jobOf(her, "b", "2")
	for name, k := range map[string]struct {
		record *grid.Record
		kind   error
	}{
		"no record":   {nil, grid.ErrUnavailable},
		"no end":      {&grid.Record{Job: j, State: grid.Running}, grid.ErrNotYet},
		"not theirs":  {&grid.Record{Job: jobOf(him, "b", "2"), State: grid.StageOut, Run: grid.Run{End: grid.Completed}}, grid.ErrForbidden},
		"it has them": {&grid.Record{Job: j, State: grid.StageOut, Run: grid.Run{End: grid.Completed}}, nil},
	} {
		if k.record != nil {
			b.view.set(*k.record)
		}
		if _, err := b.MayFetch(t.Context(), her, j.ID, core.OutputFiles); !errors.Is(err, k.kind) || (err == nil) != (k.kind == nil) {
			t.Errorf("%s: %v", name, err)
		}
		b.view.change(j.ID, nil)
	}
}

// A journal that was restored has a job that was removed since, with its folder: what is
// asked about it would be unknown for ever.
func TestAProbeMakesTheFolder(t *testing.T) {
	t.Parallel()
	for local, made := range map[grid.LocalID]int32{"": 1, "l": 0} {
		s := &shell{}
		b := s.broker()
		b.view.set(grid.Record{Job: jobOf(me, "a", "1"), Run: grid.Run{Local: local}})
		b.Probe(t.Context(), grid.AttemptID{Job: jobOf(me, "a", "1").ID, Attempt: 1})
		if n := s.folders.Load(); n != made {
			t.Errorf("local id %q: %d folders made", local, n)
		}
	}
}
