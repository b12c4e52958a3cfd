package core

import (
	"fmt"
	"slices"

	"gbroker/grid"
	"gbroker/plan"
	"gbroker/wire"
)

// The search for jobs that wait in the local queue. A pass looks at the batch
// system, asks the neighbours live about the jobs it has chosen, in queue order,
// and moves those for which another place is better by the margins:
//
//	change of the queue, Delta ─► wanted ─► Look ─► jobs chosen, EstimateRequest ─► all answered, or deadline ─► weigh each
//
// The job's own place is its planned start in the plan of that look; when one has
// been moved away, the plan is made again before another is weighed against it. Passes
// lie at least Settle apart, and one has at most maxPass jobs: a longer queue is
// gone through by turns, from its head, until every job has had its pass.
//
// A job that moves goes through the handoff like any other. A pass that moves
// nothing writes nothing: what it found is shown with the job, and no more.

const (
	// maxPass bounds the jobs of one pass, and so what it costs here and there.
	maxPass = 1024
	// maxReplans bounds how often the own plan is made again in one pass.
	maxReplans = 16
)

// passes is the state of this search.
type passes struct {
	wanted bool   // a pass is to begin with the next look
	round  *round // the questions of the pass under way, or nil
	own    ownPlan
	last   grid.Tick // when the last one began
	sweep  uint64    // number of the walk through the queue; see job.sweep
	queue  uint64    // fingerprint of the batch system's content
}

// ownPlan is the plan that the jobs of a pass are weighed against.
type ownPlan struct {
	snapshot plan.Snapshot
	forecast
	held    map[grid.JobID]bool // an operator keeps them from starting
	moved   map[grid.JobID]bool // offered in this pass: the plan still has them
	stale   bool
	replans int
}

// start is when the job starts here; false if it is not going to.
func (o *ownPlan) start(job grid.JobID) (grid.Tick, bool) {
	if o.held[job] {
		return 0, false
	}
	stay, planned := o.runs(job)
	return stay.Start, planned
}

// stir wants a pass if the batch system's content is not what it was.
func (c *search) stir(s plan.Snapshot) {
	h := newFingerprint()
	for i := range s.Running {
		h.text(string(s.Running[i].Job))
		h.number(len(s.Running[i].Shares))
	}
	h.number(len(s.Running))
	for i := range s.Waiting {
		w := &s.Waiting[i]
		h.text(string(w.Job))
		h.number(w.Demand.Cores())
		h.truth(w.Ineligible)
	}
	for i := range s.Nodes {
		h.truth(s.Nodes[i].Down)
	}
	h.truth(s.Stopped)
	for i := range s.Queues {
		h.truth(s.Queues[i].Stopped)
		h.truth(s.Queues[i].Closed)
	}
	if sum := uint64(h); sum != c.passes.queue {
		c.passes.queue = sum
		c.passSoon()
	}
}

// passSoon wants a pass as soon as the last one is long enough ago.
func (c *search) passSoon() {
	at := max(c.now, c.passes.last+c.cfg.Settle) + c.jitter(c.cfg.Settle)
	c.armWithin(passDue, at-c.now)
}

// jitter is up to a tenth of a span, so that brokers do not keep step.
func (c *search) jitter(span grid.Tick) grid.Tick { return c.upTo(span / 10) }

// upTo is a random span.
func (c *search) upTo(span grid.Tick) grid.Tick { return grid.Tick(c.random.Int64N(int64(span) + 1)) }

// startPass has a look taken for a pass that is wanted; looked goes on. Where no job of this broker waits none is needed:
// most brokers of a quiet grid are there for the answers that they give.
func (c *search) startPass() {
	p := &c.passes
	switch {
	case !p.wanted || p.round != nil || c.gates.beforeSearch() != open:
	case c.anyAssigned():
		c.estimator.look()
	default:
		p.wanted, p.last = false, c.now
		c.nextPass(c.cfg.Delta)
	}
}

func (c *search) anyAssigned() bool {
	for _, j := range c.live {
		if j.rec.Role == grid.Owning && j.rec.State == grid.Assigned {
			return true
		}
	}
	return false
}

// wantPass wants one with the next look.
func (c *search) wantPass() { c.passes.wanted = true }

// noPass: without a snapshot, later.
func (c *search) noPass() {
	if c.passes.wanted {
		c.passes.wanted = false
		c.nextPass(c.cfg.Settle)
	}
}

// nextPass arms the timer of the next pass.
func (c *search) nextPass(in grid.Tick) {
	if c.timers.general[passDue-concerns] == 0 {
		c.armGeneral(passDue, in+c.jitter(in))
	}
}

// beginPass chooses the jobs and asks about them.
func (c *search) beginPass(s plan.Snapshot, o forecast) {
	p := &c.passes
	if !p.wanted || p.round != nil {
		return
	}
	p.wanted, p.last = false, c.now
	c.disarmGeneral(passDue) // what this look showed to be new is what it is about
	p.own = ownPlan{snapshot: s, forecast: o, held: map[grid.JobID]bool{}, moved: map[grid.JobID]bool{}}
	for _, w := range s.Waiting {
		if w.Ineligible {
			p.own.held[w.Job] = true
		}
	}
	jobs, more := c.chooseWaiting(s)
	if len(jobs) == 0 || !c.anyTarget() {
		c.nextPass(c.cfg.Delta)
		return
	}
	if !more {
		p.sweep++
	}
	if more || c.draining {
		c.nextPass(c.cfg.Settle)
	} else {
		c.nextPass(c.cfg.Delta)
	}
	c.rounds++
	p.round = &round{id: c.rounds, waits: true, jobs: jobs, replies: map[grid.PeerID]*reply{c.cfg.Self: {}}}
	if c.cfg.Tell > 0 {
		c.askWhoCouldGain(p.round)
	} else {
		c.askTargets(p.round)
	}
	if p.round.waiting == 0 {
		c.endPass()
		return
	}
	c.armGeneral(passDeadline, c.cfg.EstimateDeadline)
}

func (c *search) anyTarget() bool {
	return slices.ContainsFunc(c.targets, func(p grid.PeerID) bool { return c.members[p].live == grid.Alive })
}

// chooseWaiting takes the next jobs of the walk through the queue; more tells that
// it does not end with them.
func (c *search) chooseWaiting(s plan.Snapshot) (ids []grid.JobID, more bool) {
	for _, w := range s.Waiting {
		j := c.jobs[w.Job]
		if w.Job == "" || j == nil || j.sweep > c.passes.sweep || !c.movable(j) {
			continue
		}
		if len(ids) == maxPass {
			return ids, true
		}
		j.sweep = c.passes.sweep + 1
		ids = append(ids, w.Job)
	}
	return ids, false
}

// movable: the job waits in the local queue, and nothing else is going on with it.
func (c *search) movable(j *job) bool {
	r := &j.rec
	if r.Role != grid.Owning || r.State != grid.Assigned || r.Local == "" || r.CancelRequested || c.withdraws(j) ||
		r.Missing != 0 || r.Job.Part != nil || r.Handoff.Phase != grid.NoHandoff || j.claim != nil || c.gates.beforeHandingOn(j) != open {
		return false
	}
	if c.draining {
		return true
	}
	cool := r.HopsAt == 0 || c.now-r.HopsAt >= c.cfg.Cooldown
	start, planned := c.passes.own.start(r.Job.ID)
	return cool && c.hopsOf(j) < c.cfg.MaxHops && (!planned || start-c.now > c.cfg.Soon)
}

// hopsOf are the moves for a gain that count against the job now.
func (c *search) hopsOf(j *job) uint32 {
	back := (c.now - j.rec.HopsAt) / c.cfg.HopBack
	return uint32(max(0, grid.Tick(j.rec.Hops)-back))
}

// endPass weighs every job of the pass with the answers there are.
func (c *search) endPass() {
	p := &c.passes
	r := p.round
	p.round = nil
	c.disarmGeneral(passDeadline)
	open := c.openOffers()
	for i, id := range r.jobs {
		if j := c.jobs[id]; j != nil && c.movable(j) {
			c.weigh(j, r, i, open)
		}
	}
	p.own = ownPlan{}
}

// openOffers counts the handoffs under way to each candidate.
func (c *search) openOffers() map[grid.PeerID]int {
	open := map[grid.PeerID]int{}
	for _, j := range c.live {
		if h := j.rec.Handoff; h.Phase == grid.Offering || h.Phase == grid.Withdrawing {
			open[h.To]++
		}
	}
	return open
}

// weigh moves one waiting job, or notes why it stays.
func (c *search) weigh(j *job, r *round, i int, open map[grid.PeerID]int) {
	rows := c.waitingRows(j, r, i, open)
	to, why := c.better(rows)
	if to > 0 && c.passes.own.stale { // one before it has left: perhaps it is no gain any more
		if !c.replan() {
			return
		}
		rows = c.waitingRows(j, r, i, open)
		to, why = c.better(rows)
	}
	for to > 0 {
		if rows[to].Refusal = c.budgets.lienFor(j, &rows[to]); rows[to].Refusal == nil {
			break
		}
		to, why = c.better(rows)
	}
	d := grid.Decision{At: c.now, Epoch: j.rec.Epoch, Candidates: rows}
	if to == 0 {
		rows[0].Chosen = true
		d.Chosen = rows[0].Site
		d.Unmoved, d.Stays = true, why
		j.rec.Stay = &d
		c.show(j)
		return
	}
	row := &rows[to]
	row.Chosen = true
	d.Chosen = row.Site
	j.decided(d)
	open[row.Peer]++
	c.passes.own.moved[j.rec.Job.ID], c.passes.own.stale = true, true
	hops := c.hopsOf(j)
	if !c.draining {
		hops++
	}
	j.rec.EstimateNow = c.now + row.Delivery + row.Wait
	c.ownership.makeOffer(j, row.Peer, row.Delivery+row.Wait, hops)
}

// cannotStart is the own row of a job that has no planned start: it is held, or
// nodes are down.
const cannotStart = "as this site is now, it is not going to start here"

// waitingRows is the table of a job that waits here: this site first.
func (c *search) waitingRows(j *job, r *round, i int, open map[grid.PeerID]int) []grid.Candidate {
	rows := c.candidates(j, r, i)
	rows[0] = c.staying(j)
	for k := range rows[1:] {
		row := &rows[1+k]
		if row.Refusal == nil && open[row.Peer] >= r.replies[row.Peer].take {
			row.Refusal = forNow("as many jobs are on their way there as it takes at once")
		}
	}
	return rows
}

// staying is the row of this site for a job that waits here.
func (c *search) staying(j *job) grid.Candidate {
	own := grid.Candidate{Site: c.siteName(c.cfg.Self), Peer: c.cfg.Self, Size: j.weight()}
	start, planned := c.passes.own.start(j.rec.Job.ID)
	switch {
	case c.unwanted(j, c.cfg.Self) != nil:
		own.Refusal = c.unwanted(j, c.cfg.Self)
	case c.draining:
		own.Refusal = forNow(drained)
	case !planned:
		own.Refusal = forNow(cannotStart)
	default:
		own.Wait = max(0, start-c.now)
		own.Safe = own.Wait
		if at, ok := c.passes.own.safe.Start(j.rec.Job.ID); ok {
			own.Safe = max(0, at-c.now)
		}
		if c.passes.own.unsure && own.Safe > 0 {
			own.Safe = grid.Unsure
		}
		stay, _ := c.passes.own.runs(j.rec.Job.ID)
		least := runTime(j.rec.Job.Walltime, c.cfg.Site.Speed)
		if own.Run = least; stay.End > stay.Start {
			own.Run, least = bounded(stay.End-stay.Start), 0
		}
		own.Total = own.Wait + own.Run
		c.wished(j, &own, least)
	}
	return own
}

// within is how soon a job that waits here would have to start at a member to move there. Where it cannot, it does not come, and those
// behind it are answered without it: else one job that stays keeps all others of its queue here. 0 is not known.
func (c *search) within(j *job, m *member) grid.Tick {
	own := c.staying(j)
	if own.Refusal != nil || len(j.rec.Job.Sites.Prefer) > 0 || c.cfg.Published {
		return 0
	}
	return min(max(1, own.Total-c.leastGain(&own)-runTime(j.rec.Job.Walltime, m.site.Speed)), wire.MaxSpan)
}

// better is the row to move to, or 0 and why the job stays.
func (c *search) better(rows []grid.Candidate) (to int, why string) {
	for i := 1; i < len(rows); i++ {
		if rows[i].Refusal == nil && (to == 0 || rows[i].Total < rows[to].Total) {
			to = i
		}
	}
	if to == 0 {
		return 0, "no neighbour can take it now"
	}
	if rows[0].Refusal != nil {
		return to, "" // anything is a gain
	}
	gain := rows[0].Total - rows[to].Total
	least := c.leastGain(&rows[0])
	if gain <= least {
		return 0, fmt.Sprintf("the best neighbour, %s, would be done %.0f s sooner; a move needs more than %.0f s",
			rows[to].Site, gain.Seconds(), least.Seconds())
	}
	return to, ""
}

// leastGain is what a job must gain at least to move.
func (c *search) leastGain(own *grid.Candidate) grid.Tick {
	return max(c.cfg.Margin, grid.FromSeconds(c.cfg.MarginShare*own.Total.Seconds()))
}

// replan makes the own plan without the jobs that this pass has moved.
func (c *search) replan() bool {
	own := &c.passes.own
	if own.replans == maxReplans {
		return false // the rest waits for the next pass
	}
	own.replans++
	own.stale = false
	own.snapshot = without(own.snapshot, own.moved)
	own.forecast = c.estimator.newForecast(own.snapshot)
	return true
}
