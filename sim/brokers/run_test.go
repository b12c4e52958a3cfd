package brokers

import (
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/plan"
	"gbroker/sim/workload"
)

const second = grid.Second

// Two sites of four cores, FCFS, half a second from one to the other; three jobs of ten seconds that come to a.
//
//	job 0 at 0 s, 4 cores: a is idle. Starts at 0.
//	job 1 at 1 s, 3 cores: a is full until 10, so it would wait 9 there and end at 20; b is idle: 0.5 for the way,
//	      ends at 1 + 0.5 + 10 = 11.5. To b, starts at 1.5.
//	job 2 at 2 s, 2 cores: a is free at 10, ends at 20; b has one core until 11.5, ends at 21.5. Stays, starts at 10.
//
// Without brokers a runs job 0 from 0, job 1 from 10, and job 2, as 4 - 3 cores are not 2, from 20.
func threeJobs(rule Rule) World {
	site := func(name string) Site { return Site{Name: name, Cores: 4, Policy: plan.Policy{Kind: plan.FCFS}} }
	job := func(at grid.Tick, cores int) workload.Job {
		return workload.Job{Arrival: at, Cores: cores, Run: 10 * second, Limit: 10 * second}
	}
	return World{
		Sites: []Site{site("a"), site("b")}, Members: [][]int{{1}, {0}},
		Jobs:      []workload.Job{job(0, 4), job(1*second, 3), job(2*second, 2)},
		Brokering: Brokering{Rule: rule}, Delivery: second / 2, Seed: 1,
	}
}

func TestThreeJobsByHand(t *testing.T) {
	t.Parallel()
	for rule, want := range map[Rule][]Ended{
		None:      {{Start: 0, End: 10_000}, {Start: 10_000, End: 20_000}, {Start: 20_000, End: 30_000}},
		Core:      {{Start: 0, End: 10_000}, {Start: 1_500, End: 11_500, Site: 1, Moves: 1}, {Start: 10_000, End: 20_000}},
		Published: {{Start: 0, End: 10_000}, {Start: 1_500, End: 11_500, Site: 1, Moves: 1}, {Start: 10_000, End: 20_000}},
		Oracle:    {{Start: 0, End: 10_000}, {Start: 1_500, End: 11_500, Site: 1, Moves: 1}, {Start: 10_000, End: 20_000}},
	} {
		r, err := Run(threeJobs(rule), nil, nil)
		if err != nil {
			t.Fatalf("%s: %v", rule, err)
		}
		for i, w := range want {
			if e := r.Jobs[i]; e.Start != w.Start || e.End != w.End || e.Site != w.Site || e.Moves != w.Moves {
				t.Errorf("%s: job %d: %+v, by hand %+v", rule, i, e, w)
			}
		}
	}
}

// someWorld is small and full.
func someWorld(random *rand.Rand, rule Rule) World {
	w := World{Brokering: Brokering{
		Rule: rule, Reevaluate: grid.Tick(random.IntN(3)) * 5 * second, Knowledge: Knowledge(random.IntN(3)),
		ViewAge: grid.Tick(max(0, random.IntN(4)-1)) * 15 * second, OldForAll: random.IntN(2) == 0,
	}, Seed: random.Uint64()}
	kinds := []plan.Kind{plan.FCFS, plan.EASY, plan.FirstFit, plan.EASYSJBF, plan.ConsRebuild, plan.ConsCompress}
	n := 2 + random.IntN(5)
	for i := range n {
		s := Site{Name: string(rune('a' + i)), Cores: 8 + random.IntN(24), Speed: 1, Policy: plan.Policy{Kind: kinds[random.IntN(len(kinds))]}}
		if random.IntN(4) == 0 {
			s.Speed = 2
		}
		if random.IntN(4) == 0 {
			from := grid.Tick(random.IntN(200)) * second
			s.Away = []Interval{{from, from + 100*second}}
		}
		w.Sites = append(w.Sites, s)
		var others []int
		for k := range n {
			if k != i {
				others = append(others, k)
			}
		}
		w.Members = append(w.Members, others)
	}
	if random.IntN(2) == 0 {
		w.Delivery = second / 2
	} else {
		w.Link = func(i, j int) Link { return Link{Bandwidth: 1e6 * float64(1+i+j), Latency: grid.Tick(i + j)} }
	}
	at := grid.Tick(0)
	for range 200 {
		at += grid.Tick(random.IntN(4000))
		run := grid.Tick(1 + random.IntN(60_000))
		w.Jobs = append(w.Jobs, workload.Job{
			Arrival: at, Home: random.IntN(n), Cores: 1 + random.IntN(8), Run: run, Limit: run + grid.Tick(random.IntN(60_000)),
			Local: random.IntN(5) == 0, User: string(rune('u' + random.IntN(3))), Bytes: random.Int64N(2e6),
		})
	}
	return w
}

// Every rule runs each job once (Run says so itself), and the same seed gives the same numbers.
func TestAllRules(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	for rule := None; rule <= Oracle; rule++ {
		for k := range uint64(4) {
			once, err := Run(someWorld(rand.New(rand.NewPCG(seed, k)), rule), nil, nil)
			if err != nil {
				t.Fatalf("%s: seed %d, %d: %v", rule, seed, k, err)
			}
			again, err := Run(someWorld(rand.New(rand.NewPCG(seed, k)), rule), nil, nil)
			if err != nil || !reflect.DeepEqual(once, again) {
				t.Fatalf("%s: seed %d, %d: another result the second time (%v)", rule, seed, k, err)
			}
		}
	}
}

// The freer of two that would start a job at once gets it, unless the rule is the published one: then it is the first by name.
func TestNearlyFullSitesAreSpared(t *testing.T) {
	t.Parallel()
	for rule, want := range map[Rule]int32{Published: 1, Core: 2} {
		w := threeJobs(rule)
		w.Sites = append(w.Sites, Site{Name: "c", Cores: 4})
		w.Members = [][]int{{1, 2}, {0}, {0}}
		w.Jobs = []workload.Job{
			{Cores: 4, Run: 100 * second, Limit: 100 * second},
			{Home: 1, Cores: 4, Run: 5 * second, Limit: 5 * second, Local: true}, // b is full until 5
			{Arrival: 4600, Cores: 1, Run: 30 * second, Limit: 30 * second},      // at b at 5.1, b being empty then
		}
		r, err := Run(w, nil, nil)
		if err != nil || r.Jobs[2].Site != want {
			t.Errorf("%s: the job ran at %d, not %d (%v)", rule, r.Jobs[2].Site, want, err)
		}
	}
}

// Without brokers every site is a machine of its own, whose FCFS schedule a few lines reckon as well.
func TestNoneIsFirstComeFirstServed(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
	w := someWorld(random, None)
	for i := range w.Sites {
		w.Sites[i].Policy = plan.Policy{Kind: plan.FCFS}
	}
	r, err := Run(w, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	last := make([]grid.Tick, len(w.Sites)) // when the one before started
	ran := make([][]int, len(w.Sites))
	for i, j := range w.Jobs {
		at := max(last[j.Home], j.Arrival)
		for !room(&w, &r, ran[j.Home], j, at) {
			at = nextEnd(&r, ran[j.Home], at)
		}
		if last[j.Home] = at; r.Jobs[i].Start != at {
			t.Fatalf("job %d starts at %d, by the few lines at %d", i, r.Jobs[i].Start, at)
		}
		ran[j.Home] = append(ran[j.Home], i)
	}
}

func room(w *World, r *Result, ran []int, j workload.Job, at grid.Tick) bool {
	free := w.Sites[j.Home].Cores
	for _, k := range ran {
		if r.Jobs[k].End > at {
			free -= w.Jobs[k].Cores
		}
	}
	return free >= j.Cores
}

func nextEnd(r *Result, ran []int, after grid.Tick) grid.Tick {
	next := grid.Tick(1) << 60
	for _, k := range ran {
		if e := r.Jobs[k].End; e > after {
			next = min(next, e)
		}
	}
	return next
}

// A small run gives what it gave when it was written down, on any machine. Where the daemon decides otherwise since, and
// that is wanted, the numbers are written down anew.
func TestStoredResults(t *testing.T) {
	t.Parallel()
	w := scaleWorld(11, 20, 400, 4, 0.9, true, plan.FCFS)
	for rule, want := range map[Rule][3]int64{None: storedNone, Oracle: storedOracle, Core: storedCore, Published: storedPublished} {
		w.Brokering = Brokering{Rule: rule, Reevaluate: 5 * second}
		r, err := Run(w, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		sum := int64(0)
		for _, e := range r.Jobs {
			sum += int64(e.End - e.Arrival)
		}
		if got := [3]int64{sum, r.Moves, int64(r.End)}; got != want {
			t.Errorf("%s: response in all, moves and the last end are %v, stored %v", rule, got, want)
		}
	}
}

var (
	storedNone      = [3]int64{28109338, 0, 408214}
	storedOracle    = [3]int64{11209107, 203, 268397}
	storedCore      = [3]int64{11342680, 185, 270402}
	storedPublished = [3]int64{11427912, 186, 271996}
)

// Nobody asks for the record of a job for longer after its end than it is kept in a large world, wherever it has been before.
func TestNobodyAsksForLonger(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	for k := range uint64(20) {
		w := someWorld(rand.New(rand.NewPCG(seed, k)), Core)
		for i := range w.Sites {
			w.Sites[i].Away = nil
		}
		r := newRun(w)
		r.lingers = w.askedFor()
		if err := r.toTheEnd(nil, nil); err != nil {
			t.Fatalf("seed %d, %d: %v", seed, k, err)
		}
	}
}
