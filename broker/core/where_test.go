package core

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/plan"
	"gbroker/wire"
)

// wherever makes a broker j of one core with two neighbours, and asks it where a job could run.
func wherever(cores int) (*Core, Where, plan.Snapshot) {
	c := New(Config{Self: "j", Site: grid.Site{Name: "j", Processes: 1, Speed: 1}},
		[]grid.Member{{Name: "a", Peer: "a", Send: true}, {Name: "b", Peer: "b", Send: true}}, nil)
	c.Step(1000, Boot{})
	for _, p := range []grid.PeerID{"a", "b"} {
		c.Step(1000, PeerChanged{Peer: p, Liveness: grid.Alive})
	}
	demand := grid.Demand{Chunks: []grid.Chunk{{Count: 1, Processes: 1, Cores: cores}}}
	job := grid.Job{ID: "j.01M7XVNVT1HF2GHP4JW23GK3FT", Home: "j", Demand: demand, Walltime: 10 * grid.Second}
	shot := plan.Snapshot{At: 1000, Policy: plan.Policy{Kind: plan.EASY}, Site: grid.Site{Name: "j", Processes: 1, Speed: 1}, Nodes: []plan.Node{{Name: "n", Cores: 1}}}
	return c, Where{Token: 9, Job: job}, shot
}

// decided is the answer to a Where among effects; nil if there is none.
func decided(effects []Effect) *grid.Decision {
	if a, ok := only[Answer](effects); ok && a.Err == nil && a.Where.Candidates != nil {
		return &a.Where
	}
	return nil
}

func never() grid.Estimate {
	return grid.Estimate{Refusal: &grid.Refusal{Kind: grid.Permanent, Reason: "too few cores", Asked: "4", Available: "2"}}
}

// replied answers every EstimateRequest among effects.
func replied(c *Core, effects []Effect, word map[grid.PeerID]grid.Estimate) (last []Effect) {
	for _, e := range effects {
		s, ok := e.(Send)
		if !ok {
			continue
		}
		if ask, ok := s.Message.(wire.EstimateRequest); ok {
			if estimate, answers := word[s.To]; answers {
				last = c.Step(1001, Message{From: s.To, Message: wire.EstimateReply{
					Round: ask.Round, Site: grid.Site{Name: "x", Processes: 2, Speed: 1}, Take: 1,
					Answers: []wire.Answer{{Job: ask.Questions[0].Job, Estimate: estimate}},
				}})
			}
		}
	}
	return last
}

// What this site may run is answered at once, without a word to others, and nothing is kept.
func TestWhereHere(t *testing.T) {
	t.Parallel()
	c, e, shot := wherever(1)
	c.Step(1000, e)
	effects := c.Step(1000, Looked{Snapshot: shot})
	d := decided(effects)
	if d == nil || len(d.Candidates) != 1 || Never(*d) {
		t.Fatalf("decided %+v", d)
	}
	if _, asked := only[Send](effects); asked || len(c.jobs) != 0 || len(c.search.wheres) != 0 {
		t.Error("others are asked, or something is kept")
	}
}

// What this site will never run is asked of all that live, and only where all say never it is that.
func TestWhereElse(t *testing.T) {
	t.Parallel()
	later := grid.Estimate{Refusal: forNow("busy")}
	for name, test := range map[string]struct {
		words map[grid.PeerID]grid.Estimate
		never bool
		dead  bool
	}{
		"all never":       {map[grid.PeerID]grid.Estimate{"a": never(), "b": never()}, true, false},
		"one can":         {map[grid.PeerID]grid.Estimate{"a": never(), "b": {Wait: 5}}, false, false},
		"one not now":     {map[grid.PeerID]grid.Estimate{"a": never(), "b": later}, false, false},
		"one is silent":   {map[grid.PeerID]grid.Estimate{"a": never()}, false, false},
		"one is not here": {map[grid.PeerID]grid.Estimate{"a": never()}, false, true},
	} {
		c, e, shot := wherever(4)
		if test.dead {
			c.Step(1000, PeerChanged{Peer: "b", Liveness: grid.Dead})
		}
		c.Step(1000, e)
		d := decided(replied(c, c.Step(1000, Looked{Snapshot: shot}), test.words))
		if len(test.words) == 1 && !test.dead {
			if d != nil {
				t.Errorf("%s: decided before it was waited for", name)
			}
			d = decided(c.Step(1000+3*c.cfg.EstimateDeadline, Tick{}))
		}
		if d == nil {
			t.Errorf("%s: no answer", name)
			continue
		}
		if never := Never(*d); never != test.never || never && !strings.Contains(Reasons(*d), "too few cores (asked 4, available 2)") {
			t.Errorf("%s: never is %q", name, Reasons(*d))
		}
		if len(c.search.wheres) != 0 {
			t.Errorf("%s: %d are kept", name, len(c.search.wheres))
		}
	}
}

// What a dry run tells is what the search then decides by: site for site the same times, that of a nearly full site as well.
func TestWhereTellsWhatIsDecided(t *testing.T) {
	t.Parallel()
	c, e, shot := wherever(1)
	shot.Nodes[0].Cores = 10
	shot.Running = []plan.Running{{End: grid.Hour, Shares: []plan.Share{{Node: 0, Cores: 9}}}}
	words := map[grid.PeerID]grid.Estimate{"a": {Wait: 5}, "b": {Wait: 700}}
	e.All = true
	asked := c.Step(100_000, e)
	asked = append(asked, c.Step(100_000, Looked{Snapshot: shot})...)
	told := decided(replied(c, asked, words))
	handed := c.Step(100_000, Submit{Token: 1, Job: e.Job})
	handed = append(handed, c.Step(100_000, Looked{Snapshot: shot})...)
	var decided []grid.Decision
	for _, e := range replied(c, handed, words) {
		if s, saved := e.(Save); saved {
			decided = append(decided, s.Change.Decisions...)
		}
	}
	if told == nil || len(decided) != 1 {
		t.Fatalf("told %+v, decided %+v", told, decided)
	}
	if told.Candidates[0].Crowded == 0 || !reflect.DeepEqual(told.Candidates, decided[0].Candidates) {
		t.Errorf("told    %+v\ndecided %+v", told.Candidates, decided[0].Candidates)
	}
}

// Where nothing is known of the batch system the job may run.
func TestWhereUnseen(t *testing.T) {
	t.Parallel()
	c, e, _ := wherever(4)
	c.Step(1000, e)
	if d := decided(c.Step(1000, Looked{Err: errors.New("nobody answers")})); d == nil || Never(*d) {
		t.Errorf("decided %+v", d)
	}
}

// Too many at once are refused, and those under way end in time.
func TestWhereIsBounded(t *testing.T) {
	t.Parallel()
	c, e, _ := wherever(4)
	for range maxWheres {
		c.Step(1000, e)
	}
	if a, ok := only[Answer](c.Step(1000, e)); !ok || a.Err == nil {
		t.Error("one more is taken")
	}
	c.Step(1000+3*c.cfg.EstimateDeadline, Tick{})
	if len(c.search.wheres) != 0 {
		t.Errorf("%d are left", len(c.search.wheres))
	}
}

// A job whose user wants to wait for a site that can run it is not FAILED while none can.
func TestAnywayWaits(t *testing.T) {
	t.Parallel()
	for _, anyway := range []bool{false, true} {
		c, e, shot := wherever(4)
		for _, p := range []grid.PeerID{"a", "b"} {
			c.Step(1000, Message{From: p, Message: wire.Seen{}})
		}
		effects := c.Step(100_000, Submit{Token: 1, Job: e.Job, Key: "k", Anyway: anyway})
		effects = append(effects, c.Step(100_000, Looked{Snapshot: shot})...)
		replied(c, effects, map[grid.PeerID]grid.Estimate{"a": never(), "b": never()})
		r := c.jobs[e.Job.ID].rec
		if want := map[bool]grid.State{false: grid.Failed, true: grid.Ready}[anyway]; r.State != want || r.Anyway != anyway || !strings.Contains(r.Reason, "too few cores") {
			t.Errorf("anyway %v: it is %s: %s", anyway, r.State, r.Reason)
		}
	}
}

// A job that names a reservation does not wait for another site: where that is over or another's, it ends, whatever its user said.
func TestReservationIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	for _, kind := range []grid.RefusalKind{grid.Permanent, grid.Temporary} {
		c, e, shot := wherever(4)
		e.Job.Reservation = "r1"
		for _, p := range []grid.PeerID{"a", "b"} {
			c.Step(1000, Message{From: p, Message: wire.Seen{}})
		}
		effects := c.Step(100_000, Submit{Token: 1, Job: e.Job, Key: "k", Anyway: true})
		effects = append(effects, c.Step(100_000, Looked{Snapshot: shot})...)
		over := grid.Estimate{Refusal: &grid.Refusal{Kind: kind, Reason: "it is for job b.1"}}
		replied(c, effects, map[grid.PeerID]grid.Estimate{"a": never(), "b": over})
		r := c.jobs[e.Job.ID].rec
		if want := map[grid.RefusalKind]grid.State{grid.Permanent: grid.Failed, grid.Temporary: grid.Ready}[kind]; r.State != want || !strings.Contains(r.Reason, "it is for job b.1") {
			t.Errorf("refused so (%v): it is %s: %s", kind, r.State, r.Reason)
		}
	}
}

// What was handed in with a key is not asked about again.
func TestWhereOfKnownKey(t *testing.T) {
	t.Parallel()
	c, e, _ := wherever(4)
	c.Step(1000, Submit{Token: 1, Job: e.Job, Key: "k"})
	e.Key = "k"
	if a, ok := only[Answer](c.Step(1000, e)); !ok || a.Err != nil || a.Where.Candidates != nil {
		t.Errorf("answered %+v", a)
	}
}

// A job that is handed in again, as its first answer was lost, is known by its key: nobody is asked, and nothing is denied.
func TestNobodyAskedDeniesNothing(t *testing.T) {
	t.Parallel()
	if Never(grid.Decision{}) {
		t.Error("nobody was asked, and no site could ever run it")
	}
	no := grid.Candidate{Refusal: &grid.Refusal{Kind: grid.Permanent}}
	if !Never(grid.Decision{Candidates: []grid.Candidate{no}}) {
		t.Error("the only site could never run it")
	}
}

// Several jobs are asked about in one question to each site, and each has a decision of its own.
func TestWhereBeside(t *testing.T) {
	t.Parallel()
	c, e, shot := wherever(1)
	other := e.Job
	other.ID, other.Demand = "j.01M7XVNVT1HF2GHP4JW23GK3FV", grid.Demand{Chunks: []grid.Chunk{{Count: 1, Processes: 1, Cores: 4}}}
	e.All, e.Beside = true, []grid.Job{other}
	asked := 0
	effects := append(c.Step(1000, e), c.Step(1000, Looked{Snapshot: shot})...)
	var answered *Answer
	for _, x := range effects {
		s, ok := x.(Send)
		if !ok {
			continue
		}
		ask, ok := s.Message.(wire.EstimateRequest)
		if !ok {
			continue
		}
		asked++
		if len(ask.Questions) != 2 || !ask.Apart || ask.Questions[0].Job != e.Job.ID || ask.Questions[1].Job != other.ID {
			t.Fatalf("%s is asked %+v", s.To, ask.Questions)
		}
		if a, ok := only[Answer](c.Step(1001, Message{From: s.To, Message: wire.EstimateReply{
			Round: ask.Round, Site: grid.Site{Name: "x", Processes: 2, Speed: 1}, Take: 1,
			Answers: []wire.Answer{{Job: e.Job.ID, Estimate: grid.Estimate{Wait: 7}}, {Job: other.ID, Estimate: never()}},
		}})); ok {
			answered = &a
		}
	}
	if asked != 2 || answered == nil || len(answered.Beside) != 1 {
		t.Fatalf("%d are asked; answered %+v", asked, answered)
	}
	if answered.Where.Chosen != "j" || !Never(answered.Beside[0]) || len(answered.Beside[0].Candidates) != 3 {
		t.Errorf("decided %+v, and %+v", answered.Where, answered.Beside[0])
	}
	if c.search.draft(other.ID) != nil || len(c.search.wheres) != 0 {
		t.Error("something is kept")
	}
	e.All = false
	if a, ok := only[Answer](c.Step(1002, e)); !ok || a.Err == nil {
		t.Errorf("several jobs, not of all sites: %+v", a)
	}
}

// Jobs that are asked about apart do not wait for each other, neither here nor at a neighbour.
func TestAskedApart(t *testing.T) {
	t.Parallel()
	for _, apart := range []bool{false, true} {
		c, e, shot := wherever(1)
		other := e.Job
		other.ID = "j.01M7XVNVT1HF2GHP4JW23GK3FV"
		e.All, e.Beside = true, []grid.Job{other}
		ask := wire.EstimateRequest{Round: 1, Apart: apart}
		for _, j := range []grid.Job{e.Job, other} {
			ask.Questions = append(ask.Questions, wire.Question{Job: j.ID, Demand: j.Demand, Walltime: j.Walltime})
		}
		c.Step(1000, Message{From: "a", Message: ask})
		mine := c.Step(1000, e)
		for _, x := range c.Step(1000, Looked{Snapshot: shot}) {
			if s, ok := x.(Send); ok {
				if r, ok := s.Message.(wire.EstimateReply); ok && (r.Answers[0].Estimate.Wait != 0 || (r.Answers[1].Estimate.Wait == 0) != apart) {
					t.Errorf("apart %v: %+v", apart, r.Answers)
				}
			}
		}
		a, ok := only[Answer](replied(c, mine, map[grid.PeerID]grid.Estimate{"a": never(), "b": never()}))
		if !ok || a.Where.Candidates[0].Wait != 0 || a.Beside[0].Candidates[0].Wait != 0 {
			t.Errorf("the site itself, asked about two jobs: %+v", a)
		}
	}
}

// A neighbour has a plan of its own made for no more jobs than it may ask about apart: those behind come one after the other.
func TestAskedApartIsBounded(t *testing.T) {
	t.Parallel()
	c, e, shot := wherever(1)
	ask := wire.EstimateRequest{Round: 1, Apart: true}
	for i := range wire.MaxAsked + 1 {
		ask.Questions = append(ask.Questions, wire.Question{Job: grid.JobID(fmt.Sprint(e.Job.ID[:2], i)), Demand: e.Job.Demand, Walltime: e.Job.Walltime})
	}
	c.Step(1000, Message{From: "a", Message: ask})
	answered := false
	for _, x := range c.Step(1000, Looked{Snapshot: shot}) {
		s, _ := x.(Send)
		r, is := s.Message.(wire.EstimateReply)
		if !is {
			continue
		}
		answered = true
		for i, a := range r.Answers {
			if (a.Estimate.Wait > 0) != (i == wire.MaxAsked) || a.Estimate.Refusal != nil {
				t.Errorf("question %d: %+v", i, a.Estimate)
			}
		}
	}
	if !answered {
		t.Error("nothing is answered")
	}
}

// A dry run of a neighbour takes the place of none of its searches: all three are answered.
func TestDryRunBesideSearches(t *testing.T) {
	t.Parallel()
	c, e, shot := wherever(1)
	for round := range uint64(4) {
		c.Step(1000, Message{From: "a", Message: wire.EstimateRequest{Round: round, Questions: []wire.Question{{Job: e.Job.ID, Demand: e.Job.Demand, Walltime: e.Job.Walltime}}}})
	}
	var rounds []uint64
	for _, x := range c.Step(1000, Looked{Snapshot: shot}) {
		if s, ok := x.(Send); ok {
			if r, ok := s.Message.(wire.EstimateReply); ok {
				rounds = append(rounds, r.Round)
			}
		}
	}
	if !reflect.DeepEqual(rounds, []uint64{1, 2, 3}) {
		t.Errorf("answered %v", rounds)
	}
}

// poor is a user whose budget covers no job at one site.
type poor struct {
	*budgets
	at grid.PeerID
}

func (p poor) shortFor(_ *job, row *grid.Candidate) *grid.Refusal {
	if row.Peer == p.at {
		return forNow("too dear")
	}
	return nil
}

// A site that the budget of the user does not cover is not where the job would go.
func TestWhereBeyondTheBudget(t *testing.T) {
	t.Parallel()
	for _, at := range []grid.PeerID{"", "a", "b"} {
		c, e, shot := wherever(4)
		c.search.budgets = poor{c.budgets, at}
		e.All = true
		asked := append(c.Step(1000, e), c.Step(1000, Looked{Snapshot: shot})...)
		d := decided(replied(c, asked, map[grid.PeerID]grid.Estimate{"a": {Wait: 5}, "b": {Wait: 9}}))
		if d == nil {
			t.Fatal("no answer")
		}
		for _, row := range d.Candidates {
			if want := row.Peer == "a" && at != "a" || row.Peer == "b" && at == "a"; row.Chosen != want {
				t.Errorf("short at %q: chosen is %q", at, d.Chosen)
			}
		}
	}
}
