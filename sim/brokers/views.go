package brokers

import (
	"gbroker/broker/core"
	"gbroker/grid"
	"gbroker/plan"
	"gbroker/wire"
)

// views are what a site was at the instants at which something changed there. With Brokering.ViewAge an estimate rests on
// what its site was so long ago with all that was on its way there then, and with what the asking broker has sent there
// since, run forward to its end; the own site is always seen as it is. Who sees so costs no messages.
type views struct {
	list []view // the oldest first
	plan *plan.Plan
	of   grid.Tick // plan is of the view of that instant
	load grid.Load // so is this
}

type view struct {
	at   grid.Tick
	shot plan.Snapshot
}

// note keeps what the site is now, and drops what nobody will ask for.
func (v *views) note(now, age grid.Tick, shot plan.Snapshot) {
	if n := len(v.list); n > 0 && v.list[n-1].at == now {
		v.list = v.list[:n-1]
	}
	v.list = append(v.list, view{now, shot})
	k := 0
	for k+1 < len(v.list) && v.list[k+1].at <= now-age {
		k++
	}
	v.list = v.list[k:]
}

// old is the plan of what the site was at an instant.
func (v *views) old(at grid.Tick) *plan.Plan {
	k := len(v.list) - 1
	for k > 0 && v.list[k].at > at {
		k--
	}
	if v.plan == nil || v.of != v.list[k].at {
		v.plan, v.of, v.load = plan.Build(v.list[k].shot), v.list[k].at, loadOf(&v.list[k].shot)
	}
	return v.plan
}

// sends notes that a job is offered to a site, which is not in the views of it yet.
func (h *broker) sends(to int, n int32) {
	if h.r.w.Brokering.ViewAge == 0 {
		return
	}
	if h.sent == nil {
		h.sent = map[int][]coming{}
	}
	list := h.sent[to]
	for len(list) > 0 && list[0].at <= h.r.now-h.r.w.Brokering.ViewAge {
		list = list[1:]
	}
	h.sent[to] = append(list, coming{h.r.now, n})
}

// noted has the view kept of a site that has changed.
func (h *broker) noted() {
	age := h.r.w.Brokering.ViewAge
	if age == 0 {
		return
	}
	s := h.batch.snapshot()
	s.Waiting = append([]plan.Waiting(nil), s.Waiting...)
	for _, k := range h.coming {
		s.Waiting = append(s.Waiting, plan.Waiting{Job: h.n.jobID(k), Demand: demand(int32(h.r.w.Jobs[k].Cores)), Limit: limit(&h.r.w.Jobs[k], h.batch.speed)})
	}
	h.views.note(h.r.now, age, s)
}

// byOldView answers questions by what the site was, if that is how they are to be answered.
func (n *neighbourhood) byOldView(from, to *broker, m wire.EstimateRequest) bool {
	b := &n.r.w.Brokering
	if b.ViewAge == 0 || !b.OldForAll && len(m.Questions) > 0 && from.batch.held[number(m.Questions[0].Job)] != nil {
		return false
	}
	reply := wire.EstimateReply{Round: m.Round, Site: n.r.facts(to.site), Take: 16}
	old := to.views.old(n.r.now - b.ViewAge)
	reply.Site.Load = to.views.load
	rows := old.Batch()
	for _, s := range from.sent[to.site] { // which it knows itself
		if s.at > to.views.of {
			j := &n.r.w.Jobs[s.n]
			rows.Ask(plan.Question{Demand: demand(int32(j.Cores)), Limit: limit(j, to.batch.speed), NotBefore: max(n.r.now, s.at+n.r.delivery(from.site, to.site, j.Bytes))})
			reply.Site.Load.Busy = min(reply.Site.Load.Busy+j.Cores, reply.Site.Load.Cores)
		}
	}
	for _, q := range m.Questions {
		notBefore := n.r.now + q.Delivery
		asked := plan.Question{Demand: q.Demand, Limit: max(q.Walltime, span(q.Walltime, to.batch.speed)), NotBefore: notBefore}
		if q.Within > 0 {
			asked.Before = n.r.now + q.Within
		}
		start, refusal := rows.Ask(asked)
		e := grid.Estimate{Refusal: refusal, Wait: max(0, start-notBefore)}
		e.Safe = e.Wait
		if refusal != nil {
			e = grid.Estimate{Refusal: refusal}
		}
		reply.Answers = append(reply.Answers, wire.Answer{Job: q.Job, Estimate: e})
	}
	n.r.soon.push(func() { from.post(core.Message{From: to.peer, Message: reply}) })
	return true
}

// loadOf is the load of a site as its broker tells it.
func loadOf(s *plan.Snapshot) (l grid.Load) {
	l.Cores, l.Waiting = s.Nodes[0].Cores, len(s.Waiting)
	for i := range s.Running {
		l.Busy += s.Running[i].Shares[0].Cores
	}
	for i := range s.Waiting {
		l.Busy += s.Waiting[i].Demand.Cores()
	}
	l.Busy = min(l.Busy, l.Cores)
	return l
}
