package core

import (
	"testing"

	"gbroker/grid"
	"gbroker/plan"
	"gbroker/wire"
)

// byTurns foresees that jobs run one after the other, each twice as long as its limit, from an instant on.
type byTurns grid.Tick

func (b byTurns) Foresee(waiting []plan.Waiting) plan.Foresight {
	t := &turns{free: grid.Tick(b)}
	for _, w := range waiting {
		t.stays = append(t.stays, t.next(w.Limit))
	}
	return t
}

type turns struct {
	free  grid.Tick
	stays []plan.Stay
}

func (t *turns) next(limit grid.Tick) plan.Stay {
	s := plan.Stay{Start: t.free, End: t.free + 2*limit, Latest: t.free + 3*limit, Doubt: "none is awake"}
	t.free = s.End
	return s
}

func (t *turns) Waiting(i int) (plan.Stay, bool) { return t.stays[i], true }

func (t *turns) Ask(q plan.Question) (plan.Stay, *grid.Refusal) {
	s := t.next(q.Limit)
	s.Alone = q.NotBefore + 2*q.Limit
	return s, nil
}

// What a site foresees itself is what it answers, also of nodes that are down now; what no node of it has it refuses for good. The next look has
// the next forecast, also if it shows the same otherwise.
func TestAnswersByTheForecastOfTheSite(t *testing.T) {
	t.Parallel()
	c := New(Config{Self: "j", Site: grid.Site{Name: "j", Processes: 1, Speed: 1}}, []grid.Member{{Name: "i", Peer: "i", Send: true}}, nil)
	demand := func(cores int) grid.Demand {
		return grid.Demand{Chunks: []grid.Chunk{{Count: 1, Processes: 1, Cores: cores}}}
	}
	c.Step(1000, Boot{})
	ask := func(now, free grid.Tick) []wire.Answer {
		c.Step(now, Message{From: "i", Message: wire.EstimateRequest{Round: 7, Questions: []wire.Question{
			{Job: "i.01M7XVNVT1HF2GHP4JW23GK3FV", Demand: demand(1), Walltime: 10 * grid.Second},
			{Job: "i.01M7XVNVT1HF2GHP4JW23GK3FW", Demand: demand(1), Walltime: 20 * grid.Second},
			{Job: "i.01M7XVNVT1HF2GHP4JW23GK3FX", Demand: demand(2), Walltime: 20 * grid.Second},
		}}})
		s := plan.Snapshot{At: now, Policy: plan.Policy{Kind: plan.EASY}, Nodes: []plan.Node{{Name: "n", Cores: 1, Down: true}}, Forecast: byTurns(free)}
		s.Waiting = []plan.Waiting{{Demand: demand(1), Limit: 5 * grid.Second}}
		for _, e := range c.Step(now, Looked{Snapshot: s}) {
			if s, ok := e.(Send); ok {
				if tell, ok := s.Message.(wire.EstimateReply); ok {
					return tell.Answers
				}
			}
		}
		t.Fatal("the question was not answered")
		return nil
	}
	check := func(e grid.Estimate, wait, run, safe grid.Tick) {
		t.Helper()
		if e.Refusal != nil || e.Wait != wait || e.Run != run || e.Safe != safe {
			t.Errorf("%+v, want a wait of %v, safe %v, and a run of %v", e, wait, safe, run)
		}
	}
	for _, later := range []grid.Tick{0, 100 * grid.Second} {
		a := ask(2000, 2000+later)
		if e := a[0].Estimate; e.Doubt != "none is awake" {
			t.Errorf("it is not sure since %q", e.Doubt)
		}
		if e := a[0].Estimate; e.Alone != 20*grid.Second {
			t.Errorf("alone it would take %v", e.Alone.Duration())
		}
		check(a[0].Estimate, 10*grid.Second+later, 20*grid.Second, 20*grid.Second+later)
		check(a[1].Estimate, 30*grid.Second+later, 40*grid.Second, 50*grid.Second+later)
		if r := a[2].Estimate.Refusal; r == nil || r.Kind != grid.Permanent {
			t.Errorf("what no node has is answered %+v", a[2].Estimate)
		}
	}
}

// A job that only has to wait is not given up: its deadline is out of reach for good if that is so also of the site without all others.
func TestDeadlineThatOnlyOthersKeepOutOfReach(t *testing.T) {
	t.Parallel()
	c := New(Config{Self: "i", Site: grid.Site{Name: "i", Processes: 1, Speed: 1}}, nil, nil)
	c.now = 1000
	j := &job{rec: grid.Record{Submitted: 500, Job: grid.Job{ID: "i.01M7XVNVT1HF2GHP4JW23GK3FV", Home: "i", Walltime: 3 * grid.Hour}}}
	j.rec.Job.Terms.Deadline = c.now + 11*grid.Hour
	for alone, want := range map[grid.Tick]grid.RefusalKind{0: grid.Temporary, 3 * grid.Hour: grid.Temporary, 11*grid.Hour + 1: grid.Permanent} {
		e := grid.Estimate{Wait: 10 * grid.Hour, Run: 15 * grid.Hour, Alone: alone}
		r := &round{jobs: []grid.JobID{j.rec.Job.ID}, replies: map[grid.PeerID]*reply{"i": {answers: []grid.Estimate{e}}}}
		if row := c.search.candidate(j, r, 0, "i"); row.Refusal == nil || row.Refusal.Kind != want || row.Refusal.Reason != tooLate {
			t.Errorf("alone it would take %v: %+v", alone.Duration(), row.Refusal)
		}
	}
}

// faraway foresees that jobs begin and end when nobody lives any more.
type faraway struct{}

func (f faraway) Foresee([]plan.Waiting) plan.Foresight { return f }

func (faraway) Waiting(int) (plan.Stay, bool) {
	return plan.Stay{Start: 1 << 52, End: 1 << 53, Latest: 1 << 54}, true
}

func (f faraway) Ask(plan.Question) (plan.Stay, *grid.Refusal) {
	s, _ := f.Waiting(0)
	s.Alone = s.End
	return s, nil
}

// What is foreseen farther away than anybody looks makes no site mute, and a job that would start then has no start.
func TestForecastBeyondAllBounds(t *testing.T) {
	t.Parallel()
	c := New(Config{Self: "j", Site: grid.Site{Name: "j", Processes: 1, Speed: 1}}, nil, nil)
	const id = "i.01M7XVNVT1HF2GHP4JW23GK3FV"
	demand := grid.Demand{Chunks: []grid.Chunk{{Count: 1, Processes: 1, Cores: 1}}}
	s := plan.Snapshot{At: 1000, Nodes: []plan.Node{{Name: "n", Cores: 1}}, Forecast: faraway{}, Waiting: []plan.Waiting{{Job: id, Demand: demand, Limit: grid.Hour}}}
	o := c.estimator.newForecast(s)
	e := o.batch().estimate(plan.Question{Demand: demand, Limit: grid.Hour, NotBefore: 1000})
	if _, err := wire.Encode(wire.EstimateReply{Round: 1, Site: c.cfg.Site, Answers: []wire.Answer{{Job: id, Estimate: e}}}); err != nil {
		t.Errorf("%+v cannot be told: %v", e, err)
	}
	if e.Wait != grid.Unsure || e.Run != grid.Unsure || e.Safe != grid.Unsure || e.Alone != grid.Unsure {
		t.Errorf("%+v is estimated", e)
	}
	if stay, planned := o.runs(id); planned {
		t.Errorf("a job starts at %d", stay.Start)
	}
}

// counted counts how often it is made to plan.
type counted struct {
	byTurns
	times *int
}

func (c counted) Foresee(waiting []plan.Waiting) plan.Foresight {
	*c.times++
	return c.byTurns.Foresee(waiting)
}

// Those that wait are planned once for what is shown of them and what is asked; who asks after that starts from them again.
func TestForecastIsPlannedOnce(t *testing.T) {
	t.Parallel()
	c := New(Config{Self: "j", Site: grid.Site{Name: "j", Processes: 1, Speed: 1}}, nil, nil)
	const id = "i.01M7XVNVT1HF2GHP4JW23GK3FV"
	demand := grid.Demand{Chunks: []grid.Chunk{{Count: 1, Processes: 1, Cores: 1}}}
	times := 0
	s := plan.Snapshot{At: 1000, Nodes: []plan.Node{{Name: "n", Cores: 1}}, Forecast: counted{1000, &times}, Waiting: []plan.Waiting{{Job: id, Demand: demand, Limit: grid.Hour}}}
	o := c.estimator.newForecast(s)
	q := plan.Question{Demand: demand, Limit: grid.Hour, NotBefore: 1000}
	for want := 1; want < 3; want++ {
		b := o.batch()
		if stay, ok := o.runs(id); !ok || stay.Start != 1000 {
			t.Errorf("the job that waits: %+v, %v", stay, ok)
		}
		for k := range grid.Tick(2) {
			if e := b.estimate(q); e.Wait != (k+1)*2*grid.Hour {
				t.Errorf("question %d of row %d: %+v", k, want, e)
			}
		}
		if times != want {
			t.Errorf("%d rows of questions: planned %d times", want, times)
		}
	}
}

// The end that a site foresees decides whether a deadline can be met there, not its speed.
func TestRunThatASiteForesees(t *testing.T) {
	t.Parallel()
	c := New(Config{Self: "i", Site: grid.Site{Name: "i", Processes: 1, Speed: 1}}, nil, nil)
	c.now = 1000
	j := &job{rec: grid.Record{Job: grid.Job{ID: "i.01M7XVNVT1HF2GHP4JW23GK3FV", Home: "i", Walltime: grid.Hour}}}
	j.rec.Submitted = 500
	r := &round{jobs: []grid.JobID{j.rec.Job.ID}, replies: map[grid.PeerID]*reply{"i": {answers: []grid.Estimate{{Wait: grid.Minute, Run: 3 * grid.Hour}}}}}
	for span, fits := range map[grid.Tick]bool{2 * grid.Hour: false, 3*grid.Hour + grid.Minute: true} {
		j.rec.Job.Terms.Deadline = c.now + span
		if row := c.search.candidate(j, r, 0, "i"); row.Run != 3*grid.Hour || (row.Refusal == nil) != fits {
			t.Errorf("with %v left: %+v, %+v", span.Duration(), row, row.Refusal)
		}
	}
}

// notes keeps what it is asked.
type notes struct{ questions *[]plan.Question }

func (t notes) Foresee([]plan.Waiting) plan.Foresight { return t }

func (notes) Waiting(int) (plan.Stay, bool) { return plan.Stay{}, false }

func (t notes) Ask(q plan.Question) (plan.Stay, *grid.Refusal) {
	*t.questions = append(*t.questions, q)
	return plan.Stay{Start: q.NotBefore, End: q.NotBefore + q.Limit}, nil
}

// What owners of computers and deadlines decide, a neighbour's site decides as its own: it hears whose job it is, and by when it has to end.
func TestNeighboursAreToldOfUserAndDeadline(t *testing.T) {
	t.Parallel()
	asks := New(Config{Self: "i", Site: grid.Site{Name: "i", Processes: 1, Speed: 1}}, []grid.Member{{Name: "j", Peer: "j", Send: true}}, nil)
	asks.Step(1000, Boot{})
	j := &job{rec: grid.Record{Job: grid.Job{
		ID: "i.01M7XVNVT1HF2GHP4JW23GK3FV", Home: "i", User: grid.User{Home: "i", Name: "anna"}, Walltime: grid.Hour,
		Demand: grid.Demand{Chunks: []grid.Chunk{{Count: 1, Processes: 1, Cores: 1}}},
	}}}
	for deadline, in := range map[grid.Tick]grid.Tick{0: 0, 1000 + grid.Day: grid.Day} {
		j.rec.Job.Terms.Deadline = deadline
		q := asks.search.asking(j, asks.members["j"])
		answers, asked := New(Config{Self: "j", Site: grid.Site{Name: "j", Processes: 1, Speed: 1}}, []grid.Member{{Name: "i", Peer: "i", Send: true}}, nil), []plan.Question{}
		answers.Step(5000, Boot{})
		answers.Step(5000, Message{From: "i", Message: wire.EstimateRequest{Round: 7, Questions: []wire.Question{q}}})
		answers.Step(5000, Looked{Snapshot: plan.Snapshot{At: 5000, Policy: plan.Policy{Kind: plan.EASY}, Nodes: []plan.Node{{Name: "n", Cores: 1}}, Forecast: notes{&asked}}})
		want := grid.Tick(0)
		if in > 0 {
			want = 5000 + in
		}
		if len(asked) != 1 || asked[0].User != "anna@i" || asked[0].Deadline != want {
			t.Errorf("with a deadline in %v the pool is asked %+v", in.Duration(), asked)
		}
	}
}
