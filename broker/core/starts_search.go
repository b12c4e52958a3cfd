package core

import (
	"slices"

	"gbroker/grid"
)

// A search that knows what members have told of starts ([grid.Starts]) looks at this site first, and then asks only those that could be the
// better place by more than is worth asking for. If none could, the best is offered the job at once, or it is started here: over slow ways
// that spares a round trip. What was told may be old, so such an offer says by when it has to start (Offer.Latest): a candidate that cannot
// refuses, and all are asked then.
//
//	Look here ─► rows by what was told, least and most ─► EstimateRequest to who could win ─► decide
//	                                                 └──► nobody could: decide at once

// notAsked is the refusal of a site that was not asked.
const notAsked = "not asked: by what is known it is no better place"

// toldShare is which part of the time to its end a job may be later for not asking.
const toldShare = 0.01

// looksFirst tells that there is something by which members need not be asked, if this site's own answer is known.
func (c *search) looksFirst() bool {
	return c.cfg.Tell > 0 && slices.ContainsFunc(c.targets, func(p grid.PeerID) bool { return c.fresh(c.members[p]) })
}

// fresh tells that a member's word of starts holds: it is not old, and nothing was offered there since.
func (c *search) fresh(m *member) bool {
	f := &m.foretold
	return m.live == grid.Alive && !f.starts.IsZero() && c.now-f.at <= startsFor && (m.offered == 0 || f.at > m.offered+m.link.RTT)
}

// askWhoCould asks those of the members that could be the best place of a job of the round; the others answer by what they told.
func (c *search) askWhoCould(r *round) {
	c.letGo(r)
	least, most := c.foretell(r)
	need, used := map[grid.PeerID]bool{}, map[grid.PeerID]bool{}
	for i, id := range r.jobs {
		c.needed(r, i, c.jobs[id], least, most, need, used)
	}
	for p, a := range most {
		if r.replies[p] = a; need[p] {
			delete(r.replies, p)
		}
	}
	c.askTargets(r)
}

// letGo takes the jobs out of a round that have gone since it began: nobody can be asked about them.
func (c *search) letGo(r *round) {
	own, jobs := r.replies[c.cfg.Self], r.jobs
	answers := own.answers
	r.jobs, own.answers = nil, nil
	for i, id := range jobs {
		if c.jobs[id] == nil {
			continue
		}
		if r.jobs = append(r.jobs, id); answers != nil {
			own.answers = append(own.answers, answers[i])
		}
	}
}

// foretell is what each member that lives would answer to the jobs of a round at the least, and at the most.
func (c *search) foretell(r *round) (least, most map[grid.PeerID]*reply) {
	least, most = map[grid.PeerID]*reply{}, map[grid.PeerID]*reply{}
	for _, p := range c.targets {
		m := c.members[p]
		if m.live != grid.Alive {
			continue
		}
		low, high := &reply{site: m.site, take: maxTake, told: true}, &reply{site: m.site, take: maxTake, told: true}
		for _, id := range r.jobs {
			a, b := c.waits(c.jobs[id], m)
			low.answers, high.answers, high.least = append(low.answers, a), append(high.answers, b), append(high.least, leastWait(a))
		}
		least[p], most[p] = low, high
	}
	return least, most
}

// leastWait is the wait of an answer; grid.Unforeseen where it has none.
func leastWait(e grid.Estimate) grid.Tick {
	if e.Refusal != nil {
		return grid.Unforeseen
	}
	return e.Wait
}

// waits are the least and the most that a member would answer to a question about a job.
func (c *search) waits(of *job, m *member) (least, most grid.Estimate) {
	unknown := grid.Estimate{Refusal: forNow(notAsked)}
	if !(m.site.Speed > 0) {
		return grid.Estimate{}, unknown
	}
	j := &of.rec.Job
	if !c.fresh(m) || j.Queue != "" || j.Reservation != "" || j.Part != nil {
		return grid.Estimate{}, unknown
	}
	f := &m.foretold
	low, high := f.starts.Bounds(j.Demand.Cores(), j.Walltime)
	_, _, delivery := c.delivery(m, sizeOf(j))
	there := c.now + delivery + c.fetching(of)
	least, most = unknown, unknown
	if low != grid.Unforeseen {
		least = grid.Estimate{Wait: max(0, f.at+low-there)}
	}
	if high != grid.Unforeseen && isPlain(&j.Demand, f.starts.Whole) {
		wait := max(0, f.at+high-there)
		most = grid.Estimate{Wait: wait, Safe: wait}
	}
	return least, most
}

// isPlain tells that a demand is for cores and nothing else.
func isPlain(d *grid.Demand, whole bool) bool {
	if len(d.Chunks) != 1 || d.Chunks[0].Memory != 0 || len(d.Chunks[0].Resources) > 0 || d.Chunks[0].Cores != 1 && !whole {
		return false
	}
	return d.Architecture == "" && d.System == "" && len(d.Properties) == 0 && !d.Exclusive && !d.DistinctNodes && len(d.Hosts) == 0 && d.Disk == 0 && len(d.Measures) == 0
}

// needed marks whom one job of a round needs to be asked; used are those that get a job by what they told.
func (c *search) needed(r *round, i int, j *job, least, most map[grid.PeerID]*reply, need, used map[grid.PeerID]bool) {
	rows := c.rowsBy(j, r, i, most)
	best := leastTotal(rows)
	any := false
	for k, low := range c.rowsBy(j, r, i, least) {
		if k == 0 || k == best || low.Refusal != nil || least[low.Peer] == nil {
			continue
		}
		if best < 0 || j.asksAll || low.Total < rows[best].Total-c.worthAsking(rows[best].Total) {
			need[low.Peer], any = true, true
		}
	}
	if best > 0 {
		p := rows[best].Peer
		if any || j.asksAll || used[p] {
			need[p] = true
		}
		used[p] = true
	}
}

// worthAsking is what asking would have to gain of a time to the end.
func (c *search) worthAsking(total grid.Tick) grid.Tick {
	return max(1, grid.FromSeconds(toldShare*total.Seconds()))
}

// rowsBy is the table of a job if members answer so.
func (c *search) rowsBy(j *job, r *round, i int, by map[grid.PeerID]*reply) []grid.Candidate {
	for p, a := range by {
		r.replies[p] = a
	}
	return c.candidates(j, r, i)
}

// askWhoCouldGain asks the members to which a job of a pass might move for a gain.
func (c *search) askWhoCouldGain(r *round) {
	least, most := c.foretell(r)
	need := map[grid.PeerID]bool{}
	for p, a := range least {
		r.replies[p] = a
	}
	for i, id := range r.jobs {
		rows := c.waitingRows(c.jobs[id], r, i, map[grid.PeerID]int{})
		for _, row := range rows[1:] {
			if row.Refusal == nil && (rows[0].Refusal != nil || rows[0].Total-row.Total > c.leastGain(&rows[0])) {
				need[row.Peer] = true
			}
		}
	}
	for p := range least {
		if r.replies[p] = most[p]; need[p] {
			delete(r.replies, p)
			continue
		}
		for i := range most[p].answers { // who is to gain a job by moving to it has been asked
			most[p].answers[i] = grid.Estimate{Refusal: forNow(notAsked)}
		}
	}
	c.askTargets(r)
}
