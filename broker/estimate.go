package broker

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
//	undecided jobs ─► Ask to every target, Look here ─► all answered, or deadline ─► decide each

// maxRound bounds the jobs of one Ask.
const maxRound = 256

// horizon bounds what a peer may say it will take: beyond it the answer is a lie or a mistake.
const horizon = 10 * 366 * grid.Day

// Refusals that this site writes for a candidate. Those of passing are no reason to
// give a job up: it is tried again.
const (
	notAlive  = "the site is not alive"
	noAnswer  = "no answer in time"
	noTake    = "refused the offer a moment ago"
	badAnswer = "the answer makes no sense"
	diskFull  = "its disk is full"
	tooMany   = "too many offers at once"
	noLook    = "no estimate: the batch system does not answer"
)

var passing = []string{notAlive, noAnswer, noTake, badAnswer, noLook, diskFull, tooMany}

// round is one search under way.
type round struct {
	id      uint64
	jobs    []grid.JobID
	replies map[grid.PeerID]*reply
	waiting int // replies that have not come; this site's own is one
}

// reply is one site's answers, or why there are none.
type reply struct {
	site    grid.Site
	answers []grid.Estimate // as the round's jobs
	missing string          // a refusal for all jobs; "" while waiting or answered
}

func (c *Core) undecide(j *job) {
	if !j.queued {
		j.queued = true
		c.undecided = append(c.undecided, j.rec.Job.ID)
	}
}

// startRound begins a search if one is wanted and none is under way.
func (c *Core) startRound() {
	if c.round != nil || len(c.undecided) == 0 || c.holding() {
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
	for _, p := range c.targets {
		m := c.members[p]
		if m.live != grid.Alive {
			r.replies[p] = &reply{missing: notAlive}
			continue
		}
		r.replies[p] = &reply{}
		r.waiting++
		c.send(p, wire.Ask{Round: r.id, Questions: c.questions(r, m)})
	}
	c.look()
	c.armGeneral(roundDeadline, c.cfg.AskDeadline)
}

// holding waits, for a moment after a start, until it is known of every target
// whether it lives: else all jobs would stay here.
func (c *Core) holding() bool {
	if c.now >= c.hold {
		return false
	}
	for _, p := range c.targets {
		if !c.members[p].heard {
			return true
		}
	}
	c.hold = 0
	return false
}

func (c *Core) takeUndecided() []grid.JobID {
	n := min(len(c.undecided), maxRound)
	var ids []grid.JobID
	for _, id := range c.undecided[:n] {
		j := c.jobs[id]
		if j == nil {
			continue
		}
		j.queued = false
		if j.rec.State == grid.Ready && j.rec.Standing == grid.Owning && !j.rec.CancelRequested {
			ids = append(ids, id)
		}
	}
	c.undecided = slices.Clone(c.undecided[n:])
	return ids
}

func (c *Core) questions(r *round, m *member) []wire.Question {
	qs := make([]wire.Question, len(r.jobs))
	for i, id := range r.jobs {
		j := &c.jobs[id].rec
		_, _, delivery := c.delivery(m, sizeOf(&j.Job))
		qs[i] = wire.Question{
			Job: id, Demand: j.Job.Demand, Walltime: j.Job.Walltime,
			Delivery: delivery, Queue: j.Job.Queue,
		}
	}
	return qs
}

// documentSize stands for what travels with a job beside its files, in bytes.
const documentSize = 1 << 10

// sizeOf is z: what has to be sent for this job, in bytes.
func sizeOf(j *grid.Job) int64 { return documentSize + j.Inputs.Size() }

func (c *Core) delivery(m *member, size int64) (bandwidth float64, measured bool, delivery grid.Tick) {
	bandwidth, measured = m.link.Bandwidth(size)
	return bandwidth, measured, grid.FromSeconds(float64(size) / bandwidth)
}

// look asks for a snapshot unless one is on its way.
func (c *Core) look() {
	if !c.looking {
		c.looking = true
		c.emit(Look{})
	}
}

// tell takes a neighbour's answers into the round.
func (c *Core) tell(from grid.PeerID, t wire.Tell) {
	r := c.round
	if r == nil || t.Round != r.id {
		return // late: that round is over
	}
	p := r.replies[from]
	if p == nil || p.answers != nil || p.missing != "" {
		return
	}
	r.waiting--
	c.members[from].site = t.Site
	p.site = t.Site
	if bad := checkTell(r, t); bad != "" {
		p.missing = badAnswer
		c.note("", from, "estimates refused: "+bad)
	} else {
		for _, a := range t.Answers {
			p.answers = append(p.answers, a.Estimate)
		}
	}
	if r.waiting == 0 {
		c.endRound()
	}
}

func checkTell(r *round, t wire.Tell) string {
	if len(t.Answers) != len(r.jobs) {
		return fmt.Sprintf("%d answers to %d questions", len(t.Answers), len(r.jobs))
	}
	if !(t.Site.Speed > 0) || math.IsInf(t.Site.Speed, 0) {
		return fmt.Sprintf("its speed is %v", t.Site.Speed)
	}
	for i, a := range t.Answers {
		if a.Job != r.jobs[i] {
			return fmt.Sprintf("answer %d is about another job", i+1)
		}
		if a.Estimate.Refusal == nil && (a.Estimate.Wait < 0 || a.Estimate.Wait > horizon) {
			return fmt.Sprintf("a wait of %v s", a.Estimate.Wait.Seconds())
		}
	}
	return ""
}

// endRound decides every job of the round with the answers there are.
func (c *Core) endRound() {
	r := c.round
	if r == nil {
		return
	}
	c.round = nil
	c.disarmGeneral(roundDeadline)
	for i, id := range r.jobs {
		j := c.jobs[id]
		if j == nil {
			continue
		}
		j.queued = false
		if j.rec.State == grid.Ready && j.rec.Standing == grid.Owning {
			c.decide(j, c.candidates(j, r, i))
		}
	}
}

// candidates are the rows of a decision: this site first, then L(i) by name, so
// that the first of equal totals is the local site, then the least name.
func (c *Core) candidates(j *job, r *round, i int) []grid.Candidate {
	rows := make([]grid.Candidate, 0, len(c.targets)+1)
	rows = append(rows, c.candidate(j, r, i, c.cfg.Self))
	for _, p := range c.targets {
		rows = append(rows, c.candidate(j, r, i, p))
	}
	return rows
}

func (c *Core) candidate(j *job, r *round, i int, p grid.PeerID) grid.Candidate {
	row := grid.Candidate{Site: c.siteName(p), Peer: p, Size: sizeOf(&j.rec.Job)}
	site := c.cfg.Site
	if m := c.members[p]; p != c.cfg.Self && m != nil {
		row.Bandwidth, row.Measured, row.Delivery = c.delivery(m, row.Size)
		site = m.site
	}
	refuse := func(reason string) grid.Candidate {
		row.Refusal = &grid.Refusal{Reason: reason}
		return row
	}
	a := r.replies[p]
	switch {
	case a == nil:
		return refuse(notAlive) // became a target during the round
	case a.missing != "":
		return refuse(a.missing)
	case a.answers == nil:
		return refuse(noAnswer)
	case j.blocked[p] > c.now:
		return refuse(noTake)
	case a.answers[i].Refusal != nil:
		row.Refusal = a.answers[i].Refusal
		return row
	}
	row.Wait = a.answers[i].Wait
	row.Run = runTime(j.rec.Job.Walltime, site.Speed)
	row.Total = row.Delivery + row.Wait + row.Run
	return row
}

// runTime is the run time expected at a site of that speed.
func runTime(walltime grid.Tick, speed float64) grid.Tick {
	if !(speed > 0) {
		speed = 1
	}
	return grid.FromSeconds(walltime.Seconds() / speed)
}

// killLimit is never below the walltime that the user asked for.
func killLimit(walltime grid.Tick, speed float64) grid.Tick {
	return max(walltime, runTime(walltime, speed))
}

// decide sends the job to the least total, or says why it cannot be run.
func (c *Core) decide(j *job, rows []grid.Candidate) {
	best := -1
	for i, r := range rows {
		if r.Refusal == nil && (best < 0 || r.Total < rows[best].Total) {
			best = i
		}
	}
	d := grid.Decision{At: c.now, Epoch: j.rec.Epoch, Candidates: rows}
	if best < 0 {
		c.nobody(j, d)
		return
	}
	rows[best].Chosen = true
	d.Chosen = rows[best].Site
	j.decided(d)
	start := c.now + rows[best].Delivery + rows[best].Wait
	j.rec.EstimateNow = start
	j.rec.Reason = ""
	if rows[best].Peer == c.cfg.Self {
		c.launch(j, "chosen: here")
		return
	}
	c.makeOffer(j, rows[best].Peer, rows[best].Delivery+rows[best].Wait)
}

// predicted keeps the estimate on which the job was first placed.
func (c *Core) predicted(j *job) {
	if j.rec.PredictedStart == 0 {
		j.rec.PredictedStart = j.rec.EstimateNow
	}
}

// nobody can run the job. If only for now, it stays READY and is tried again.
func (c *Core) nobody(j *job, d grid.Decision) {
	for _, r := range d.Candidates {
		if slices.Contains(passing, r.Refusal.Reason) {
			j.rec.Reason = "no site can take it now: " + reasons(d)
			if j.tries[onHandoff] == 0 { // the first of a row of vain searches is kept
				j.decided(d)
				c.save(j, j.rec.Reason)
			}
			c.backoff(j, onHandoff)
			return
		}
	}
	j.decided(d)
	c.end(j, grid.Failed, "no site can run it: "+reasons(d))
}

// maxDecisions bounds the decisions kept with a job: the first, and the latest.
const maxDecisions = 64

// decided keeps a decision with the job.
func (j *job) decided(d grid.Decision) {
	kept := j.rec.Decisions
	if len(kept) >= maxDecisions {
		kept = append(slices.Clone(kept[:1]), kept[2:]...)
	}
	j.rec.Decisions = append(slices.Clip(kept), d)
}

func reasons(d grid.Decision) string {
	text := ""
	for i, r := range d.Candidates {
		if i > 0 {
			text += "; "
		}
		text += string(r.Site) + ": " + r.Refusal.Reason
		if r.Refusal.Asked != "" {
			text += fmt.Sprintf(" (asked %s, available %s)", r.Refusal.Asked, r.Refusal.Available)
		}
	}
	return text
}

// pendingAsk is a neighbour's question that waits for a snapshot.
type pendingAsk struct {
	from grid.PeerID
	ask  wire.Ask
}

// maxPending bounds the questions kept while a snapshot is taken.
const maxPending = 1024

func (c *Core) ask(from grid.PeerID, a wire.Ask) {
	k := slices.IndexFunc(c.asks, func(p pendingAsk) bool { return p.from == from })
	if k >= 0 {
		c.asks[k].ask = a // it has one search at a time: the older one is over
	} else {
		c.asks = append(c.asks, pendingAsk{from, a})
	}
	c.look()
}

// looked has a snapshot: everything that waited for one is answered from it.
func (c *Core) looked(e Looked) {
	c.looking = false
	asks, offers := c.asks, c.offers
	c.asks, c.offers = nil, nil
	if e.Err != "" {
		c.note("", "", "no snapshot of the batch system: "+e.Err)
		c.unseen(asks, offers, noLook)
		return
	}
	s := c.withComing(e.Snapshot)
	built := plan.Build(s)
	c.showEstimates(s, built)
	if e.Full {
		c.unseen(asks, offers, diskFull)
		return
	}
	base := built.Batch()
	for _, o := range offers { // first: what comes counts in every answer
		c.considerOffer(o, base, s)
	}
	for _, a := range asks {
		c.send(a.from, c.answer(base, s, a.ask))
	}
	c.ownAnswer(base, s)
}

// unseen: without a snapshot, or with a full disk, there is no estimate.
func (c *Core) unseen(asks []pendingAsk, offers []pendingOffer, why string) {
	none := grid.Estimate{Refusal: &grid.Refusal{Reason: why}}
	for _, a := range asks {
		t := wire.Tell{Round: a.ask.Round, Site: c.cfg.Site}
		for _, q := range a.ask.Questions {
			t.Answers = append(t.Answers, wire.Answer{Job: q.Job, Estimate: none})
		}
		c.send(a.from, t)
	}
	for _, o := range offers {
		c.send(o.from, wire.Refuse{Bond: o.offer.Bond, Estimate: none})
	}
	if r := c.round; r != nil && r.replies[c.cfg.Self].answers == nil && r.replies[c.cfg.Self].missing == "" {
		r.replies[c.cfg.Self].missing = why
		c.ownReplied(r)
	}
}

func (c *Core) answer(base *plan.Batch, s plan.Snapshot, a wire.Ask) wire.Tell {
	t := wire.Tell{Round: a.Round, Site: c.cfg.Site}
	for _, q := range a.Questions {
		e := c.estimate(base, s, q.Demand, q.Walltime, q.Delivery)
		t.Answers = append(t.Answers, wire.Answer{Job: q.Job, Estimate: e})
	}
	return t
}

// estimate answers one question; for those that follow, the job has come.
func (c *Core) estimate(base *plan.Batch, s plan.Snapshot, d grid.Demand, walltime, delivery grid.Tick) grid.Estimate {
	q := plan.Question{Demand: d, Limit: killLimit(walltime, c.cfg.Site.Speed), NotBefore: s.At + delivery}
	start, refusal := base.Ask(q)
	if refusal != nil {
		return grid.Estimate{Refusal: refusal}
	}
	return grid.Estimate{Wait: max(0, start-q.NotBefore)}
}

func (c *Core) ownAnswer(base *plan.Batch, s plan.Snapshot) {
	r := c.round
	if r == nil {
		return
	}
	own := r.replies[c.cfg.Self]
	if own.answers != nil || own.missing != "" {
		return
	}
	for _, id := range r.jobs {
		var e grid.Estimate
		if j := c.jobs[id]; j != nil {
			e = c.estimate(base, s, j.rec.Job.Demand, j.rec.Job.Walltime, 0)
		}
		own.answers = append(own.answers, e)
	}
	c.ownReplied(r)
}

func (c *Core) ownReplied(r *round) {
	r.waiting--
	if r.waiting == 0 {
		c.endRound()
	}
}

// withComing adds to a snapshot what it does not show yet: jobs accepted, prepared
// or just submitted. A site's load is the union by JobID.
func (c *Core) withComing(s plan.Snapshot) plan.Snapshot {
	shown := make(map[grid.JobID]bool, len(s.Running)+len(s.Waiting))
	for _, r := range s.Running {
		shown[r.Job] = true
	}
	for _, w := range s.Waiting {
		shown[w.Job] = true
	}
	var more []plan.Waiting
	add := func(j *grid.Job) {
		if !shown[j.ID] {
			shown[j.ID] = true
			more = append(more, plan.Waiting{Job: j.ID, Demand: j.Demand, Limit: killLimit(j.Walltime, c.cfg.Site.Speed)})
		}
	}
	for _, id := range c.comingIDs() {
		if a := c.accepted[id]; a != nil {
			add(&a.offer.Job)
		} else {
			add(&c.jobs[id].rec.Job)
		}
	}
	s.Waiting = append(slices.Clone(s.Waiting), more...)
	return s
}

// comingIDs are the jobs that will want capacity here, in a fixed order.
func (c *Core) comingIDs() []grid.JobID {
	var ids []grid.JobID
	for id := range c.accepted {
		ids = append(ids, id)
	}
	for id, j := range c.live {
		r := &j.rec
		if r.Standing == grid.Prepared || r.Standing == grid.Owning && r.State == grid.Assigned {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// silence is how many reports in a row may stay out before contact counts as lost.
const silence = 4

// refresh renews the estimates of waiting jobs at intervals, and looks which owners
// have not been heard.
func (c *Core) refresh() {
	waiting := false
	for _, j := range c.sorted() {
		waiting = waiting || j.rec.Standing == grid.Owning && j.rec.State == grid.Assigned
		if j.rec.Standing == grid.Watching && c.now-j.heard > silence*c.cfg.Digest {
			c.loseContact(j)
		}
	}
	if waiting {
		c.look()
	}
	c.armGeneral(refreshDue, c.cfg.Refresh)
}

// showEstimates tells readers, and the homes, when their waiting jobs will start.
func (c *Core) showEstimates(s plan.Snapshot, p *plan.Plan) {
	for _, w := range s.Waiting {
		j := c.jobs[w.Job]
		if w.Job == "" || j == nil || j.rec.Standing != grid.Owning || j.rec.State != grid.Assigned {
			continue
		}
		start, ok := p.Start(w.Job)
		if !ok {
			continue
		}
		if d := start - j.rec.EstimateNow; d < grid.Second && d > -grid.Second {
			continue
		}
		j.rec.EstimateNow = start
		c.show(j)
		if !c.home(j) && c.now-j.told >= c.cfg.Refresh {
			j.told = c.now
			c.report(j)
		}
	}
}
