package core

import (
	"fmt"
	"math"
	"slices"

	"gbroker/grid"
	"gbroker/plan"
	"gbroker/wire"
)

// The search (GBroker paper): ask every live site of L(i)+{i} for its start
// estimate t_j, add the delivery time z/b(i,j) and the run time t/speed_j, send
// the job to the least. One round asks for all jobs without a place at once; jobs
// that come meanwhile wait for the next round, so a burst costs few messages.
//
//	undecided jobs ─► EstimateRequest to every target, Look here ─► all answered, or deadline ─► decide each

// horizon bounds what a peer may say it will take: beyond it the answer is a lie or a mistake.
const horizon = 10 * 366 * grid.Day

// Refusals that this site writes for a candidate.
const (
	notAlive         = "the site is not alive"
	tooSmallWhenSeen = "the site is not alive, and had too few processors when it was"
	noCohort         = "none of the computers that it announces could hold the job"
	noAnswer         = "no answer in time"
	noTake           = "refused the offer a moment ago"
	badAnswer        = "the answer makes no sense"
	diskFull         = "its disk is full"
	tooMany          = "too many offers at once"
	noLook           = "no estimate: the batch system does not answer"
	nodesDown        = "nodes that it needs are down"
	drained          = "it is drained: it takes no jobs from elsewhere, and starts none of its users"
	stranger         = "the home of the job is no neighbour of that site"
	// homeSilent: an administrator's word lets it start here; see beforeHandingOn.
	homeSilent = "its home is not heard, so it may run here alone"
	// unprovable: the job came here without a certificate, or with too many.
	unprovable = "this site cannot prove that it owns the job, so only its home can take it"
)

// forNow is a refusal that is no reason to give a job up: it is tried again.
func forNow(reason string) *grid.Refusal {
	return &grid.Refusal{Kind: grid.Temporary, Reason: reason}
}

// round is one search under way.
type round struct {
	id      uint64
	jobs    []grid.JobID
	replies map[grid.PeerID]*reply
	waiting int  // replies that have not come; this site's own is one
	waits   bool // its jobs have a place, in the local queue
	later   bool // members are asked when this site's own answer is known
}

// reply is one site's answers, or why there are none.
type reply struct {
	site    grid.Site
	answers []grid.Estimate // as the round's jobs
	missing *grid.Refusal   // of all jobs; nil while waiting or answered
	take    int             // how many offers it takes at once
	told    bool            // by what the site told; it was not asked
	least   []grid.Tick     // if told, what the waits are at least; grid.Unforeseen: nobody knows
}

// undecide has a place searched for the job, unless its home keeps it back.
func (c *search) undecide(j *job) {
	if j.rec.Job.Part != nil {
		c.unplaced(j)
		return
	}
	if c.gates.kept(j) == notKept && !c.unweighed(j) && !j.queued {
		j.queued = true
		c.undecided = append(c.undecided, j.rec.Job.ID)
	}
}

// unplaced: a part has no place. At its home it is handed to its site again; its site has nothing else to do with it, as soon as it is known that
// it has not started here in a branch of the journal that is lost.
func (c *search) unplaced(j *job) {
	switch {
	case c.isHome(j) || j.rec.Role != grid.Owning || j.isSuperseded() || c.gates.beforePlacing(j) != open:
	case c.gates.beforeFailing(j) != open:
		c.backoff(j, onHandoff)
	default:
		c.execution.end(j, grid.Failed, "its site does not run it: "+j.rec.Why())
	}
}

// startRound begins a search if one is wanted and none is under way.
func (c *search) startRound() {
	if c.round != nil || len(c.undecided) == 0 || c.gates.beforeSearch() != open {
		return
	}
	c.rounds++
	r := &round{id: c.rounds, replies: map[grid.PeerID]*reply{}, waiting: 1}
	r.jobs = c.takeUndecided()
	if len(r.jobs) == 0 {
		return
	}
	c.round = r
	r.replies[c.cfg.Self] = &reply{}
	if r.later = c.looksFirst(); !r.later {
		c.askTargets(r)
	}
	c.estimator.look()
	c.armGeneral(roundDeadline, c.cfg.EstimateDeadline)
}

// askTargets asks all targets that live, but for those of which the answer is known.
func (c *search) askTargets(r *round) {
	for _, p := range c.targets {
		if r.replies[p] != nil {
			continue
		}
		m := c.members[p]
		if m.live != grid.Alive {
			r.replies[p] = &reply{missing: forNow(notAlive)}
			continue
		}
		if !c.mayHold(m, r.jobs) {
			r.replies[p] = &reply{missing: &grid.Refusal{Kind: grid.Permanent, Reason: noCohort}}
			continue
		}
		r.replies[p] = &reply{}
		r.waiting++
		c.send(p, wire.EstimateRequest{Round: r.id, Questions: c.questions(r, m)})
	}
}

// mayHold tells that a member may have a computer for one of some jobs, as it announced: else that is its answer. It announces others
// when it has them.
func (c *search) mayHold(m *member, jobs []grid.JobID) bool {
	return slices.ContainsFunc(jobs, func(id grid.JobID) bool {
		return m.site.Holds(&c.jobs[id].rec.Job.Demand)
	})
}

// waitLonger: the members have not all spoken; else Step goes on to search by itself.
func (c *search) waitLonger() {
	if c.gates.beforeSearch() != open {
		c.armGeneral(startedDue, c.cfg.EstimateDeadline)
	}
}

func (c *search) takeUndecided() []grid.JobID {
	c.undecided = c.byPriority(c.undecided)
	n := min(len(c.undecided), wire.MaxAsked)
	var ids []grid.JobID
	for _, id := range c.undecided[:n] {
		j := c.jobs[id]
		if j == nil {
			continue
		}
		j.queued = false
		if c.seeks(j) && !c.tooHeavy(j) {
			ids = append(ids, id)
		}
	}
	c.undecided = slices.Clone(c.undecided[n:])
	return ids
}

// seeks tells whether a place is searched for the job now. Where something has to be known first it is put up again later. Asked before a round
// and at its end: what was found meanwhile counts, as that the journal was rolled back.
func (c *search) seeks(j *job) bool {
	if j.rec.State != grid.Ready || j.rec.Role != grid.Owning || j.rec.CancelRequested {
		return false
	}
	switch hold := c.gates.beforeStart(j); hold {
	case open:
		return true
	case untilDue: // it is put up again when it is due
	case untilAll, untilReported: // it may last until an administrator does something: he reads here what
		c.shows(j, c.gates.why(j, hold))
		c.backoff(j, onHandoff)
	default:
		c.backoff(j, onHandoff)
	}
	return false
}

func (c *search) questions(r *round, m *member) []wire.Question {
	qs := make([]wire.Question, len(r.jobs))
	for i, id := range r.jobs {
		qs[i] = c.asking(c.jobs[id], m)
		if r.waits {
			qs[i].Within = c.within(c.jobs[id], m)
		}
	}
	return qs
}

// asking is what a member is asked about a job.
func (c *search) asking(of *job, m *member) wire.Question {
	j := &of.rec.Job
	_, _, delivery := c.delivery(m, sizeOf(j))
	delivery += c.fetching(of)
	q := wire.Question{
		Job: j.ID, Demand: j.Demand, Walltime: j.Walltime, Delivery: delivery, Queue: j.Queue, Reservation: j.Reservation,
		User: j.User.Name, Deadline: c.ahead(j.Terms.Deadline),
	}
	if j.Home != c.cfg.Self {
		q.Home = j.Home
	}
	return q
}

// estimateReply takes a neighbour's answers into the round, or the pass, that asked.
func (c *search) estimateReply(from grid.PeerID, t wire.EstimateReply) {
	r := c.round
	if p := c.passes.round; p != nil && t.Round == p.id {
		r = p
	}
	w := c.whereOf(t.Round)
	if w != nil {
		r = w.round
	}
	if r == nil || t.Round != r.id {
		return // late: that round is over
	}
	p := r.replies[from]
	if p == nil || p.answers != nil || p.missing != nil {
		return
	}
	r.waiting--
	t.Site.Cohorts = c.members[from].site.Cohorts // which are announced, and not in an answer
	c.members[from].site = t.Site
	p.site = t.Site
	p.take = int(min(max(t.Take, 1), maxTake))
	if err := checkEstimateReply(r, t); err != nil {
		p.missing = forNow(badAnswer)
		c.note("", from, "estimates refused: "+err.Error())
	} else {
		for _, a := range t.Answers {
			p.answers = append(p.answers, a.Estimate)
		}
	}
	switch {
	case w != nil:
		c.whereAnswered(w)
	case r.waiting > 0:
	case r == c.round:
		c.endRound()
	default:
		c.endPass()
	}
}

func checkEstimateReply(r *round, t wire.EstimateReply) error {
	if len(t.Answers) != len(r.jobs) {
		return fmt.Errorf("%d answers to %d questions", len(t.Answers), len(r.jobs))
	}
	if !(t.Site.Speed > 0) || math.IsInf(t.Site.Speed, 0) {
		return fmt.Errorf("its speed is %v", t.Site.Speed)
	}
	for i, a := range t.Answers {
		if a.Job != r.jobs[i] {
			return fmt.Errorf("answer %d is about another job", i+1)
		}
		if a.Estimate.Refusal == nil && (a.Estimate.Wait < 0 || a.Estimate.Wait > horizon || a.Estimate.Safe < 0) {
			return fmt.Errorf("a wait of %v s", a.Estimate.Wait.Seconds())
		}
	}
	return nil
}

// extendRound gives the round under way all its time again.
func (c *search) extendRound() {
	if c.round != nil {
		c.armGeneral(roundDeadline, c.cfg.EstimateDeadline)
	}
}

// endRound decides every job of the round with the answers there are.
func (c *search) endRound() {
	r := c.round
	if r.later { // this site's own answer takes its time
		r.later = false
		c.letGo(r)
		c.askTargets(r)
		c.armGeneral(roundDeadline, c.cfg.EstimateDeadline)
		return
	}
	c.round = nil
	c.disarmGeneral(roundDeadline)
	for i, id := range r.jobs {
		j := c.jobs[id]
		if j == nil || j.queued { // altered while it was asked about: of no use any more
			continue
		}
		if c.seeks(j) {
			c.decide(j, c.candidates(j, r, i))
		}
	}
}

func (c *search) ownAnswer(b *batch, s plan.Snapshot) {
	r := c.round
	if r == nil {
		return
	}
	own := r.replies[c.cfg.Self]
	if own.answers != nil || own.missing != nil {
		return
	}
	for _, id := range r.jobs {
		var e grid.Estimate
		if j := c.jobs[id]; j != nil {
			e = c.estimator.estimate(b, c.estimator.question(&j.rec.Job, s.At), j.rec.Job.Reservation)
		}
		own.answers = append(own.answers, e)
	}
	own.site.Load = loadOf(s)
	c.ownReplied(r)
}

// noOwnAnswer ends the wait for this site's own answer, of which there is none now.
func (c *search) noOwnAnswer(why *grid.Refusal) {
	if r := c.round; r != nil && r.replies[c.cfg.Self].answers == nil && r.replies[c.cfg.Self].missing == nil {
		r.replies[c.cfg.Self].missing = why
		c.ownReplied(r)
	}
}

func (c *search) ownReplied(r *round) {
	r.waiting--
	if r.later {
		r.later = false
		c.askWhoCould(r)
	}
	if r.waiting == 0 {
		c.endRound()
	}
}

// ready puts the job up for the search, as its user wants it now.
func (c *search) ready(j *job, why string) {
	c.become(j, grid.Ready)
	c.terms.renew(j)
	if kept := c.gates.kept(j); kept != notKept {
		j.rec.Reason = kept.because(&j.rec)
	}
	c.save(j, why)
	c.undecide(j)
}

// predicted keeps the estimate on which the job was first placed.
func (c *search) predicted(j *job) {
	if j.rec.PredictedStart == 0 {
		j.rec.PredictedStart = j.rec.EstimateNow
	}
}
