package core

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"gbroker/grid"
	"gbroker/plan"
)

// The planning cycle. All wholes that wait are planned together, in the order of fee and priority, each beside those
// before it; what comes meanwhile waits for the next cycle.
//
//	a whole is due ─► sites are asked once, for all that wait ─► all answered, or a deadline ─► plan.Lookahead ─┬► near: a round
//	      ▲                                                                                                     └► a plan, shown
//	      └──────────────── what is no more than a plan, or was refused, is due again ◄─────────────────────────┘
//
// Who has nothing to do yet, as its start is far or its last round came to nothing, has its place in the plan all the
// same: nobody behind it is given its nodes.

// planning is one cycle.
type planning struct {
	round   uint64
	until   grid.Tick
	of      []grid.JobID // in the order in which they came
	asked   map[grid.JobID]*asking
	slots   []grid.JobID // whose questions bring slots: each is for all that ask alike
	missing int          // answers
	meets   *plan.Meets  // for all of which the parts talk to one another
}

// mostPlanned bounds the wholes of a cycle: the first by fee and priority.
const mostPlanned = 1000

func (c *planning) has(id grid.JobID) bool { return c != nil && c.asked[id] != nil }

// turn begins or ends a cycle, if it is time to; it tells of an end.
func (s *coallocation) turn() bool {
	now := s.wholes.instant()
	switch {
	case s.cycle == nil && s.wanted && now < s.next:
		s.wholes.again(s.next)
	case s.cycle == nil && s.wanted:
		s.beginCycle()
	case s.cycle != nil && s.cycle.missing > 0 && now < s.cycle.until:
		s.wholes.again(s.cycle.until)
	case s.cycle != nil:
		s.endCycle()
		return true
	}
	return false
}

// beginCycle asks all sites for all that wait.
func (s *coallocation) beginCycle() {
	now := s.wholes.instant()
	c := &planning{round: s.wholes.round(), until: now + answerWithin, asked: map[grid.JobID]*asking{}}
	s.cycle, s.wanted, s.next = c, false, now+s.cfg.Cycle
	first := map[string]int{} // by what is asked, which of the questions
	records := s.waiting()    // and wanted, if some are left out
	for _, r := range records {
		c.of = append(c.of, r.Job.ID)
		key := question(&r.Job)
		i, known := first[key]
		if !known {
			i = len(c.slots)
			first[key], c.slots = i, append(c.slots, r.Job.ID)
		} else if shortest, _ := s.wholes.whole(c.slots[i]); r.Job.Walltime < shortest.Job.Walltime {
			c.slots[i] = r.Job.ID
		}
		c.asked[r.Job.ID] = &asking{offers: i, of: key}
	}
	for _, r := range records {
		q := c.asked[r.Job.ID]
		s.ask(q, r, c.round, c.slots[q.offers] != r.Job.ID)
		c.missing += len(q.sent)
	}
	s.wholes.again(c.until)
}

// question tells which wholes are offered the same nodes for the same price: those of the same pieces and user. How many
// pieces it has, and for how long, a whole looks to by itself: the shortest asks.
func question(j *grid.Job) string {
	d := j.Demand
	d.Chunks = slices.Clone(d.Chunks)
	if len(d.Chunks) > 0 {
		d.Chunks[0].Count = 1
	}
	return fmt.Sprint(d, j.Queue, j.User, j.Sites)
}

// waiting are the wholes that are planned now.
func (s *coallocation) waiting() (list []*grid.Record) {
	for _, id := range slices.Sorted(maps.Keys(s.all)) {
		switch r, a := s.mayPlan(s.all[id]), s.all[id]; {
		case r != nil:
			list = append(list, r)
		case a.rec.State == grid.Planned && s.wholes.beforeRound(id) != open: // nor does it, perhaps, since this cycle was wanted for it
			s.wake(a, s.wholes.instant()+grid.Second)
		}
	}
	slices.SortStableFunc(list, func(a, b *grid.Record) int { return cmp.Compare(a.Submitted, b.Submitted) })
	if len(list) <= mostPlanned {
		return list
	}
	s.wanted = true // the others' turn comes
	now := s.wholes.instant()
	list = slices.DeleteFunc(list, func(r *grid.Record) bool { return s.all[r.Job.ID].rec.Next > now })
	if len(list) <= mostPlanned {
		return list
	}
	jobs := make([]plan.Waits, len(list))
	for i, r := range list {
		jobs[i] = plan.Waits{Wide: plan.Wide{Fee: feeOf(&r.Job)}, Priority: r.Job.Terms.Priority}
	}
	first := make([]*grid.Record, mostPlanned)
	for i, k := range plan.Turns(jobs)[:mostPlanned] {
		first[i] = list[k]
	}
	return first
}

// endCycle plans with what was told.
func (s *coallocation) endCycle() {
	c := s.cycle
	held := s.holding()
	var jobs []plan.Waits
	var choices []grid.SlotChoice
	offers := make([][]plan.Offered, len(c.slots))
	wholes := make([][]*allocation, len(c.slots))
	for _, id := range c.of {
		a := s.all[id]
		if a == nil {
			continue
		}
		r, q := s.mayPlan(a), c.asked[id]
		if r == nil || q.of != question(&r.Job) { // altered meanwhile, it is planned in the next
			continue
		}
		w, choice := s.waits(r, q, c.asked[c.slots[q.offers]])
		if r.Job.Coallocation.Reach {
			if c.meets == nil {
				c.meets = s.meets(q.sites)
			}
			w.Meet = c.meets
		}
		w.Quiet = s.wholes.instant() < a.rec.Next // it was told already
		if err := w.Check(); err != nil {
			s.chosen(a, r, q, plan.Ahead{Allocated: plan.Allocated{Why: err.Error()}}, choice)
			continue
		}
		jobs, choices = append(jobs, w), append(choices, choice)
		wholes[q.offers] = append(wholes[q.offers], a)
	}
	for i, id := range c.slots {
		offers[i] = s.offersOf(c.asked[id], wholes[i], held)
	}
	ahead := plan.Lookahead(jobs, s.cfg.Window, offers...)
	s.cycle = nil
	for _, id := range c.of {
		s.stale[id] = true
	}
	for _, i := range plan.Turns(jobs) {
		a := s.all[jobs[i].Job]
		r, _ := s.wholes.whole(jobs[i].Job)
		s.chosen(a, r, c.asked[jobs[i].Job], ahead[i], choices[i])
	}
}

// holding is what rounds of this home hold of the sites, or mean to: what was not asked for when a round ended never will be.
func (s *coallocation) holding() map[grid.PeerID][]grid.AllocatedPart {
	held := map[grid.PeerID][]grid.AllocatedPart{}
	for _, a := range s.all {
		if a.rec.State == grid.Planned || a.rec.State == grid.Over {
			continue
		}
		for _, p := range a.current() {
			if !p.Heard.Over() && (p.Asked || a.rec.State < grid.GivingUp) {
				held[p.Peer] = append(held[p.Peer], *p)
			}
		}
	}
	return held
}
