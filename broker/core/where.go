package core

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"gbroker/grid"
	"gbroker/wire"
)

// A dry run of the search: what would be decided about a job that nobody has handed in. It
// keeps nothing and changes nothing. So that a job which no site could ever run is refused
// at once, and one that may run costs little, the others are asked only where this site
// will never run it, unless all are wanted.
//
//	Where ─► Look here ─► this site may run it ─► answered
//	                  └─► never: EstimateRequest to every target ─► all answered, or deadline ─► answered
//	Where{All} ─► Look here, EstimateRequest to every target ─► all answered, or deadline ─► answered
//
// Of a job that may have several sites all are asked for their slots too, and what would be chosen of them is
// answered beside: see coalloc_draft.go.

// Where asks where a job could run. The answer's Where is one decision, whose rows are the
// sites; it has only the row of this site where that may run the job, unless all are asked.
type Where struct {
	Token Token
	Job   grid.Job
	Key   string // with which it will be handed in: what was handed in with it already is not asked about
	Cost  grid.SourceCost
	All   bool // every site is asked, and the one that the job would go to is chosen
	// Beside are jobs that are asked about in the same message, each as if it were the only one, where every site is asked: a neighbour answers few
	// messages at a time.
	Beside []grid.Job
}

func (Where) event()         {}
func (e Where) token() Token { return e.Token }

// maxWheres bounds the dry runs at one time.
const maxWheres = 64

// where is one dry run under way.
type where struct {
	token Token
	job   *job   // of no record; the first of jobs
	jobs  []*job // those beside it too
	round *round
	until grid.Tick
	all   bool
	// several is what would be chosen of several sites, for a job that may have them.
	several *grid.SlotChoice
}

func (c *search) where(e Where) {
	if _, known := c.keys[keyOf(e.Job.User, e.Key)]; known && e.Key != "" {
		c.emit(Answer{Token: e.Token})
		return
	}
	if len(c.wheres) >= maxWheres {
		c.emit(Answer{Token: e.Token, Err: fmt.Errorf("%w: too many ask at once where their jobs could run", grid.ErrUnavailable)})
		return
	}
	if len(e.Beside) >= wire.MaxAsked || len(e.Beside) > 0 && !e.All {
		c.emit(Answer{Token: e.Token, Err: fmt.Errorf("%w: %d jobs are asked about at once: at most %d, of all sites", grid.ErrInvalid, 1+len(e.Beside), wire.MaxAsked)})
		return
	}
	c.rounds++
	w := &where{
		token: e.Token, until: c.now + 2*c.cfg.EstimateDeadline, all: e.All,
		round: &round{id: c.rounds, waiting: 1, replies: map[grid.PeerID]*reply{c.cfg.Self: {}}},
	}
	for _, j := range append([]grid.Job{e.Job}, e.Beside...) {
		w.jobs = append(w.jobs, &job{ofSearch: ofSearch{cost: e.Cost}, rec: grid.Record{Job: j, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Epoch: grid.Epoch{Term: 1}, Owner: c.cfg.Self}}})
		w.round.jobs = append(w.round.jobs, j.ID)
	}
	w.job = w.jobs[0]
	c.wheres = append(c.wheres, w)
	if w.all {
		c.whereElse(w)
	}
	if no := c.budgets.beyond(&e.Job); w.all && e.Job.Coallocation != nil && no != nil {
		w.several = &grid.SlotChoice{At: c.now, Why: no.Reason}
	} else if w.all && e.Job.Coallocation != nil {
		c.whereTogether(w)
	}
	c.estimator.look()
	c.armWheres()
}

// whereTogether has several sites chosen for a job that may have them.
func (c *search) whereTogether(w *where) {
	w.until = c.now + answerWithin + c.cfg.EstimateDeadline
	w.round.waiting++
	c.wholes.foresee(&w.job.rec, func(choice grid.SlotChoice) {
		w.several = &choice
		w.round.waiting--
		c.whereAnswered(w)
	})
}

// draft is a job of a dry run.
func (c *search) draft(id grid.JobID) *job {
	for _, w := range c.wheres {
		if k := slices.Index(w.round.jobs, id); k >= 0 {
			return w.jobs[k]
		}
	}
	return nil
}

// whereOf finds the dry run that a number belongs to.
func (c *search) whereOf(id uint64) *where {
	for _, w := range c.wheres {
		if w.round.id == id {
			return w
		}
	}
	return nil
}

// whereHere takes this site's own word, with its load: missing says why there is none.
func (c *search) whereHere(l grid.Load, estimate func(*grid.Job) grid.Estimate, missing *grid.Refusal) {
	for _, w := range append([]*where(nil), c.wheres...) {
		own := w.round.replies[c.cfg.Self]
		if own.answers != nil || own.missing != nil {
			continue
		}
		if own.missing = missing; missing == nil {
			own.site.Load = l
			for _, j := range w.jobs {
				own.answers = append(own.answers, estimate(&j.rec.Job))
			}
		}
		w.round.waiting--
		if row := c.candidate(w.job, w.round, 0, c.cfg.Self); !w.all && (row.Refusal == nil || row.Refusal.MayPass()) {
			c.whereIs(w, []grid.Candidate{row})
			continue
		}
		if !w.all {
			c.whereElse(w)
		}
		c.whereAnswered(w)
	}
}

// whereElse asks all targets that live.
func (c *search) whereElse(w *where) {
	for _, p := range c.targets {
		m := c.members[p]
		if m.live != grid.Alive {
			w.round.replies[p] = absent(m, w.jobs)
			continue
		}
		w.round.replies[p] = &reply{}
		w.round.waiting++
		r := wire.EstimateRequest{Round: w.round.id, Apart: len(w.jobs) > 1}
		for _, j := range w.jobs {
			r.Questions = append(r.Questions, c.asking(j, m))
		}
		c.send(p, r)
	}
}

// absent is what a site that cannot be asked now would say of jobs: what is larger than all of it, as it last told, it will not run
// when it is back. Of one that has told nothing yet that is not known.
func absent(m *member, jobs []*job) *reply {
	r := &reply{}
	for _, j := range jobs {
		no := forNow(notAlive)
		if asked, has := j.rec.Job.Demand.Cores(), m.site.Processes; has > 0 && asked > has {
			no = &grid.Refusal{Kind: grid.Permanent, Reason: tooSmallWhenSeen, Asked: strconv.Itoa(asked), Available: strconv.Itoa(has), TooWide: true}
		}
		r.answers = append(r.answers, grid.Estimate{Refusal: no})
	}
	return r
}

// whereAnswered ends a dry run for which nobody is waited for.
func (c *search) whereAnswered(w *where) {
	if w.round.waiting == 0 {
		c.whereIs(w, c.candidates(w.job, w.round, 0))
	}
}

func (c *search) whereIs(w *where, rows []grid.Candidate) {
	at := slices.Index(c.wheres, w)
	if at < 0 {
		return // answered, at its deadline
	}
	c.wheres = slices.Delete(slices.Clone(c.wheres), at, at+1)
	d := c.whereDecided(w, w.job, rows)
	var beside []grid.Decision
	for k := 1; k < len(w.jobs); k++ {
		beside = append(beside, c.whereDecided(w, w.jobs[k], c.candidates(w.jobs[k], w.round, k)))
	}
	spreads := make([]grid.Spread, len(rows))
	for i, row := range rows {
		if a := w.round.replies[row.Peer]; a != nil && len(a.answers) > 0 {
			spreads[i] = a.answers[0].Spread
		}
	}
	c.emit(Answer{Token: w.token, Record: w.job.rec, Where: d, Beside: beside, Spread: spreads, Several: w.several})
}

func (c *search) whereDecided(w *where, asked *job, rows []grid.Candidate) grid.Decision {
	d := grid.Decision{At: c.now, Epoch: w.job.rec.Epoch, Candidates: rows}
	if no := c.budgets.beyond(&asked.rec.Job); w.all && no != nil { // as it would be refused when it is handed in
		for i := range rows {
			rows[i].Refusal = cmp.Or(rows[i].Refusal, no)
		}
	}
	if hold := c.gates.beforeAnyStart(); hold != open { // nor is it handed on
		for i := range rows {
			rows[i].Refusal = cmp.Or(rows[i].Refusal, forNow(c.gates.why(w.job, hold)))
		}
	}
	for best := leastTotal(rows); w.all && best >= 0; best = leastTotal(rows) {
		if rows[best].Refusal = c.budgets.shortFor(asked, &rows[best]); rows[best].Refusal == nil {
			rows[best].Chosen, d.Chosen = true, rows[best].Site
			break
		}
	}
	return d
}

// whereDue ends those that have waited long enough, with what there is.
func (c *search) whereDue() {
	for _, w := range append([]*where(nil), c.wheres...) {
		if w.until <= c.now {
			c.whereIs(w, c.candidates(w.job, w.round, 0))
		}
	}
	c.armWheres()
}

// armWheres sets the timer to the first that has waited long enough: one that comes later puts off none before it.
func (c *search) armWheres() {
	if len(c.wheres) > 0 {
		first := slices.MinFunc(c.wheres, func(a, b *where) int { return cmp.Compare(a.until, b.until) })
		c.armGeneral(whereDeadline, max(1, first.until-c.now))
	}
}

// Never tells that no site of a decision will ever run the job; [Reasons] says why. A decision for which nobody was asked, as
// of a job that is here already, denies nothing.
func Never(d grid.Decision) bool {
	return len(d.Candidates) > 0 && !slices.ContainsFunc(d.Candidates, func(row grid.Candidate) bool { return row.Refusal == nil || row.Refusal.MayPass() })
}
