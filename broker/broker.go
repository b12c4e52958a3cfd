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
)

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
	said         uint64                               // the nonce that members heard last
	alarm        atomic.Pointer[string]
	fullAt       atomic.Int64 // a grid.Tick: when LookAtRoom last saw no room for the files of jobs
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
	b.boot.Store(cfg.Boot)
	b.said = cfg.Boot
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
	b.alarm.Store(nil) // this Core raises its own
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
	if err := b.putBack(ctx); err != nil {
		return fmt.Errorf("folders that were put aside: %w", err)
	}
	if first {
		close(b.ready)
	}
	if b.said != cfg.Boot { // it was resumed: members hear that this is no life that they had met
		b.said = cfg.Boot
		b.meetAgain()
	}
	return b.loop(ctx, c, journal)
}

// core makes a Core of the journal's records, and shows them.
func (b *Broker) core(ctx context.Context, cfg core.Config, journal Journal) (*core.Core, error) {
	var shown []*grid.Record
	var err error
	open := map[grid.JobID]bool{} // jobs of this home that have not ended in the journal
	unwritten := core.NewUnwritten(cfg.Self, b.ports.Clock())
	for i := range cfg.Groups {
		unwritten.Group(&cfg.Groups[i])
	}
	anew := len(cfg.Lives) <= 1 // then it is asked for what was told of all
	c := core.NewFrom(cfg, b.members, func(yield func(grid.Record) bool) {
		err = journal.Each(ctx, func(r grid.Record) error {
			if !core.IsArchived(&r) {
				shown = append(shown, brief(&r))
			}
			if r.Job.Home == cfg.Self && !r.State.Terminal() {
				open[r.Job.ID] = true
			}
			unwritten.Job(&r)
			yield(r)
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	told, err := journal.Told(ctx, func(w grid.LastWord) bool {
		return unwritten.Heard(w) || open[w.Job] || anew || b.groups.mayLack(w.Job)
	})
	if err != nil {
		return nil, fmt.Errorf("what users were told: %w", err)
	}
	c.SetTold(told, unwritten.Words())
	b.view.reset(shown)
	return c, nil
}

// loop serves until ctx is done, a write fails or the Core is to end.
func (b *Broker) loop(ctx context.Context, c *core.Core, journal Journal) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	defer func() { b.unanswered(b.host.Lost()) }()
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
	for i, e := range w.Effects {
		if _, again := e.(core.Restart); again {
			b.failAnswers(w.Effects[i:], errResumed)
			return errResumed
		}
		b.dispatch(ctx, e, w.Pauses)
	}
	return nil
}
