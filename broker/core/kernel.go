package core

import (
	"gbroker/grid"
	"gbroker/wire"
)

// kernel is what the machines share: the clock, the jobs, the members, what this site is, timers
// and the effects of the step that is under way. It decides nothing.
type kernel struct {
	cfg       Config
	now       grid.Tick
	start     grid.Tick   // when this life began
	rounds    uint64      // of questions to others: each has a number of its own
	failed    error       // this Core cannot go on
	within    bool        // a step is under way
	duplicate grid.PeerID // who has heard a duplicate of this broker, if one did: nothing is done any more
	timers    timers
	out       []Effect
	changes   uint64   // of jobs and acceptances: as long as it stays, they want here what they wanted
	foretold  foretold // what members were told last of starts here

	jobs     map[grid.JobID]*job
	live     map[grid.JobID]*job        // those that something may still happen to
	archive  map[grid.JobID]archived    // those that live in the journal alone
	ending   map[grid.JobID]bool        // of jobs: those that may go there
	long     map[grid.JobID]bool        // of jobs: those with long documents that may not be durable
	ended    Ended                      // of archived
	closed   map[grid.JobID]closing     // those of other homes that have ended and are gone here, for a while
	traces   map[grid.JobID]grid.Epoch  // the last attempts of jobs without a record that there were here; see traces.go
	accepted map[grid.JobID]*acceptance // those that will need capacity here, and are not on disk
	keys     map[submissionKey]grid.JobID
	users    map[string]usage            // of this site, by name
	groups   *groups                     // of this site; see group.go
	wholes   *coallocation               // so are these
	parts    map[grid.JobID]map[int]bool // numbers of the parts of co-allocated jobs that have records
	inner    []wire.Message              // said to this site itself in this step
	latest   grid.Tick                   // the latest instant in the records that this life began with
	ageFrom  grid.Tick                   // nothing is too old before

	members map[grid.PeerID]*member
	unnamed map[grid.PeerID]member // what was heard of peers that are no members (yet)
	peerIDs []grid.PeerID          // of members, in order
	targets []grid.PeerID          // members with Send, by name: L(i)
	peers   map[grid.PeerID]grid.PeerID

	draining bool
	state    grid.SiteState // as saveState writes it, but for what other fields hold
	stamp    uint32         // the highest that was used or heard of; see stamp.go

	// Whoever saves a job owned here has its home told.
	reporter interface {
		report(j *job)
	}
	// And its timers set, and those looked at that wait for it.
	watcher interface {
		saved(j *job)
	}
	// And the book of reservations follows one that is for such.
	reserver interface {
		branchLost()
		jobSaved(j *job)
	}
	// So do the budgets of users, of all.
	budgets interface {
		jobSaved(j *job)
		dropped(j *job)
	}
}

func newKernel(cfg Config, members []grid.Member) *kernel {
	k := &kernel{
		cfg:      cfg.WithDefaults(),
		rounds:   cfg.Seed,
		jobs:     map[grid.JobID]*job{},
		groups:   newGroups(nil),
		wholes:   newCoallocation(cfg.Coallocating),
		parts:    map[grid.JobID]map[int]bool{},
		live:     map[grid.JobID]*job{},
		archive:  map[grid.JobID]archived{},
		ending:   map[grid.JobID]bool{},
		long:     map[grid.JobID]bool{},
		closed:   map[grid.JobID]closing{},
		traces:   map[grid.JobID]grid.Epoch{},
		accepted: map[grid.JobID]*acceptance{},
		keys:     map[submissionKey]grid.JobID{},
		users:    map[string]usage{},
		unnamed:  map[grid.PeerID]member{},
		peers:    map[grid.PeerID]grid.PeerID{},
		draining: cfg.Draining,
		state:    cfg.State,
	}
	k.setMembers(members)
	return k
}

func (c *kernel) emit(e Effect) {
	if c.out == nil {
		c.out = make([]Effect, 0, fewEffects)
	}
	c.out = append(c.out, e)
}

// fewEffects are what most steps have that have any.
const fewEffects = 4

// send says m to a member, or to this site itself, which hears it in the same step.
func (c *kernel) send(to grid.PeerID, m wire.Message) {
	if to == c.cfg.Self {
		c.inner = append(c.inner, m)
		return
	}
	c.emit(Send{To: to, Message: m})
}

func (c *kernel) note(id grid.JobID, p grid.PeerID, text string) {
	c.emit(Note{Job: id, Peer: p, Text: text})
}

func (c *kernel) attempt(j *job) grid.AttemptID {
	return grid.AttemptID{Job: j.rec.Job.ID, Epoch: claimed(&j.rec), Attempt: j.rec.Attempt}
}

// current finds the job that id is the present attempt of, if it is ours to run.
func (c *kernel) current(id grid.AttemptID) *job {
	j := c.job(id.Job)
	if j == nil || j.rec.Role != grid.Owning || c.attempt(j) != id {
		return nil
	}
	return j
}

// nameOf is the site's alias, or its peer ID where it has none.
func (c *kernel) nameOf(p grid.PeerID) string {
	if name := c.siteName(p); name != "" {
		return string(name)
	}
	return string(p)
}

func (c *kernel) ago(t grid.Tick) wire.Ago {
	if t == 0 {
		return wire.Ago{}
	}
	return wire.Ago{Span: max(0, c.now-t), Known: true}
}

func (c *kernel) instant(a wire.Ago) grid.Tick {
	if !a.Known {
		return 0
	}
	return c.now - a.Span
}

func (c *kernel) ahead(t grid.Tick) wire.In {
	if t == 0 {
		return wire.In{}
	}
	return wire.In{Span: t - c.now, Known: true}
}

// until is the instant that an owner is told as a span; 0 is none.
func (c *kernel) until(in wire.In) grid.Tick {
	if !in.Known {
		return 0
	}
	return max(1, c.now+in.Span)
}

// limitOf is what a job gets at this site before it is killed: parts of one job get the same.
func (c *kernel) limitOf(j *grid.Job) grid.Tick {
	if j.Part != nil {
		return j.Part.Limit
	}
	return c.limit(j.Walltime)
}

// limit is what a job gets at this site before it is killed.
func (c *kernel) limit(walltime grid.Tick) grid.Tick { return killLimit(walltime, c.cfg.Site.Speed) }
