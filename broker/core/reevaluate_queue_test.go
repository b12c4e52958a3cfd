package core

import (
	"fmt"
	"slices"
	"testing"

	"gbroker/grid"
	"gbroker/plan"
	"gbroker/wire"
)

// queue is a Core of site a with waiting jobs, each of the whole site (4 cores) and
// a minute long, behind one that runs for as long; and neighbours that answer as said.
type queue struct {
	*Core
	t         *testing.T
	now       grid.Tick
	shot      plan.Snapshot
	tells     map[grid.PeerID]wire.EstimateReply // Round and Job are filled in; one estimate for all, or one each
	asked     []wire.EstimateRequest
	sent      []Send
	saves     int
	decisions []grid.Decision
}

func newQueue(t *testing.T, n int, change func(*grid.Record), members ...grid.PeerID) *queue {
	var records []grid.Record
	shot := plan.Snapshot{Site: grid.Site{Name: "a", Processes: 4, Speed: 1}, Nodes: []plan.Node{{Name: "n", Cores: 4}},
		Running: []plan.Running{{Start: 1, End: 1_000_000 + grid.Minute, Shares: []plan.Share{{Node: 0, Processes: 4, Cores: 4}}}}}
	for i := range n {
		j := jobOf(me, "a", string(rune('1'+i)))
		j.Demand.Chunks[0].Count = 4
		r := grid.Record{Job: j, State: grid.Assigned, Submitted: 1, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}, Run: grid.Run{Attempt: 1, Local: "l"}}
		if change != nil {
			change(&r)
		}
		records = append(records, r)
		shot.Waiting = append(shot.Waiting, plan.Waiting{Job: j.ID, Demand: j.Demand, Limit: j.Walltime})
	}
	list := []grid.Member{}
	for i, p := range members {
		list = append(list, grid.Member{Name: grid.SiteName(rune('b' + i)), Peer: p, Send: true})
	}
	cfg := signer(me, "a") // with margins that are told apart
	cfg.Margin, cfg.MarginShare, cfg.Cooldown, cfg.Soon = 30*grid.Second, 0.1, 2*grid.Minute, 15*grid.Second
	q := &queue{Core: New(cfg, list, records), t: t, now: 1_000_000, shot: shot, tells: map[grid.PeerID]wire.EstimateReply{}}
	for _, p := range members {
		q.tells[p] = wire.EstimateReply{Site: grid.Site{Name: "x", Speed: 1}, Take: 8, Answers: []wire.Answer{{}}}
	}
	begin(q.Core)
	for _, p := range members {
		q.do(PeerChanged{p, grid.Alive})
		q.do(Message{p, wire.Seen{}})
	}
	return q
}

// do is one step and all that follows from it at once.
func (q *queue) do(ev Event) {
	q.t.Helper()
	effects := q.Step(q.now, ev)
	for len(effects) > 0 {
		e := effects[0]
		effects = effects[1:]
		switch e := e.(type) {
		case Save:
			q.saves++
			q.decisions = append(q.decisions, e.Change.Decisions...)
		case Look:
			s := q.shot
			s.At = q.now
			effects = append(effects, q.Step(q.now, Looked{Snapshot: s})...)
		case Send:
			q.sent = append(q.sent, e)
			if ask, ok := e.Message.(wire.EstimateRequest); ok {
				q.asked = append(q.asked, ask)
				if tell, ok := q.tells[e.To]; ok {
					effects = append(effects, q.Step(q.now, Message{e.To, answerAll(tell, ask)})...)
				}
			}
		}
	}
}

func answerAll(tell wire.EstimateReply, ask wire.EstimateRequest) wire.EstimateReply {
	tell.Round = ask.Round
	answers := tell.Answers
	tell.Answers = nil
	for i, question := range ask.Questions {
		a := answers[min(i, len(answers)-1)]
		a.Job = question.Job
		tell.Answers = append(tell.Answers, a)
	}
	return tell
}

// pass lets time go on until questions were asked, or for a span.
func (q *queue) pass(limit grid.Tick) bool {
	q.t.Helper()
	before := len(q.asked)
	for end := q.now + limit; len(q.asked) == before; {
		at, ok := q.Next()
		if !ok || at > end {
			q.now = end
			return false
		}
		q.now = max(q.now, at)
		q.do(Tick{})
	}
	return true
}

// moving are the jobs that are offered, with the candidate.
func (q *queue) moving() (list []string) {
	for _, j := range q.sorted() {
		if j.rec.Handoff.Phase == grid.Offering {
			list = append(list, fmt.Sprintf("%s>%s", string(j.rec.Job.ID)[len(j.rec.Job.ID)-1:], j.rec.Handoff.To))
		}
	}
	return list
}

func (q *queue) wants(moves ...string) {
	q.t.Helper()
	if got := q.moving(); !slices.Equal(got, moves) {
		q.t.Errorf("offered: %v, want %v", got, moves)
	}
}

func told(p *queue, of grid.PeerID, estimates ...grid.Estimate) {
	tell := p.tells[of]
	tell.Answers = nil
	for _, e := range estimates {
		tell.Answers = append(tell.Answers, wire.Answer{Estimate: e})
	}
	p.tells[of] = tell
}

// A broker of which no job waits does not look into its batch system for a pass, and does again when one does.
func TestNoLookForNobody(t *testing.T) {
	t.Parallel()
	looks := func(state grid.State) (n int) {
		q := newQueue(t, 1, func(r *grid.Record) {
			if r.State = state; state == grid.Running {
				r.Started = 5
			}
		}, her)
		q.estimator.seen = q.now
		for range 5 { // passes are a minute apart
			q.now += grid.Minute + 6*grid.Second
			for _, e := range q.Step(q.now, passTick(q)) {
				if _, is := e.(Look); is {
					n++
					s := q.shot
					s.At = q.now
					q.Step(q.now, Looked{Snapshot: s})
				}
			}
		}
		return n
	}
	if n := looks(grid.Running); n > 0 {
		t.Errorf("%d looks though nothing waits", n)
	}
	if looks(grid.Assigned) == 0 {
		t.Error("no look though a job waits")
	}
}

// passTick is a Tick of a Core whose timers but that of passes are off.
func passTick(q *queue) Event {
	q.disarmGeneral(refreshDue)
	for _, j := range q.live {
		j.due = [concerns]grid.Tick{}
	}
	return Tick{}
}

// A neighbour is told how soon a job would have to start there to move, by the margins and its speed: the first is to be done here in
// 120 s, the second in 180 s, and a move is to gain 30 s; there they run for 30 s.
func TestQuestionsSayWhenAJobStays(t *testing.T) {
	t.Parallel()
	q := newQueue(t, 3, nil, her)
	q.do(PeerSite{her, grid.Site{Name: "b", Processes: 4, Speed: 2}})
	prefers := q.jobs[q.shot.Waiting[2].Job]
	prefers.rec.Job.Sites.Prefer = []grid.SiteName{"b"}
	if !q.pass(5 * grid.Minute) {
		t.Fatal("nobody was asked")
	}
	var within []grid.Tick
	for _, w := range q.asked[len(q.asked)-1].Questions {
		within = append(within, w.Within)
	}
	if want := []grid.Tick{60*grid.Second + 1_000_000 - q.now, 120*grid.Second + 1_000_000 - q.now, 0}; !slices.Equal(within, want) {
		t.Errorf("within %v, want %v", within, want)
	}
}

// A job that would come too late by what is likely does not come by what is safe either.
func TestWhoStaysCountsInNoPlan(t *testing.T) {
	t.Parallel()
	site := func(end grid.Tick) *plan.Plan {
		return plan.Build(plan.Snapshot{At: 1000, Site: grid.Site{Name: "a", Speed: 1}, Nodes: []plan.Node{{Name: "n", Cores: 4}},
			Running: []plan.Running{{Start: 1, End: end, Shares: []plan.Share{{Node: 0, Processes: 4, Cores: 4}}}}})
	}
	of := forecast{likely: plan.Ensemble{site(2000)}, safe: site(3000)}
	ask := plan.Question{Demand: grid.Demand{Chunks: []grid.Chunk{{Count: 4, Processes: 1, Cores: 1}}}, Limit: 500, NotBefore: 1000}
	for before, want := range map[grid.Tick][2]grid.Tick{0: {1500, 2500}, 2000: {1000, 2000}, 2001: {1500, 2500}} {
		b := of.batch()
		first := ask
		first.Before = before
		b.estimate(first)
		if e := b.estimate(ask); e.Wait != want[0] || e.Safe != want[1] {
			t.Errorf("behind one that comes before %v: waits %v, at most %v, want %v", before, e.Wait, e.Safe, want)
		}
	}
}

// A job that waits here is told when it starts by what is likely, and by what is safe if that has it too.
func TestTheRowOfAJobThatStays(t *testing.T) {
	t.Parallel()
	of := jobOf(me, "a", "1")
	of.Demand.Chunks[0].Count = 4
	now := grid.Tick(1_000_000)
	site := func(end grid.Tick, waiting ...plan.Waiting) *plan.Plan {
		s := plan.Snapshot{At: now, Site: grid.Site{Name: "a", Speed: 1}, Nodes: []plan.Node{{Name: "n", Cores: 4}}, Waiting: waiting}
		if end > now {
			s.Running = []plan.Running{{Start: 1, End: end, Shares: []plan.Share{{Node: 0, Processes: 4, Cores: 4}}}}
		}
		return plan.Build(s)
	}
	here := plan.Waiting{Job: of.ID, Demand: of.Demand, Limit: grid.Minute}
	likely := site(now+2000, here)
	for name, k := range map[string]struct {
		safe   *plan.Plan
		unsure bool
		want   grid.Tick
	}{
		"later":                      {site(now+3000, here), false, 3000},
		"others may overtake it":     {site(now+3000, here), true, grid.Unsure},
		"at once, whoever comes":     {site(now, here), true, 0},
		"what is safe has it not":    {site(now + 3000), false, 2000},
		"nor that, and it is unsure": {site(now + 3000), true, grid.Unsure},
	} {
		m := &search{kernel: kernelOf(&others{})}
		m.passes.own = ownPlan{forecast: forecast{likely: plan.Ensemble{likely}, safe: k.safe, unsure: k.unsure}}
		if row := m.staying(&job{rec: grid.Record{Job: of}}); row.Refusal != nil || row.Wait != 2000 || row.Safe != k.want {
			t.Errorf("%s: %+v", name, row)
		}
	}
}
