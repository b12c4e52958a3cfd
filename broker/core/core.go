package core

import (
	"iter"
	"math/rand/v2"
	"slices"

	"gbroker/grid"
	"gbroker/plan"
)

// Core decides. It is pure: no goroutine, clock, disk or network; the same events
// in the same order give the same effects. It is not safe for concurrent use.
//
// It is made of machines over one kernel; see the package comment.
type Core struct {
	stepper
	gates         *gates
	neighbourhood *neighbourhood
	ownership     *ownership
	search        *search
	estimator     *estimator
	execution     *execution
	home          *home
	relay         *relay
	recovery      *recovery
	terms         *terms
	reservations  *reservations
	holdings      *holdings
	budgets       *budgets
}

// New makes a Core from what its journal holds. The first event must be Boot.
func New(cfg Config, members []grid.Member, records []grid.Record) *Core {
	return NewFrom(cfg, members, slices.Values(records))
}

// NewFrom is New with the records one after the other.
func NewFrom(cfg Config, members []grid.Member, records iter.Seq[grid.Record]) *Core {
	c := assemble(newKernel(cfg, members))
	var ran []run
	count := uint64(0)
	for r := range records {
		j := &job{rec: r}
		count++
		if x, did := c.estimator.runOf(&j.rec); did {
			ran = append(ran, x)
		}
		c.take(j)
	}
	c.search.random = rand.New(rand.NewPCG(cfg.Seed, count))
	c.estimator.remember(ran)
	c.groups.take(c.cfg.Groups, c.cfg.Templates, c.cfg.Results)
	for id := range c.jobs {
		c.groups.sighted(id) // one that was learnt again may be ahead of those that have entered
	}
	c.wholes.take(c.cfg.Allocations)
	c.cfg.Allocations = nil
	c.reservations.take(c.cfg.Reservations)
	c.holdings.take(c.cfg.Reservations)
	c.cfg.Reservations = nil
	c.cfg.Groups, c.cfg.Templates, c.cfg.Results = nil, nil, nil
	return c
}

// assemble gives each machine what it needs of the others.
func assemble(k *kernel) *Core {
	c := &Core{
		gates:         &gates{kernel: k},
		neighbourhood: &neighbourhood{kernel: k},
		ownership:     &ownership{kernel: k},
		search:        &search{kernel: k},
		estimator:     &estimator{kernel: k, earlyRank: plan.Rank{Beyond: tooSoon}},
		execution:     &execution{kernel: k, strays: map[grid.AttemptID]int{}},
		home:          &home{kernel: k},
		relay:         newRelay(k),
		recovery:      newRecovery(k),
		terms:         newTerms(k),
		reservations:  newReservations(k),
		holdings:      newHoldings(k),
		budgets:       newBudgets(k),
	}
	c.reservations.estimator = c.estimator
	c.holdings.reservations = c.reservations
	c.reservations.execution = c.execution
	c.reservations.gates = c.gates
	c.estimator.reservations = c.reservations
	c.execution.reservations = c.reservations
	c.estimator.execution = c.execution
	c.estimator.home = c.home
	c.estimator.ownership = c.ownership
	c.estimator.search = c.search
	c.execution.estimator = c.estimator
	c.execution.gates = c.gates
	c.execution.home = c.home
	c.execution.ownership = c.ownership
	c.execution.recovery = c.recovery
	c.execution.search = c.search
	c.execution.terms = c.terms
	c.gates.ownership = c.ownership
	c.gates.recovery = c.recovery
	c.gates.terms = c.terms
	c.home.budgets = c.budgets
	c.home.estimator = c.estimator
	c.home.execution = c.execution
	c.home.gates = c.gates
	c.home.ownership = c.ownership
	c.home.recovery = c.recovery
	c.home.search = c.search
	c.home.terms = c.terms
	k.reporter, k.watcher = c.home, c.terms
	k.groups.limit = k.cfg.UploadLimit
	k.groups.jobs, k.groups.window, k.groups.expand = memberJobs{c.home}, k.cfg.Window, k.cfg.Expand
	k.wholes.wholes = &wholeJobs{kernel: k, budgets: c.budgets, execution: c.execution, gates: c.gates, home: c.home, ownership: c.ownership, reservations: c.reservations, search: c.search, terms: c.terms}
	c.neighbourhood.gates = c.gates
	c.neighbourhood.home = c.home
	c.neighbourhood.ownership = c.ownership
	c.neighbourhood.recovery = c.recovery
	c.neighbourhood.search = c.search
	c.ownership.estimator = c.estimator
	c.ownership.execution = c.execution
	c.ownership.gates = c.gates
	c.ownership.home = c.home
	c.ownership.recovery = c.recovery
	c.ownership.search = c.search
	c.ownership.terms = c.terms
	c.recovery.estimator = c.estimator
	c.recovery.execution = c.execution
	c.recovery.gates = c.gates
	c.recovery.home = c.home
	c.recovery.ownership = c.ownership
	c.recovery.relay = c.relay
	c.recovery.search = c.search
	c.recovery.terms = c.terms
	c.relay.gates = c.gates
	c.relay.home = c.home
	c.search.budgets = c.budgets
	c.search.estimator = c.estimator
	c.search.execution = c.execution
	c.search.gates = c.gates
	c.search.ownership = c.ownership
	c.search.terms = c.terms
	c.terms.execution = c.execution
	c.terms.gates = c.gates
	c.terms.home = c.home
	c.terms.ownership = c.ownership
	c.terms.search = c.search
	c.stepper = stepper{k, routesOf(k.groups, k.wholes, c.neighbourhood, c.ownership, c.terms, c.search, c.estimator, c.execution, c.home, c.relay, c.recovery, c.reservations, c.holdings, c.budgets)}
	return c
}

// Step takes one event at the instant now, which never goes back (an earlier now
// counts as the last one), and returns what is to be done.
func (c *Core) Step(now grid.Tick, ev Event) []Effect {
	c.within = true
	defer func() { c.within = false }()
	if c.failed == nil {
		if effects := c.step(now, ev); c.failed == nil {
			return effects
		}
	}
	effects := []Effect{Fail{c.failed}}
	if e, asks := ev.(Request); asks {
		effects = append(effects, Answer{Token: e.token(), Err: c.failed})
	}
	return effects
}

// Next is when Step wants a Tick; ok is false if nothing is waited for.
func (c *Core) Next() (at grid.Tick, ok bool) {
	if c.duplicate != "" {
		return 0, false
	}
	for len(c.timers.heap) > 0 && !c.counts(c.timers.heap[0]) {
		c.timers.heap.pop()
	}
	return c.timers.next()
}
