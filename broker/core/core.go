package core

import (
	"container/heap"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"

	"gbroker/grid"
	"gbroker/plan"
	"gbroker/wire"
)

// Config is what a Core is told once. Zero fields take the defaults of Defaults.
type Config struct {
	Self    grid.PeerID
	Site    grid.Site
	Journal grid.JournalID // with its present life
	Lives   []grid.Life    // of the journal, the oldest first, the present one last
	// Witness and Told are what the file beside the journal says; Told of jobs of this home, the
	// last word on each (see also [Core.SetTold]).
	Witness grid.Witness
	Told    []grid.Record
	Seed    uint64 // first round number: random, so that answers to an earlier life are not taken

	// AskDeadline bounds the wait for estimates: longer hears slow sites, shorter decides sooner.
	EstimateDeadline grid.Tick
	// Retry is how soon an unanswered message is repeated; repeats back off to RetryMax.
	Retry, RetryMax grid.Tick
	// AcceptDeadline bounds the wait for the answer to an Offer.
	AcceptDeadline grid.Tick
	// Lease is how long an owner waits for a candidate that pulls files without a word.
	Lease grid.Tick
	// PullGrace is how long fetching files may take beside what was reckoned with.
	PullGrace grid.Tick
	// Beat is how often a pulling candidate says so.
	Keepalive grid.Tick
	// Block is how long a candidate that refused a job is not asked again for it.
	Block grid.Tick
	// Refresh is how often estimates of waiting jobs are renewed and attempts probed.
	Refresh grid.Tick
	// Digest is how often an owner reports an unchanged job to its home.
	Digest grid.Tick
	// UploadLimit is how long a submission may wait for its files.
	UploadLimit grid.Tick
	// Keep is how long ended jobs, their files and tombstones are kept.
	Keep grid.Tick
	// KeepBytes bounds the files of ended jobs, oldest dropped first; 0 is no bound.
	KeepBytes int64
	// OfferFiles bounds the bytes of the files of one member's offers that are held here and
	// are not owned.
	OfferFiles int64
	// User limits each user of this site.
	User UserLimits
	// Decline is after how long a prepared candidate that hears nothing drops the job.
	Decline grid.Tick

	// Delta is how often a place is searched anew for each waiting job, if nothing
	// changes; Settle is the least time between two passes of that search.
	Delta, Settle grid.Tick
	// Margin and MarginShare (of the time to its end here) are what a waiting job must
	// gain at least to move: less follows every difference, more moves fewer jobs.
	Margin      grid.Tick
	MarginShare float64
	// Cooldown is how long a job stays where it has come to.
	Cooldown grid.Tick
	// Soon: a job that is to start within it stays.
	Soon grid.Tick
	// MaxHops bounds the moves of one job for a gain; one comes back after each HopBack.
	MaxHops uint32
	HopBack grid.Tick
	// Grace is how long good listings must lack an attempt before it counts as vanished.
	Grace grid.Tick

	// AutoForget starts a rerunnable job again, at a new term, when its owner has not been
	// heard for so long; 0 is never. Short, and a cut network runs jobs twice.
	AutoForget grid.Tick

	// Boot is a random number made at each start, by which a duplicate is found; 0 finds none.
	Boot uint64
	// Seen is how far the journals of peers were seen to be, in the order first seen.
	Seen map[grid.PeerID][]grid.JournalID

	// Sign signs a text with this broker's key, and Verify tells whether a signature is
	// that of a peer; both are pure. Without Sign no other site can prove that it got a
	// job from here; without Verify no such proof is believed.
	Sign   func(text []byte) []byte
	Verify func(by grid.PeerID, text, signature []byte) bool
	// Draining is what the journal says: take no grid jobs, hand on those that wait.
	Draining bool
	// State is the rest of what the journal says of this site.
	State grid.SiteState

	// Load reads the record of a job as it was last made durable. With it, jobs that have
	// ended are not kept in memory; without, all are.
	Load func(grid.JobID) (grid.Record, error)

	// Broken are rules switched off to prove a checker; never in a daemon.
	Broken Rules
}

// Defaults are the values for a wide-area neighbourhood.
func Defaults() Config {
	return Config{
		EstimateDeadline: 2 * grid.Second, Retry: grid.Second, RetryMax: 30 * grid.Second,
		AcceptDeadline: 5 * grid.Second, Lease: 30 * grid.Second, PullGrace: 10 * grid.Minute, Keepalive: 5 * grid.Second,
		Block: grid.Minute, Refresh: 5 * grid.Second, Digest: 30 * grid.Second,
		UploadLimit: grid.Day, Keep: 30 * grid.Day, Decline: 7 * grid.Day,
		Delta: grid.Minute, Settle: 5 * grid.Second, Margin: 30 * grid.Second, MarginShare: 0.1,
		Cooldown: 2 * grid.Minute, Soon: 15 * grid.Second, MaxHops: 8, HopBack: grid.Hour, Grace: grid.Minute,
		OfferFiles: grid.MaxSandbox,
	}
}

func (c Config) WithDefaults() Config {
	d := Defaults()
	for _, f := range []struct{ v, d *grid.Tick }{
		{&c.EstimateDeadline, &d.EstimateDeadline}, {&c.Retry, &d.Retry}, {&c.RetryMax, &d.RetryMax},
		{&c.AcceptDeadline, &d.AcceptDeadline}, {&c.Lease, &d.Lease}, {&c.PullGrace, &d.PullGrace}, {&c.Keepalive, &d.Keepalive},
		{&c.Block, &d.Block}, {&c.Refresh, &d.Refresh}, {&c.Digest, &d.Digest},
		{&c.UploadLimit, &d.UploadLimit}, {&c.Keep, &d.Keep}, {&c.Decline, &d.Decline},
		{&c.Delta, &d.Delta}, {&c.Settle, &d.Settle}, {&c.Margin, &d.Margin}, {&c.Cooldown, &d.Cooldown},
		{&c.Soon, &d.Soon}, {&c.HopBack, &d.HopBack}, {&c.Grace, &d.Grace},
	} {
		if *f.v == 0 {
			*f.v = *f.d
		}
	}
	if c.MarginShare == 0 {
		c.MarginShare = d.MarginShare
	}
	if c.OfferFiles == 0 {
		c.OfferFiles = d.OfferFiles
	}
	if c.MaxHops == 0 {
		c.MaxHops = d.MaxHops
	}
	return c
}

// Core decides. It is pure: no goroutine, clock, disk or network; the same events
// in the same order give the same effects. It is not safe for concurrent use.
type Core struct {
	cfg     Config
	now     grid.Tick
	jobs    map[grid.JobID]*job
	live    map[grid.JobID]*job     // those that something may still happen to
	archive map[grid.JobID]archived // those that live in the journal alone
	ending  map[grid.JobID]bool     // of jobs: those that may go there
	ended   Ended                   // of archived
	peers   map[grid.PeerID]grid.PeerID
	latest  grid.Tick // the latest instant in the records that this life began with
	failed  error     // this Core cannot go on
	within  bool      // a step is under way
	keys    map[submissionKey]grid.JobID
	users   map[string]usage // of this site, by name
	members map[grid.PeerID]*member
	unnamed map[grid.PeerID]member // what was heard of peers that are no members (yet)
	ageFrom grid.Tick              // nothing is too old before
	start   grid.Tick              // when this life began
	targets []grid.PeerID          // members with Send, by name: L(i)

	draining bool
	state    grid.SiteState // as saveState writes it, but for what other fields hold

	undecided []grid.JobID // READY jobs without a place, in order of arrival
	round     *round       // the search under way, or nil
	wheres    []*where     // dry runs of the search
	rounds    uint64
	passes    passes // the search for jobs that wait in the local queue

	estimates []pendingEstimate // questions of others that wait for a snapshot
	offers    []pendingOffer
	looking   bool      // a snapshot is being taken
	seen      grid.Tick // when the last good one came
	planned   planned

	// coming are the jobs that will need capacity here but may not be in a snapshot yet.
	accepted map[grid.JobID]*acceptance
	strays   map[grid.AttemptID]int // in the batch system and of no record: how often seen
	orphans  map[grid.JobID]int     // folders of no record: how often seen

	reconciling bool                        // Reconcile is under way
	traced      bool                        // all control directories of jobs without a record were read
	traces      map[grid.JobID]grid.Epoch   // the last attempts there; see traces.go
	untold      map[grid.JobID]*grid.Record // ends that users were told of jobs without a record; see told.go
	stamp       uint32                      // the highest that was used or heard of; see stamp.go

	random *rand.Rand // for jitter alone

	highWater map[grid.PeerID][]grid.JournalID // how far members' journals were seen to be
	boots     map[grid.PeerID][]uint64         // lives of members heard, in order
	rolled    *rollback                        // this journal was rolled back, and not all were asked
	learnt    int                              // jobs learnt as lost, from candidates
	bereft    bool                             // this journal replaces one that was lost
	duplicate string                           // there is a duplicate: nothing is done any more
	requests  []passed                         // users' requests passed on

	// What is learned from the jobs that ran here.
	runTimes plan.RunTimes
	learned  int       // how many run times
	outcomes []outcome // in the order of their starts; at most 2*keptStarts
	judged   bool      // readers know their sum

	timers timers
	out    []Effect
}

// New makes a Core from what its journal holds. The first event must be Boot.
func New(cfg Config, members []grid.Member, records []grid.Record) *Core {
	return NewFrom(cfg, members, slices.Values(records))
}

// NewFrom is New with the records one after the other.
func NewFrom(cfg Config, members []grid.Member, records iter.Seq[grid.Record]) *Core {
	c := &Core{
		cfg:       cfg.WithDefaults(),
		jobs:      map[grid.JobID]*job{},
		keys:      map[submissionKey]grid.JobID{},
		users:     map[string]usage{},
		members:   map[grid.PeerID]*member{},
		unnamed:   map[grid.PeerID]member{},
		live:      map[grid.JobID]*job{},
		archive:   map[grid.JobID]archived{},
		ending:    map[grid.JobID]bool{},
		peers:     map[grid.PeerID]grid.PeerID{},
		accepted:  map[grid.JobID]*acceptance{},
		strays:    map[grid.AttemptID]int{},
		rounds:    cfg.Seed,
		draining:  cfg.Draining,
		state:     cfg.State,
		highWater: map[grid.PeerID][]grid.JournalID{},
		boots:     map[grid.PeerID][]uint64{},
		traces:    map[grid.JobID]grid.Epoch{},
		untold:    map[grid.JobID]*grid.Record{},
	}
	for p, seen := range cfg.Seen {
		c.highWater[p] = slices.Clone(seen[max(0, len(seen)-wire.MaxJournals):])
	}
	c.setMembers(members)
	var ran []run
	count := uint64(0)
	for r := range records {
		count++
		if x, did := c.runOf(&r); did {
			ran = append(ran, x)
		}
		c.take(r)
	}
	c.random = rand.New(rand.NewPCG(cfg.Seed, count))
	c.remember(ran)
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

func (c *Core) step(now grid.Tick, ev Event) []Effect {
	c.now = max(c.now, now)
	c.out = nil
	c.within = true
	defer func() { c.within = false }()
	if c.duplicate != "" {
		c.stopped(ev)
		return c.out
	}
	switch e := ev.(type) {
	case Boot:
		c.recover()
	case Submit:
		c.submit(e)
	case Where:
		c.where(e)
	case Uploaded:
		c.uploaded(e)
	case CancelRequest:
		c.cancelRequest(e)
	case RemoveRequest:
		c.removeRequest(e)
	case Message:
		c.message(e.From, e.Message)
	case Looked:
		c.looked(e)
	case Launched:
		c.launched(e)
	case Withdrawn:
		c.withdrawn(e)
	case Progressed:
		c.progressed(e)
	case Reconciled:
		c.reconciled(e)
	case Fetched:
		c.fetched(e)
	case Checked:
		c.checked(e)
	case Collected:
		c.collected(e)
	case PeerChanged:
		c.peerChanged(e)
	case PeerSite:
		c.hear(e.Peer, func(m *member) { m.site = e.Site })
	case OwnSite:
		c.ownSite(e)
	case LinkChanged:
		c.hear(e.Peer, func(m *member) { m.link = e.Link })
	case MembersChanged:
		before := c.members
		c.setMembers(e.Members)
		c.removed()
		c.joined(before)
	case Folders:
		c.sweep(e)
	case Attempts:
		c.strayed(e)
	case DrainRequest:
		c.drainRequest(e)
	case Forget:
		c.forget(e)
	case EndJob:
		c.endJob(e)
	case Resume:
		c.resume(e)
	case Stall:
		c.stall(e)
	case PeerJournal:
		c.peerJournal(e)
	case Forward:
		c.forward(e)
	case LimitsChanged:
		c.cfg.User, c.cfg.OfferFiles = e.User, e.OfferFiles
	case Tick:
	}
	if c.duplicate != "" {
		return c.out
	}
	c.fire()
	c.startRound()
	c.startPass()
	return c.out
}

// Next is when Step wants a Tick; ok is false if nothing is waited for.
func (c *Core) Next() (at grid.Tick, ok bool) {
	if c.duplicate != "" {
		return 0, false
	}
	for len(c.timers.heap) > 0 && !c.counts(c.timers.heap[0]) {
		heap.Pop(&c.timers.heap)
	}
	return c.timers.next()
}

// message hands m to its protocol. Only members are heard (the overlay sees to
// that too); a message out of its role is answered with Error.
func (c *Core) message(from grid.PeerID, m wire.Message) {
	if c.members[from] == nil {
		return
	}
	switch m := m.(type) {
	case wire.EstimateRequest:
		c.estimateRequest(from, m)
	case wire.EstimateReply:
		c.estimateReply(from, m)
	case wire.Offer:
		c.offer(from, m)
	case wire.Accept:
		c.onAccept(from, m)
	case wire.Refuse:
		c.onRefuse(from, m)
	case wire.Ready:
		c.onReady(from, m)
	case wire.Abort:
		c.onAbort(from, m)
	case wire.Commit:
		c.onCommit(from, m)
	case wire.Owned:
		c.onOwned(from, m)
	case wire.Inquire:
		c.onInquire(from, m)
	case wire.InquireReply:
		c.onInquireReply(from, m)
	case wire.Declined:
		c.onDeclined(from, m)
	case wire.Unknown:
		c.onUnknown(from, m)
	case wire.Report:
		c.onReport(from, m)
	case wire.ReportAck:
		c.onReportAck(from, m)
	case wire.Cancel:
		c.onCancel(from, m)
	case wire.Closed:
		c.onClosed(from, m)
	case wire.Moved:
		c.onMoved(from, m)
	case wire.MovedAck:
		c.onMovedAck(from, m)
	case wire.Announce:
		c.members[from].site = m.Site
	case wire.Recall:
		c.recall(from, m)
	case wire.Recalled:
		c.recalled(from, m)
	case wire.Seen:
		c.onSeen(from, m)
	case wire.Recount:
		c.onRecount(from, m)
	case wire.Recounted:
		c.onRecounted(from, m)
	case wire.Superseded:
		c.superseded(from, m)
	case wire.Request:
		c.onRequest(from, m)
	case wire.Response:
		c.onResponse(from, m)
	case wire.Error:
		c.reportRefused(from, m)
		c.recallRefused(from, m)
		c.note(m.Job, from, fmt.Sprintf("the peer answered message kind %d with an error: %.200s", m.Of, m.Why))
	}
}

func (c *Core) emit(e Effect) { c.out = append(c.out, e) }

func (c *Core) send(to grid.PeerID, m wire.Message) { c.emit(Send{To: to, Message: m}) }

func (c *Core) note(id grid.JobID, p grid.PeerID, text string) {
	c.emit(Note{Job: id, Peer: p, Text: text})
}
