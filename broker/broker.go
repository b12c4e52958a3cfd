package broker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"gbroker/broker/core"
	"gbroker/grid"
	"gbroker/plan"
	"gbroker/wire"
)

// Peers carries messages to other brokers, best effort; it never blocks.
type Peers interface {
	Send(to grid.PeerID, m wire.Message) error
}

// Links learns from real deliveries; see package netmon.
type Links interface {
	Observe(peer grid.PeerID, size int64, took time.Duration)
}

// Hints takes the hint of who owns a job (the DHT of overlay).
type Hints interface {
	PublishOwner(ctx context.Context, job grid.JobID, epoch grid.Epoch) error
}

// Batch is the local batch system; see pbs.System for the contract.
type Batch interface {
	Snapshot(ctx context.Context) (plan.Snapshot, error)
	Submit(ctx context.Context, s grid.Submission) (grid.LocalID, error)
	Withdraw(ctx context.Context, at grid.AttemptID, control string) (bool, error)
	Kill(ctx context.Context, at grid.AttemptID, control string) error
	Progress(ctx context.Context, at grid.AttemptID, control string) (grid.Progress, error)
	Attempts(ctx context.Context) ([]grid.AttemptID, error)
}

// Stager moves and keeps files; see package stage.
type Stager interface {
	Paths(job grid.JobID) (work, control string)
	Fetch(ctx context.Context, from grid.PeerID, job grid.JobID, set core.FileSet, files grid.Manifest, user grid.User, grants []grid.Grant) error
	// Bring fetches what a job takes by URI. unavailable tells of an error that one of these cannot be had
	// from here now; from has the credentials for them, or is "".
	Bring(ctx context.Context, from grid.PeerID, job grid.Job) (unavailable bool, err error)
	// Costs is how many bytes that has, as far as it is told.
	Costs(ctx context.Context, job grid.Job) grid.SourceCost
	// Export brings outputs where they go: failed are those that could not be brought, gone those that are
	// not here any more. tell is called with why one is brought again.
	Export(ctx context.Context, job grid.Job, left grid.Manifest, tell func(why string)) (failed, gone []string, err error)
	// End drops what only a job that has not ended needs.
	End(job grid.JobID) error
	// HasInputs tells whether the inputs of a job are here: grid.ErrNotFound where one is not.
	HasInputs(job grid.JobID, files grid.Manifest) error
	// Share gives a job inputs that another folder has, without a copy.
	Share(job, from grid.JobID, files grid.Manifest) error
	MakeFolder(job grid.JobID) error
	Prepare(ctx context.Context, job grid.Job, keep bool) error
	Collect(ctx context.Context, job grid.Job) (files grid.Manifest, missing []grid.MissingOutput, err error)
	Discard(job grid.JobID, keep bool) error
	// SetAside moves a job's folder away and gives where it is, "" if it was not worth that;
	// DropAside removes what was moved before then, and gives how many folders.
	SetAside(job grid.JobID, foreign bool, now time.Time) (where string, err error)
	DropAside(then time.Time) (dropped int, err error)
	Jobs() ([]grid.JobID, error)
	// Space is what is free for files of jobs, beside what is kept back.
	Space() (int64, error)
}

// Journal keeps records; see package store.
type Journal interface {
	ID() grid.JournalID
	// Each gives all records, in the order of their job identifiers.
	Each(ctx context.Context, give func(grid.Record) error) error
	// Record reads one; grid.ErrNotFound if there is none.
	Record(ctx context.Context, id grid.JobID) (grid.Record, error)
	// Page reads up to limit after an identifier, of the users of a name or of all (""), without
	// what they bring, run, left and were decided by.
	Page(ctx context.Context, after grid.JobID, user string, limit int) ([]grid.Record, error)
	Site(ctx context.Context) (grid.SiteState, error)
	// Groups are all groups, in the order of their identifiers.
	Groups(ctx context.Context) ([]grid.Group, error)
	// Templates and Results are what lies beside them.
	Templates(ctx context.Context) ([]grid.Template, error)
	Results(ctx context.Context) ([]grid.Results, error)
	// Allocations are how far all co-allocated jobs are.
	Allocations(ctx context.Context) ([]grid.Allocation, error)
	// Budgets are what users here may pay.
	Budgets(ctx context.Context) ([]grid.Budget, error)
	// Reservations are those of the nodes here, and those that users here hold elsewhere.
	Reservations(ctx context.Context) ([]grid.Reservation, error)
	Commit(ctx context.Context, changes []grid.Change) error
	History(ctx context.Context, kind grid.Kind, key string) ([]grid.Event, error)
	// Decisions are what was decided of a job, the oldest first: the first, and the latest.
	Decisions(ctx context.Context, job grid.JobID) ([]grid.Decision, error)
	Space() (free int64, err error)
	// Lives are the starts of the journal, the present one last.
	Lives() []grid.Life
	// Witness is what the file beside the journal said of it at its opening.
	Witness() grid.Witness
	// Told is the last word there on each job of which want says so.
	Told(ctx context.Context, want func(grid.JobID) bool) ([]grid.Record, error)
	// Tell writes records there, and the highest stamp; it is durable when it returns, unless
	// there are no records: how far the journal has come may be lost in a power cut.
	Tell(ctx context.Context, stamp uint32, records []grid.Record) error
	// SeenPeer notes how far a peer's journal has come; it is durable with a later
	// Commit. Peers gives what was noted, the incarnation first seen first.
	SeenPeer(ctx context.Context, peer grid.PeerID, id grid.JournalID) error
	Peers(ctx context.Context) (map[grid.PeerID][]grid.JournalID, error)
	Close() error
}

// Ports are what a Broker works through.
type Ports struct {
	Peers  Peers
	Hints  Hints
	Links  Links
	Batch  Batch
	Stager Stager
	Tokens func(control string, job grid.JobID) ([]grid.AttemptID, error) // of which a control directory tells; see package pbs/control
	// Gather tells a part of a co-allocated job in its control directory; see package pbs/control.
	Gather  func(control string, at grid.AttemptID, begun bool, sites []grid.Gathered) error
	Journal func(ctx context.Context) (Journal, error) // opens it, also anew after a failed save
	Clock   func() grid.Tick                           // never goes back
	Wall    func() grid.Tick                           // the wall clock, to notice its jumps; may be nil
	// Changed sees each change of a job once it is durable, with its record of before, nil if there
	// was none. It must not wait, and may keep neither. It may be nil.
	Changed func(before *grid.Record, change grid.Change)
	// Share gives peers their rates of the uplink, in bytes per second, and all others the rest, 0 being no limit; it may be nil.
	Share func(reserved map[grid.PeerID]int64, rest int64)
	// Displaced hears of local jobs that give way to a reservation, and what they lose; it may be nil.
	Displaced func(jobs int, coreSeconds float64)
	// Notifier tells users of their jobs; an error that wraps grid.ErrInvalid is final. It may be nil.
	Reserver Reserver // nil where the batch system makes no reservations
	Notifier interface {
		Notify(ctx context.Context, r *grid.Record, owed grid.Owed) error
	}
	// Serve does what a user of another broker wishes, who may. It may be nil.
	Serve func(ctx context.Context, e core.Serve) (core.Found, error)
	Log   *zap.Logger
}

// Broker drives one Core by the rules of [core.Host]: it feeds it events, makes durable what is to
// be, and does what it decides.
type Broker struct {
	cfg    core.Config
	ports  Ports
	events chan core.Event
	view   *view
	groups *groups

	reservations beside[*grid.Reservation]
	allocations  beside[*grid.Allocation]
	budgets      beside[*grid.Budget]
	executor     *executor
	journal      atomic.Pointer[Journal]
	accuracy     atomic.Pointer[core.Accuracy]
	ended        atomic.Pointer[core.Ended]
	state        atomic.Pointer[grid.SiteState] // as last made durable
	members      []grid.Member
	host         core.Host
	trusted      atomic.Pointer[map[grid.PeerID]bool] // members whose users are ours
	boot         atomic.Uint64                        // nonce of this life; see Boot
	alarm        atomic.Pointer[string]
	pulse        *pulse

	tokens  atomic.Uint64
	answers sync.Map // Token -> chan Answer
	ready   chan struct{}
	done    chan struct{}
}

// NewBroker builds a broker; Run starts it.
func NewBroker(cfg core.Config, members []grid.Member, ports Ports) *Broker {
	b := &Broker{
		cfg: cfg, ports: ports, members: members,
		events:   make(chan core.Event, 1024),
		executor: newExecutor(),
		pulse:    &pulse{clock: ports.Clock},
		ready:    make(chan struct{}),
		done:     make(chan struct{}),
	}
	b.view, b.groups = newView(b.record), newGroups()
	b.reservations.kind, b.allocations.kind, b.budgets.kind = grid.KindReservation, grid.KindAllocation, grid.KindBudget
	b.boot.Store(cfg.Boot)
	b.trust(members)
	return b
}

// Ready is closed when the records are loaded and requests are taken.
func (b *Broker) Ready() <-chan struct{} { return b.ready }

// Run serves until ctx is done. A save that fails ends the Core: its effects are
// dropped, the journal is opened again and a new Core is made from it.
func (b *Broker) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	var sweeper sync.WaitGroup
	sweeper.Go(func() { b.sweep(ctx) })
	sweeper.Go(func() { b.pulse.run(ctx) })
	defer func() {
		cancel()
		close(b.done)
		b.executor.wait()
		sweeper.Wait()
	}()
	for first := true; ; first = false {
		err := b.life(ctx, first)
		if ctx.Err() != nil {
			return nil
		}
		switch {
		case errors.Is(err, errResumed):
			b.ports.Log.Info("an administrator has resumed this broker; starting again from the journal")
			continue
		case first && !errors.Is(err, errSave):
			return err
		}
		b.ports.Log.Error("a save failed; starting again from the journal", zap.Error(err))
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(time.Second):
		}
	}
}

var errSave = errors.New("saving to the journal")

// life is one Core from its recovery to its end.
func (b *Broker) life(ctx context.Context, first bool) error {
	journal, err := b.ports.Journal(ctx)
	if err != nil {
		return fmt.Errorf("opening the journal: %w", err)
	}
	defer journal.Close()
	state, err := journal.Site(ctx)
	if err != nil {
		return fmt.Errorf("loading the journal: %w", err)
	}
	b.journal.Store(&journal)
	b.state.Store(&state)
	b.raise(core.Alarm{}) // this Core raises its own
	cfg := b.cfg
	if cfg.Seen, err = journal.Peers(ctx); err != nil {
		return fmt.Errorf("loading the journal: %w", err)
	}
	if cfg.Groups, err = journal.Groups(ctx); err != nil {
		return fmt.Errorf("loading the journal: %w", err)
	}
	if cfg.Templates, err = journal.Templates(ctx); err != nil {
		return fmt.Errorf("loading the journal: %w", err)
	}
	if cfg.Results, err = journal.Results(ctx); err != nil {
		return fmt.Errorf("loading the journal: %w", err)
	}
	if cfg.Allocations, err = journal.Allocations(ctx); err != nil {
		return fmt.Errorf("loading the journal: %w", err)
	}
	if cfg.Budgets, err = journal.Budgets(ctx); err != nil {
		return fmt.Errorf("loading the journal: %w", err)
	}
	b.budgets.reset(copies(cfg.Budgets))
	if cfg.Reservations, err = journal.Reservations(ctx); err != nil {
		return fmt.Errorf("loading the journal: %w", err)
	}
	b.reservations.reset(copies(cfg.Reservations))
	shown := copies(cfg.Allocations)
	for _, a := range shown {
		a.Parts = slices.Clone(a.Parts)
	}
	b.allocations.reset(shown)
	b.groups.reset(cfg.Groups, cfg.Templates, cfg.Results)
	cfg.Boot = b.boot.Load()
	cfg.Draining, cfg.State = state.Draining, state
	cfg.Journal, cfg.Lives, cfg.Witness = journal.ID(), journal.Lives(), journal.Witness()
	b.cfg.Seed += 1 << 32 // answers to the rounds of this Core are none to the next one's
	cfg.Load = func(id grid.JobID) (grid.Record, error) { return b.record(ctx, id) }
	c, err := b.core(ctx, cfg, journal)
	if err != nil {
		return fmt.Errorf("loading the journal: %w", err)
	}
	if first {
		close(b.ready)
	}
	return b.loop(ctx, c, journal)
}

// core makes a Core of the journal's records, and shows them.
func (b *Broker) core(ctx context.Context, cfg core.Config, journal Journal) (*core.Core, error) {
	var shown []*grid.Record
	var err error
	open := map[grid.JobID]bool{} // jobs of this home of which the journal does not have the last word
	anew := len(cfg.Lives) <= 1   // then it is asked for what was told of all
	c := core.NewFrom(cfg, b.members, func(yield func(grid.Record) bool) {
		err = journal.Each(ctx, func(r grid.Record) error {
			if !core.IsArchived(&r) {
				shown = append(shown, &r)
			}
			if r.Job.Home == cfg.Self && (!r.State.Terminal() || r.State == grid.Lost) {
				open[r.Job.ID] = true
			}
			yield(r)
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	told, err := journal.Told(ctx, func(id grid.JobID) bool { return open[id] || anew || b.groups.mayLack(id) })
	if err != nil {
		return nil, fmt.Errorf("what users were told: %w", err)
	}
	c.SetTold(told)
	b.view.reset(shown)
	return c, nil
}

// loop serves until ctx is done, a write fails or the Core is to end.
func (b *Broker) loop(ctx context.Context, c *core.Core, journal Journal) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	defer b.host.Lost()
	b.host.Begin(c, b.clocks())
	for {
		for b.host.Ready() {
			if err := b.turn(ctx, journal); err != nil {
				return err
			}
		}
		b.setTimer(timer, c)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
			b.host.Post(core.Tick{})
		case ev := <-b.events:
			b.post(ev)
			for n := 1; n < core.MaxBatch && len(b.events) > 0; n++ {
				b.post(<-b.events)
			}
		}
	}
}

// clocks reads them, and feels the pulse.
func (b *Broker) clocks() core.Reading {
	now := core.Reading{Now: b.ports.Clock()}
	if b.ports.Wall != nil {
		now.Drift = b.ports.Wall() - now.Now
	}
	now.Pauses, now.Pause = b.pulse.feel()
	return now
}

// post keeps what the configuration of the next Core has to know, should this one end.
func (b *Broker) post(ev core.Event) {
	switch e := ev.(type) {
	case core.MembersChanged:
		b.members = e.Members
		b.trust(e.Members)
	case core.OwnSite:
		b.cfg.Site = e.Site
	case core.BudgetsChanged:
		b.cfg.Granted = e.Granted
	case core.PricesChanged:
		b.cfg.Prices = e.Prices
	case core.LimitsChanged:
		b.cfg.User, b.cfg.OfferFiles = e.User, e.OfferFiles
	case core.ReservingChanged:
		b.cfg.Reserving = e.Rules
	}
	b.host.Post(ev)
}

func (b *Broker) setTimer(t *time.Timer, c *core.Core) {
	wait := time.Hour
	if at, ok := c.Next(); ok {
		wait = max(0, (at - b.ports.Clock()).Duration())
	}
	t.Reset(wait)
}

// Post hands an event to the Core; it blocks while the queue is full.
func (b *Broker) Post(ev core.Event) {
	select {
	case b.events <- ev:
	case <-b.done:
	}
}

// turn steps through what has come, makes it durable, shows it, and lets the effects leave.
func (b *Broker) turn(ctx context.Context, journal Journal) error {
	w, ok := b.host.Turn(b.clocks)
	if !ok {
		return nil
	}
	err := w.Failed
	if err == nil {
		err = b.write(context.WithoutCancel(ctx), journal, &w)
	}
	if err != nil {
		b.failAnswers(w.Effects, err)
		return fmt.Errorf("%w: %w", errSave, err)
	}
	b.host.Written(journal.ID().Sequence)
	b.showEnded(b.host.Core().Ended())
	if w.Restart {
		b.boot.Add(1)
	}
	for _, e := range w.Effects {
		if _, again := e.(core.Restart); again {
			return errResumed
		}
		b.dispatch(ctx, e, w.Pauses)
	}
	return nil
}

// Folders of no known job, and attempts of no record, are looked for after the first pause: a candidate that
// was restarted while it fetched gets its offer again before, and fetches on. What is only removed when it was seen
// twice does not wait for long after a start, which is when most of it is found.
const (
	firstSweep  = 20 * time.Second
	secondSweep = 100 * time.Second // the members that live have spoken by then, or are not waited for
	nextSweeps  = 10 * time.Minute
)

// sweeps are the pauses before each of them.
func sweeps(yield func(time.Duration) bool) {
	for pause, more := firstSweep, yield(firstSweep); more; more = yield(pause) {
		if pause == firstSweep {
			pause = secondSweep
		} else {
			pause = nextSweeps
		}
	}
}

func (b *Broker) sweep(ctx context.Context) {
	for pause := range sweeps {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		// The attempts first: a folder stays in its place while there is one of its job.
		if ids, err := b.attempts(ctx); err != nil {
			b.ports.Log.Warn("listing the attempts in the batch system", zap.Error(err))
		} else {
			b.Post(core.Attempts{IDs: ids})
		}
		if ids, err := b.ports.Stager.Jobs(); err != nil {
			b.ports.Log.Warn("listing the job folders", zap.Error(err))
		} else {
			b.Post(core.Folders{Jobs: ids})
		}
		b.dropAside()
	}
}

func (b *Broker) attempts(ctx context.Context) ([]grid.AttemptID, error) {
	ctx, cancel := context.WithTimeout(ctx, lookLimit)
	defer cancel()
	return b.ports.Batch.Attempts(ctx)
}
