package core

import (
	"cmp"
	"fmt"

	"gbroker/grid"
)

// documentSize stands for what travels with a job beside its files, in bytes.
const documentSize = 1 << 10

// sizeOf is what has to be sent for this job, in bytes.
func sizeOf(j *grid.Job) int64 { return documentSize + j.Inputs.Size() }

func (c *search) delivery(m *member, size int64) (bandwidth float64, measured bool, delivery grid.Tick) {
	bandwidth, measured = m.link.Bandwidth(size)
	return bandwidth, measured, grid.FromSeconds(float64(size) / bandwidth)
}

// candidates are the rows of a decision: this site first, then L(i) by name, so
// that the first of equal totals is the local site, then the least name.
func (c *search) candidates(j *job, r *round, i int) []grid.Candidate {
	rows := make([]grid.Candidate, 0, len(c.targets)+1)
	rows = append(rows, c.candidate(j, r, i, c.cfg.Self))
	for _, p := range c.targets {
		rows = append(rows, c.candidate(j, r, i, p))
	}
	return rows
}

func (c *search) candidate(j *job, r *round, i int, p grid.PeerID) grid.Candidate {
	row := grid.Candidate{Site: c.siteName(p), Peer: p, Size: j.weight()}
	site := c.cfg.Site
	if m := c.members[p]; p != c.cfg.Self && m != nil {
		row.Bandwidth, row.Measured, row.Delivery = c.delivery(m, sizeOf(&j.rec.Job))
		site = m.site
	}
	row.Delivery += c.fetching(j)
	a := r.replies[p]
	row.Refusal = c.refusal(j, a, i, p)
	if row.Told = a != nil && a.told && row.Refusal == a.answers[i].Refusal; row.Told && a.least != nil {
		row.Least, row.Run = a.least[i], runTime(j.rec.Job.Walltime, site.Speed)
	}
	if row.Refusal != nil {
		return row
	}
	e := &a.answers[i]
	row.Wait, row.Safe, row.Price, row.Doubt = e.Wait, e.Safe, e.Price, e.Doubt
	least := runTime(j.rec.Job.Walltime, site.Speed)
	if row.Run = least; e.Run > 0 { // which is of its place behind others: where owners come and go it may be shorter in another
		row.Run, least = e.Run, e.Alone
	}
	row.Total = row.Delivery + row.Wait + row.Run
	c.wished(j, &row, least)
	if !r.waits {
		c.crowded(&row, a.site.Load)
	}
	return row
}

// refusal is why a site is no place for a job, as this site or the site itself says; nil is none.
func (c *search) refusal(j *job, a *reply, i int, p grid.PeerID) *grid.Refusal {
	switch own := p == c.cfg.Self; {
	case c.unwanted(j, p) != nil:
		return c.unwanted(j, p)
	case own && c.draining:
		return forNow(drained)
	case c.refusedBy(j, p) != nil:
		return c.refusedBy(j, p)
	case !own && p != j.rec.Job.Home && !c.ownership.mayHandOn(j):
		return forNow(unprovable)
	case !own && c.gates.beforeHandingOn(j) == untilHome:
		return forNow(homeSilent)
	case a == nil:
		return forNow(notAlive) // became a target during the round
	case a.missing != nil:
		return a.missing
	case a.answers == nil:
		return forNow(noAnswer)
	case j.blocked[p] > c.now:
		return &grid.Refusal{Kind: grid.Temporary, Reason: noTake, Again: j.blocked[p] - c.now}
	}
	return a.answers[i].Refusal
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

// leastTotal is the row of the site that is chosen; -1 where nobody can run the job.
func leastTotal(rows []grid.Candidate) int {
	best := -1
	for i, r := range rows {
		if r.Refusal == nil && (best < 0 || r.Total < rows[best].Total) {
			best = i
		}
	}
	return best
}

// decide sends the job to the least total, or says why it cannot be run.
func (c *search) decide(j *job, rows []grid.Candidate) {
	j.asksAll = false
	best := leastTotal(rows)
	for best >= 0 {
		if rows[best].Refusal = c.budgets.lienFor(j, &rows[best]); rows[best].Refusal == nil {
			break
		}
		best = leastTotal(rows)
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
		c.execution.launch(j, "chosen: here")
		return
	}
	c.ownership.makeOffer(j, rows[best].Peer, rows[best].Delivery+rows[best].Wait, c.hopsOf(j))
}

// nobody can run the job. If only for now, or its user wants to wait for a site that can, it
// stays READY and is tried again. No site but one has the reservation that a job names: it is not waited for.
func (c *search) nobody(j *job, d grid.Decision) {
	anyway := j.rec.Anyway && j.rec.Job.Reservation == ""
	for _, r := range d.Candidates {
		if r.Refusal.MayPass() || anyway {
			news := j.reasoned("no site can take it now: " + Reasons(d))
			j.asksAll = true
			switch {
			case j.tries[onHandoff] == 0: // the first of a row of vain searches is kept
				j.decided(d)
				c.save(j, j.rec.Reason)
			case news:
				c.show(j)
			}
			c.backoff(j, onHandoff)
			if again := askedAgain(d.Candidates); again > 0 {
				c.arm(j, onHandoff, min(again, c.cfg.Delta))
			}
			return
		}
	}
	j.decided(d)
	if j.rec.Job.Reservation != "" && c.unreserved(j) {
		return
	}
	if tooSmall(d.Candidates) && c.wholes.severalAgain(j.rec.Job.ID) {
		c.save(j, "no single site is large enough for it any more: "+Reasons(d))
		return
	}
	c.execution.end(j, c.inVain(&j.rec.Job.Terms, d.Candidates), "no site can run it: "+Reasons(d))
}

// tooSmall: the job is too wide for several sites, each alone, so that they might have it together.
func tooSmall(rows []grid.Candidate) bool {
	small := 0
	for _, r := range rows {
		if r.Refusal.TooWide {
			small++
		}
	}
	return small > 1
}

// askedAgain is after which span it is worth asking again, if all that may take the job later
// have said one; 0 is not known.
func askedAgain(rows []grid.Candidate) (least grid.Tick) {
	for _, r := range rows {
		switch {
		case !r.Refusal.MayPass():
		case r.Refusal.Again == 0:
			return 0
		case least == 0 || r.Refusal.Again < least:
			least = r.Refusal.Again
		}
	}
	return least
}

// decided notes a decision; it is written with the next save.
func (j *job) decided(d grid.Decision) {
	j.decisions = append(j.decisions, d)
	j.rec.Stay, j.chosen = nil, grid.Candidate{}
	for _, r := range d.Candidates {
		if r.Chosen {
			j.chosen = r
		}
	}
}

// Reasons tells why no site took the job.
func Reasons(d grid.Decision) string {
	text := ""
	for i, r := range d.Candidates {
		if i > 0 {
			text += "; "
		}
		text += string(r.Site) + ": " + r.Refusal.Reason
		if r.Refusal.Asked != "" {
			text += fmt.Sprintf(" (asked %s, available %s)", r.Refusal.Asked, cmp.Or(r.Refusal.Available, "none"))
		}
	}
	return text
}
