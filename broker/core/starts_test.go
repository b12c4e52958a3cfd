package core

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/plan"
	"gbroker/wire"
)

// telling is this site with two others, of which b tells the first waits, and c the second, to jobs of a minute; -1 tells nothing.
func telling(t *testing.T, b, c grid.Tick) (*alone, *search, *job) {
	t.Helper()
	o := &others{}
	j := jobOf(me, "a", "1")
	k := kernelOf(o, grid.Record{Job: j, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}})
	k.cfg.Tell = 2 * grid.Second
	m := &search{kernel: k, budgets: o, estimator: o, execution: o, gates: o, ownership: o, terms: o}
	a := steppedAlone(t, k, o, m)
	for p, wait := range map[grid.PeerID]grid.Tick{her: b, him: c} {
		k.members[p].site = grid.Site{Speed: 1}
		if wait >= 0 {
			k.members[p].foretold = foretold{k.now, grid.Starts{Processes: []int{1, 4}, Walltimes: []grid.Tick{grid.Minute}, Waits: []grid.Tick{wait, wait}}}
		}
	}
	m.undecide(k.jobs[j.ID])
	a.want(Tick{}, "look")
	return a, m, k.jobs[j.ID]
}

// here is this site's own word of a wait, and who is asked then.
func here(m *search, wait grid.Tick) (asked string) {
	r, before := m.round, len(m.out)
	r.replies[m.cfg.Self].answers = []grid.Estimate{{Wait: wait}}
	m.ownReplied(r)
	for _, e := range m.out[before:] {
		s, sends := e.(Send)
		if _, asks := s.Message.(wire.EstimateRequest); sends && asks {
			asked += " asks " + string(m.siteName(s.To))
		}
	}
	return asked
}

// A search asks those who could win by what they told, and who tells nothing; where nobody could, it asks nobody.
func TestSearchAsksWhoCouldWin(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		b, c, here grid.Tick
		change     func(*search, *job)
		want       string
	}{
		"free here":                 {grid.Hour, grid.Hour, 0, nil, "launch 1 chosen: here"},
		"free everywhere":           {0, 0, 0, nil, "launch 1 chosen: here"},
		"one is far better":         {grid.Hour, 10 * grid.Second, 2 * grid.Hour, nil, "makeOffer 1 peer-c"},
		"not told, and free here":   {grid.Hour, -1, 0, nil, "launch 1 chosen: here"}, // whatever it would say
		"not told":                  {grid.Hour, -1, 2 * grid.Hour, nil, "asks b asks c"},
		"not told, and the rest no": {3 * grid.Hour, -1, 2 * grid.Hour, nil, "asks c"},
		"old":                       {grid.Hour, 10 * grid.Second, 2 * grid.Hour, func(m *search, _ *job) { m.members[him].foretold.at -= startsFor }, "asks b asks c"},
		"a job was offered since":   {3 * grid.Hour, 10 * grid.Second, 2 * grid.Hour, func(m *search, _ *job) { m.members[him].offered = m.now }, "asks c"},
		"it has told since":         {grid.Hour, 10 * grid.Second, 2 * grid.Hour, func(m *search, _ *job) { m.members[him].offered = m.members[him].foretold.at - grid.Second }, "makeOffer 1 peer-c"},
		"more than cores":           {3 * grid.Hour, 10 * grid.Second, 2 * grid.Hour, func(_ *search, j *job) { j.rec.Job.Demand.Chunks[0].Memory = 1 }, "asks c"},
		"a queue":                   {3 * grid.Hour, 10 * grid.Second, 2 * grid.Hour, func(_ *search, j *job) { j.rec.Job.Queue = "q" }, "asks b asks c"},
		"longer than the classes":   {3 * grid.Hour, 10 * grid.Second, 2 * grid.Hour, func(_ *search, j *job) { j.rec.Job.Walltime *= 2 }, "asks c"},
		"it was refused":            {3 * grid.Hour, 10 * grid.Second, 2 * grid.Hour, func(_ *search, j *job) { j.asksAll = true }, "asks b asks c"},
	} {
		a, m, j := telling(t, test.b, test.c)
		if test.change != nil {
			test.change(m, j)
		}
		asked := here(m, test.here)
		if got := strings.TrimSpace(asked + " " + a.step(Tick{})); got != test.want {
			t.Errorf("%s: %s, not %s", name, got, test.want)
		}
	}
}

// Where this site does not answer in time, all are asked after all.
func TestSearchDoesNotWaitForItself(t *testing.T) {
	t.Parallel()
	a, _, _ := telling(t, 0, 0)
	a.now += a.cfg.EstimateDeadline
	a.want(Tick{}, "EstimateRequest>b, EstimateRequest>c")
}

// A job that is removed while this site is looked at is asked about nowhere.
func TestJobGoneBeforeMembersAreAsked(t *testing.T) {
	t.Parallel()
	for name, ask := range map[string]func(*alone, *search){
		"the deadline": func(a *alone, _ *search) {
			a.now += a.cfg.EstimateDeadline
			a.want(Tick{}, "EstimateRequest>b, EstimateRequest>c")
		},
		"the own answer": func(_ *alone, m *search) { m.ownReplied(m.round) },
	} {
		a, m, j := telling(t, 0, -1)
		gone := m.round.jobs[0]
		other := *j
		other.rec.Job.ID = grid.NewJobID("a", "00000000000000000000000002")
		m.jobs[other.rec.Job.ID] = &other
		m.round.jobs = append(m.round.jobs, other.rec.Job.ID)
		r := m.round
		if name == "the own answer" {
			r.replies[m.cfg.Self].answers = []grid.Estimate{{Wait: grid.Hour}, {Wait: 2 * grid.Hour}}
		}
		delete(m.jobs, gone)
		if ask(a, m); len(r.jobs) != 1 || r.jobs[0] == gone {
			t.Errorf("%s: others are asked about %v", name, r.jobs)
		}
	}
}

// A site that was not asked is offered a job with the latest start that it told; if it refuses, it may be asked at once.
func TestOfferByWhatWasTold(t *testing.T) {
	t.Parallel()
	c := bare()
	j := jobOf(me, "a", "1")
	c.kernel.take(&job{rec: grid.Record{Job: j, State: grid.Ready, Tenure: grid.Tenure{Role: grid.Owning, Owner: me, Epoch: grid.Epoch{Term: 1}}}})
	k := c.kernel.jobs[j.ID]
	c.members[him].foretold = foretold{c.now, grid.Starts{Waits: []grid.Tick{0}}}
	k.decided(grid.Decision{Candidates: []grid.Candidate{{Peer: him, Told: true, Chosen: true, Wait: grid.Minute, Total: 2 * grid.Minute}}})
	c.ownership.makeOffer(k, him, grid.Minute, 0)
	o := sentTo(c.kernel.out, him)[0].(wire.Offer)
	if o.Wait != grid.Minute || o.Latest != grid.Minute+1200 {
		t.Errorf("it is to start in %v, at the latest in %v", o.Wait, o.Latest)
	}
	c.Step(c.now+1, Message{him, wire.Refuse{Handoff: o.Handoff, Estimate: grid.Estimate{Wait: grid.Hour}}})
	if !k.asksAll || k.blocked[him] > c.now || !c.members[him].foretold.starts.IsZero() {
		t.Errorf("after a refusal all are asked: %t, it is blocked until %v, and believed: %t", k.asksAll, k.blocked[him], !c.members[him].foretold.starts.IsZero())
	}
}

// A candidate refuses what it cannot start in the time that an offer gives, though it would take it from one who had asked.
func TestLatestStart(t *testing.T) {
	t.Parallel()
	for latest, want := range map[grid.Tick]string{0: "wire.Accept", 40 * grid.Second: "wire.Refuse", 70 * grid.Second: "wire.Accept"} {
		c := bare()
		o := offerOf(jobOf(her, "b", "1"), 1, 30*grid.Second)
		o.Latest = latest
		c.Step(1_000_001, Message{her, o})
		l := shot(1_000_002)
		l.Snapshot.Running = []plan.Running{{Shares: []plan.Share{{Processes: 4, Cores: 4}}, Start: 1_000_000, End: 1_060_002}}
		refused := false
		for _, m := range sentTo(c.Step(1_000_002, l), her) {
			refused = refused || m.Kind() == wire.KindRefuse
		}
		if refused != (want == "wire.Refuse") {
			t.Errorf("to start within %v: refused %t", latest, refused)
		}
	}
}

// Members hear of starts when there are new ones, not more often than they are to, and now and then of the same.
func TestStartsAreTold(t *testing.T) {
	t.Parallel()
	o := &others{}
	k := kernelOf(o)
	k.cfg.Tell = 2 * grid.Second
	m := &estimator{kernel: k, execution: o, home: o, ownership: o, search: o}
	a := steppedAlone(t, k, o, m)
	k.armGeneral(startsDue, 1)
	looks := func(after grid.Tick, busy bool) (told []wire.Message) {
		a.now += after
		l := shot(a.now)
		if busy {
			l.Snapshot.Running = []plan.Running{{Shares: []plan.Share{{Processes: 4, Cores: 4}}, Start: a.now, End: a.now + grid.Hour}}
		}
		for _, m := range sentTo(a.stepper.step(a.now, l), her) {
			told = append(told, m)
		}
		return told
	}
	first := looks(40*grid.Second, false)
	if len(first) != 1 {
		t.Fatalf("at first %v is told", first)
	}
	s := first[0].(wire.Announce).Starts
	if least, most := s.Bounds(4, grid.Hour); least != 0 || most != 0 || !s.Whole {
		t.Errorf("of an idle site it is told that four wait %v to %v", least, most)
	}
	if least, most := s.Bounds(5, grid.Hour); least != 0 || most != grid.Unforeseen {
		t.Errorf("of more cores than it has it is told that they wait %v to %v", least, most)
	}
	for _, step := range []struct {
		after grid.Tick
		busy  bool
		told  int
		what  string
	}{
		{3 * grid.Second, false, 0, "the same"},
		{3 * grid.Second, true, 1, "something else"},
		{grid.Second / 2, false, 0, "something else at once"},
		{3 * grid.Second, false, 1, "that later"},
		{startsKept, false, 1, "the same after long"},
	} {
		if told := looks(step.after, step.busy); len(told) != step.told {
			t.Errorf("%s: told %d times, not %d", step.what, len(told), step.told)
		}
	}
	k.draining = true
	if told := looks(3*grid.Second, false); len(told) != 1 || told[0].(wire.Announce).Starts.Waits != nil {
		t.Errorf("as it is drained it tells %v", told)
	}
}

// What is told holds for every job that asks for cores alone, whatever runs and waits.
func TestStartsAreBounds(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	r := rand.New(rand.NewPCG(seed, 0))
	c := bare()
	m := &estimator{kernel: c.kernel}
	for range 60 {
		s := shot(1_000_000).Snapshot
		s.Policy = []plan.Policy{{Kind: plan.EASY}, {Kind: plan.FCFS}, {Kind: plan.ConsRebuild}}[r.IntN(3)]
		s.Nodes = nil
		for n := range 1 + r.IntN(4) {
			s.Nodes = append(s.Nodes, plan.Node{Name: grid.NodeName(rune('a' + n)), Cores: 1 + r.IntN(9)})
			if busy := r.IntN(s.Nodes[n].Cores + 1); busy > 0 {
				s.Running = append(s.Running, plan.Running{Shares: []plan.Share{{Node: n, Processes: busy, Cores: busy}}, Start: s.At, End: s.At + 1 + grid.Tick(r.Int64N(int64(grid.Hour)))})
			}
		}
		cores := loadOf(s).Cores
		for range r.IntN(4) {
			n := 1 + r.IntN(cores)
			s.Waiting = append(s.Waiting, plan.Waiting{Demand: grid.Demand{Chunks: []grid.Chunk{{Count: n, Processes: 1, Cores: 1}}}, Limit: 1 + grid.Tick(r.Int64N(int64(grid.Hour)))})
		}
		p := plan.Build(s)
		told := m.startsOf(s, plan.Ensemble{p})
		for range 30 {
			n, w := 1+r.IntN(cores), 1+grid.Tick(r.Int64N(int64(6*grid.Hour)))
			d := grid.Demand{Chunks: []grid.Chunk{{Count: n, Processes: 1, Cores: 1}}}
			start, refusal := p.Ask(plan.Question{Demand: d, Limit: w, NotBefore: s.At, Walltime: w})
			least, most := told.Bounds(n, w)
			if wait := start - s.At; refusal == nil && (wait < least || wait > most) {
				t.Fatalf("seed %d: %d processes for %v wait %v, and %v to %v is told", seed, n, w, wait, least, most)
			}
		}
	}
}

// The classes of processes end with all cores, and are never too many.
func TestStartProcesses(t *testing.T) {
	t.Parallel()
	for _, cores := range []int{0, 1, 2, 3, 5, 8, 100, 4096, grid.MaxProcesses} {
		list := startProcesses(cores)
		if len(list) > grid.MaxStartProcesses || cores > 0 && (list[0] != 1 || list[len(list)-1] != cores) {
			t.Errorf("%d cores: %v", cores, list)
		}
		for i := 1; i < len(list); i++ {
			if list[i] <= list[i-1] {
				t.Errorf("%d cores: %v", cores, list)
			}
		}
	}
}

// What is told is told again when a wait is another by more than a second, and by more than a hundredth of it.
func TestStartsAreAlikeWithinBounds(t *testing.T) {
	t.Parallel()
	told := func(at, wait grid.Tick) *foretold {
		return &foretold{at, grid.Starts{Processes: []int{1}, Walltimes: []grid.Tick{grid.Minute}, Waits: []grid.Tick{wait}}}
	}
	for _, k := range []struct {
		at, was, is grid.Tick
		alike       bool
	}{
		{0, grid.Minute, grid.Minute + grid.Second, true}, {0, grid.Minute, grid.Minute + grid.Second + 1, false},
		{0, 1000 * grid.Second, 1010*grid.Second + 50, true}, {0, 1000 * grid.Second, 1010*grid.Second + 200, false},
		{0, 1000 * grid.Second, 991 * grid.Second, true}, {0, 1000 * grid.Second, 989 * grid.Second, false},
		{grid.Minute, 2 * grid.Minute, grid.Minute, true}, {grid.Minute, 2 * grid.Minute, 2 * grid.Minute, false},
	} {
		if got := alikeStarts(told(1000, k.was), told(1000+k.at, k.is)); got != k.alike {
			t.Errorf("%v s, and %v s after %v s: alike %t", k.was.Seconds(), k.is.Seconds(), k.at.Seconds(), got)
		}
	}
}
