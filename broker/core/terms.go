package core

import (
	"gbroker/grid"
	"gbroker/wire"
)

// terms sees to what a job was handed in with: at its home, that it waits there as long as something
// keeps it back, and goes when nothing does; where it is owned, that it ends by its deadline.
//
// There is one place at which a job is kept back, the gate of its start (gates.go), one answer to
// why ([terms.keepsBack]), and one state: READY at its home, without a place, with the answer as
// its reason.
//
//	     files of its group to come, held, not before, dependencies (depend.go), altered (alter.go)
//	          │ keepsBack
//	READY ────┴──── kept: no search ── due: nothing keeps it back any more ──► the search
//	  ▲
//	  ├── ASSIGNED, MOVING at home ── kept back from now on: withdrawn, the offer dropped
//	  └── owned elsewhere, waiting ── ReportAck{Back}, until it is home: it is offered back ──┘
//
// What has started is not kept back: it was asked too late, and is told so.
type terms struct {
	*kernel
	awaited map[string]map[grid.JobID]bool // jobs that wait for a job, a group or all of a name, by that; see depend.go
	named   map[string]map[grid.JobID]bool // jobs of a user and a name that have not ended
	newest  map[string]grid.Tick           // the last of these was handed in
	stirred []string                       // what of awaited has moved in this step
	weighed []grid.JobID                   // jobs whose dependencies are to be looked at
	vain    map[grid.JobID]bool            // jobs that wait for what can never come true, and may have started in a branch that is lost
	said    map[grid.Dependency]judgement  // of dependencies that mean the same for all jobs, until something moves

	execution interface {
		end(j *job, state grid.State, reason string)
		withdraw(j *job)
	}
	gates interface {
		beforeAcknowledging(j *job, m wire.Report) gate
		beforeChanging(j *job, by grid.Relayed) gate
		beforeDepending(v verdict) verdict
		beforeFailing(j *job) gate
		beforeOverdue(j *job) gate
		beforeRenewing(j *job) gate
		kept(j *job) keeping
	}
	home interface {
		endOverdue(j *job)
		within(user string, more usage, this, smaller string) error
	}
	ownership interface {
		makeOffer(j *job, to grid.PeerID, wait grid.Tick, hops uint32)
		withdrawOffer(j *job, why string)
	}
	search interface {
		hopsOf(j *job) uint32
		ready(j *job, why string)
		undecide(j *job)
	}
}

func newTerms(k *kernel) *terms {
	return &terms{kernel: k, vain: map[grid.JobID]bool{}, awaited: map[string]map[grid.JobID]bool{}, named: map[string]map[grid.JobID]bool{}, newest: map[string]grid.Tick{}}
}

func (c *terms) routes(r *routes) {
	onEvent(r, c.alter)
	onMessage(r, c.onReportAck)
	onEvent(r, c.notified)
	onJob(r, onDue, c.due)
	onJob(r, onNotice, c.noticeDue)
	onJob(r, onDeadline, c.deadlineDue)
	r.after = append(r.after, c.settleDependencies)
}

// keepsBack says what of its terms keeps a job of this home back.
func (c *terms) keepsBack(j *job) keeping {
	t := &j.rec.Job.Terms
	switch {
	case !c.isHome(j):
		return notKept
	case c.groups.keepsBack(j.rec.Job.ID):
		return untilFiles
	case j.rec.Altered != nil:
		return untilAltered
	case t.Held:
		return untilReleased
	case t.NotBefore > c.now:
		return untilInstant
	case len(t.After) > 0:
		return untilOthers
	}
	return notKept
}

// saved: whoever saves a job has its timers set as its terms are, and those told that wait for it.
func (c *terms) saved(j *job) {
	r, t := &j.rec, &j.rec.Job.Terms
	open := r.Role == grid.Owning && !r.State.Terminal() && r.End == 0
	c.armAt(j, onDeadline, t.Deadline, open && !r.CancelRequested)
	c.armAt(j, onDue, t.NotBefore, open && c.isHome(j) && t.NotBefore > c.now)
	if len(r.Owed) > 0 && j.due[onNotice] == 0 && !j.notifying {
		c.arm(j, onNotice, 1)
	}
	if c.isHome(j) {
		c.noteMoved(j)
	}
}

// armAt sets a timer to an instant, or off.
func (c *terms) armAt(j *job, k concern, at grid.Tick, on bool) {
	switch {
	case at == 0 || !on:
		j.due[k] = 0
	case j.due[k] != max(at, c.now+1):
		c.arm(j, k, at-c.now)
	}
}

// recover takes the jobs up that were in the journal.
func (c *terms) recover() {
	for _, j := range c.sorted() {
		c.saved(j)
		if c.isHome(j) && !j.rec.State.Terminal() {
			c.await(j)
		}
	}
}

// due looks whether a job that waits at home is still kept back; else a place is searched for it.
func (c *terms) due(j *job) {
	r := &j.rec
	if !c.isHome(j) || r.Role != grid.Owning || r.State != grid.Ready || r.CancelRequested {
		return
	}
	kept := c.gates.kept(j)
	why := kept.because(r)
	line := why
	if kept == notKept {
		line = "nothing keeps it back any more"
	}
	if j.reasoned(why) {
		c.save(j, line)
	}
	if kept == notKept {
		c.search.undecide(j)
	}
}

// tooLate: the job has started. What was asked of it meanwhile, and would have kept it back, is over.
func (c *terms) tooLate(j *job) {
	if j.rec.Started == 0 {
		c.owe(j, grid.OnBegin)
	}
	t := j.rec.Job.Terms
	if !c.isHome(j) || !t.Held && t.NotBefore <= c.now && j.rec.Altered == nil {
		return
	}
	t.Held, t.NotBefore = false, 0
	j.rec.Job.Terms, j.rec.Altered, j.wishes = t, nil, grid.Alteration{}
	c.note(j.rec.Job.ID, "", "it has started before it could be kept back")
}

// wantsBack tells that the home wants a job that waits elsewhere.
func (c *terms) wantsBack(j *job) bool {
	r := &j.rec
	return c.isHome(j) && r.Role != grid.Owning && r.State < grid.Running && r.End == 0 && !r.CancelRequested && c.gates.kept(j) != notKept
}

// word is what the home says to the owner of a job with each acknowledgement.
func (c *terms) word(j *job, m wire.ReportAck) wire.ReportAck {
	m.Back = c.wantsBack(j)
	m.Deadline = c.ahead(j.rec.Job.Terms.Deadline)
	return m
}

// onReportAck is that word, heard at the owner.
func (c *terms) onReportAck(from grid.PeerID, m wire.ReportAck) {
	j := c.job(m.Job)
	if j == nil || c.isHome(j) || j.rec.Job.Home != from || j.rec.Role != grid.Owning || j.rec.Epoch != m.Epoch || j.rec.End != 0 {
		return
	}
	c.hearDeadline(j, m.Deadline)
	if m.Back {
		c.giveBack(j)
	}
}

// giveBack offers a job that waits here to its home, by a handoff like any other; only the home need
// not be able to run it.
func (c *terms) giveBack(j *job) {
	r := &j.rec
	if r.CancelRequested || c.withdraws(j) || j.isSuperseded() || r.Missing != 0 || !c.lives(r.Job.Home) {
		return
	}
	if r.State == grid.Moving && r.Handoff.To != r.Job.Home && r.Handoff.Phase == grid.Offering {
		c.ownership.withdrawOffer(j, "its home wants it back")
	}
	if r.State == grid.Ready || r.State == grid.Assigned && r.Local != "" {
		j.awaits, j.chosen = false, grid.Candidate{}
		c.ownership.makeOffer(j, r.Job.Home, 0, c.search.hopsOf(j))
	}
}

// Deadlines. A job ends by its deadline wherever it is: its owner asks for its end as its user
// would (cancel.go), and that end is CANCELLED_DEADLINE. It does so by its own clock, and asks nobody else for it: see [grid.Record.Wished].

func (c *terms) deadlineDue(j *job) {
	if c.gates.beforeOverdue(j) == open {
		c.home.endOverdue(j)
	}
}

// deadlineSlack is by how much the home's word of a deadline may differ from what an owner has,
// as words take time: then it is the same.
const deadlineSlack = 10 * grid.Second

func (c *terms) hearDeadline(j *job, in wire.In) {
	if !in.Known {
		return
	}
	t := j.rec.Job.Terms
	if at := c.now + in.Span; at-t.Deadline > deadlineSlack || t.Deadline-at > deadlineSlack {
		t.Deadline = at
		j.rec.Job.Terms = t
		c.save(j, "its home says that it is to end by "+at.Stamp())
	}
}

// overdue tells that the job has not ended by its deadline.
func (c *kernel) overdue(j *job) bool {
	at := j.rec.Job.Terms.Deadline
	return j.rec.Overdue || at != 0 && c.now >= at
}

// cancelled is the end of a job that was to be cancelled and never started, and why.
func (c *kernel) cancelled(j *job) (grid.State, string) {
	if c.overdue(j) {
		return grid.CancelledDeadline, "its deadline has passed before it started"
	}
	return grid.Killed, "cancelled before it started"
}
