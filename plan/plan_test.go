package plan

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"gbroker/grid"

	"pgregory.net/rapid"
)

func demand(count, cores int, memory int64) grid.Demand {
	return grid.Demand{Chunks: []grid.Chunk{{Count: count, Processes: cores, Cores: cores, Memory: memory}}}
}

func nodes(n, cores int) []Node {
	var all []Node
	for i := range n {
		all = append(all, Node{Name: grid.NodeName(fmt.Sprintf("n%d", i)), Cores: cores})
	}
	return all
}

// One node of 4 cores; a runs on 3 until 100. b needs 4 and is the head. c is
// short and backfills; d is long and would delay b; e waits behind all.
func TestBackfillIsShortOrBeside(t *testing.T) {
	t.Parallel()
	s := Snapshot{
		At: 10, Nodes: nodes(1, 4),
		Running: []Running{{Job: "a", Shares: []Share{{Node: 0, Cores: 3}}, End: 100}},
		Waiting: []Waiting{
			{Job: "b", Demand: demand(4, 1, 0), Limit: 50},
			{Job: "d", Demand: demand(1, 1, 0), Limit: 91},
			{Job: "c", Demand: demand(1, 1, 0), Limit: 90},
			{Job: "e", Demand: demand(2, 1, 0), Limit: 10},
		},
	}
	want := map[grid.JobID]grid.Tick{"b": 100, "c": 10, "d": 150, "e": 150}
	p := Build(s)
	for job, at := range want {
		if got, ok := p.Start(job); !ok || got != at {
			t.Errorf("%s starts at %d (%v), want %d", job, got, ok, at)
		}
	}
	if got := Pass(s); len(got) != 1 || got[0].Index != 2 {
		t.Errorf("Pass = %+v, want only c", got)
	}
}

func TestReservationKeepsItsNode(t *testing.T) {
	t.Parallel()
	s := Snapshot{
		Nodes:   []Node{{Cores: 2}, {Cores: 4}},
		Running: []Running{{Shares: []Share{{Node: 1, Cores: 2}}, End: 100}},
		Waiting: []Waiting{
			{Job: "whole", Demand: demand(1, 4, 0), Limit: 100}, // node 1 at 100
			{Job: "long", Demand: demand(2, 1, 0), Limit: 1000}, // fits beside, on node 0
			{Job: "long2", Demand: demand(1, 2, 0), Limit: 1000},
		},
	}
	got := Pass(s)
	want := []Placement{{Index: 1, Shares: []Share{{Node: 0, Processes: 2, Cores: 2}}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("Pass = %+v, want %+v", got, want)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	site := grid.Site{Architecture: "x86_64", System: "LINUX"}
	all := []Node{{Cores: 4, Memory: 1000}, {Cores: 4, Memory: 2000}, {Cores: 64, Down: true}}
	on := func(d grid.Demand, arch, system string) grid.Demand {
		d.Architecture, d.System = arch, system
		return d
	}
	for _, c := range []struct {
		demand grid.Demand
		want   *grid.Refusal
	}{
		{demand(8, 1, 0), nil},
		{on(demand(1, 1, 0), "x86_64", "LINUX"), nil},
		{demand(9, 1, 0), &grid.Refusal{Reason: "too few processors", Asked: "9", Available: "8"}},
		{demand(1, 5, 0), &grid.Refusal{Reason: "too few processors on one node", Asked: "5", Available: "4"}},
		{demand(2, 3, 0), nil},
		{grid.Demand{Chunks: []grid.Chunk{{Count: 1, Cores: 3}, {Count: 1, Cores: 3}, {Count: 1, Cores: 2}}},
			&grid.Refusal{Reason: "too few processors on one node", Asked: "8", Available: "6"}},
		{demand(1, 1, 2001), &grid.Refusal{Reason: "not enough memory", Asked: "2001", Available: "2000"}},
		{demand(3, 1, 900), nil},
		{demand(4, 1, 900), &grid.Refusal{Reason: "not enough memory", Asked: "3600", Available: "2700"}},
		{on(demand(1, 1, 0), "ppc64", ""), &grid.Refusal{Reason: "wrong architecture", Asked: "ppc64", Available: "x86_64"}},
		{on(demand(1, 1, 0), "", "AIX"), &grid.Refusal{Reason: "wrong operating system", Asked: "AIX", Available: "LINUX"}},
		{grid.Demand{}, &grid.Refusal{Reason: "no processors asked for", Asked: "0"}},
		{demand(1<<62, 1<<62, 1<<62), &grid.Refusal{Reason: "too few processors", Asked: "1099511627776", Available: "8"}},
	} {
		p := Build(Snapshot{Site: site, Nodes: all})
		_, got := p.Ask(Question{Demand: c.demand, Limit: 1})
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%+v: refusal %+v, want %+v", c.demand, got, c.want)
		}
	}
}

// A job that only a down node could hold blocks nobody.
func TestDownNodeBlocksNobody(t *testing.T) {
	t.Parallel()
	p := Build(Snapshot{
		Nodes:   []Node{{Cores: 2}, {Cores: 8, Down: true}},
		Waiting: []Waiting{{Job: "big", Demand: demand(1, 8, 0), Limit: 5}, {Job: "small", Demand: demand(2, 1, 0), Limit: 5}},
	})
	if _, ok := p.Start("big"); ok {
		t.Error("big has a start on a node that is down")
	}
	if at, ok := p.Start("small"); !ok || at != 0 {
		t.Errorf("small starts at %d, %v; want 0", at, ok)
	}
}

func TestOverrunEndsSoon(t *testing.T) {
	t.Parallel()
	p := Build(Snapshot{At: 50, Nodes: nodes(1, 1), Running: []Running{{Shares: []Share{{Cores: 1}}, End: 10}}})
	if at, r := p.Ask(Question{Demand: demand(1, 1, 0), Limit: 5}); at != 51 || r != nil {
		t.Errorf("start %d, %v; want 51", at, r)
	}
}

// drawSnapshot draws a small site whose running jobs fit on it.
func drawSnapshot(t *rapid.T, chunks int) Snapshot {
	s := Snapshot{At: grid.Tick(rapid.IntRange(0, 50).Draw(t, "at"))}
	withMemory := rapid.Bool().Draw(t, "memory")
	for range rapid.IntRange(1, 4).Draw(t, "nodes") {
		n := Node{Cores: rapid.IntRange(1, 6).Draw(t, "cores"), Down: rapid.IntRange(0, 5).Draw(t, "down") == 0}
		if withMemory {
			n.Memory = int64(rapid.IntRange(0, 12).Draw(t, "memory"))
		}
		s.Nodes = append(s.Nodes, n)
	}
	for range rapid.IntRange(0, 5).Draw(t, "running") {
		d := drawDemand(t, chunks)
		free := naiveFree(s, s.Running, s.At)
		if shares, ok := newPlacer(len(s.Nodes)).place(piecesOf(d), free); ok {
			s.Running = append(s.Running, Running{
				Shares: slices.Clone(shares), End: grid.Tick(rapid.IntRange(0, 150).Draw(t, "end")),
			})
		}
	}
	for i := range rapid.IntRange(0, 12).Draw(t, "waiting") {
		s.Waiting = append(s.Waiting, Waiting{
			Job: grid.JobID(fmt.Sprint("w", i)), Demand: drawDemand(t, chunks),
			Limit: grid.Tick(rapid.IntRange(0, 60).Draw(t, "limit")),
		})
	}
	return s
}

func drawDemand(t *rapid.T, chunks int) grid.Demand {
	var d grid.Demand
	for range rapid.IntRange(1, chunks).Draw(t, "chunks") {
		d.Chunks = append(d.Chunks, grid.Chunk{
			Count:     rapid.IntRange(1, 5).Draw(t, "count"),
			Processes: rapid.IntRange(0, 2).Draw(t, "processes"),
			Cores:     rapid.IntRange(0, 4).Draw(t, "piece cores"),
			Memory:    int64(rapid.IntRange(0, 5).Draw(t, "piece memory")),
		})
	}
	return d
}

// naiveFree is what is free at an instant, reckoned from nothing but the list.
func naiveFree(s Snapshot, running []Running, at grid.Tick) room {
	free := emptySite(s.Nodes)
	for _, r := range running {
		if r.Start <= at && max(r.End, s.At+1) > at {
			free.take(r.Shares)
		}
	}
	return free
}

// naiveRun is the twin: every millisecond it goes through the queue anew and
// derives every reservation from scratch. Last come the jobs of later.
func naiveRun(s Snapshot, later []Question) (starts []grid.Tick, ran []Running) {
	starts = make([]grid.Tick, len(s.Waiting)+len(later))
	ran = slices.Clone(s.Running)
	var queue []int
	for i := range starts {
		starts[i] = -1
		d, _, _ := naiveJob(s, later, i)
		if Refuse(s.Site, s.Nodes, d) == nil {
			queue = append(queue, i)
		}
	}
	for now := s.At; len(queue) > 0; now++ {
		ran = naivePass(s, later, now, &queue, starts, ran)
	}
	return starts, ran
}

func naiveJob(s Snapshot, later []Question, i int) (d grid.Demand, limit, from grid.Tick) {
	if i < len(s.Waiting) {
		return s.Waiting[i].Demand, max(s.Waiting[i].Limit, 1), s.At
	}
	q := later[i-len(s.Waiting)]
	return q.Demand, max(q.Limit, 1), max(q.NotBefore, s.At)
}

func naivePass(s Snapshot, later []Question, now grid.Tick, queue *[]int, starts []grid.Tick, ran []Running) []Running {
	var left []int
	shadow := grid.Tick(-1)
	var reserved Running
	for _, i := range *queue {
		d, limit, from := naiveJob(s, later, i)
		if from > now {
			left = append(left, i)
			continue
		}
		room := naiveFree(s, ran, now)
		if shadow >= 0 && now+limit > shadow {
			then := naiveFree(s, append(slices.Clone(ran), reserved), shadow)
			for n := range room.cores {
				room.cores[n] = min(room.cores[n], then.cores[n])
				room.memory[n] = min(room.memory[n], then.memory[n])
			}
		}
		l := newPlacer(len(s.Nodes))
		if shares, ok := l.place(piecesOf(d), room); ok {
			ran = append(ran, Running{Shares: slices.Clone(shares), Start: now, End: now + limit})
			starts[i] = now
			continue
		}
		left = append(left, i)
		for t := now + 1; shadow < 0; t++ {
			if shares, ok := l.place(piecesOf(d), naiveFree(s, ran, t)); ok {
				shadow = t
				reserved = Running{Shares: slices.Clone(shares), Start: t, End: t + 1}
			}
		}
	}
	*queue = left
	return ran
}

func TestBuildLikeNaiveTwin(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawSnapshot(t, 1)
		want, _ := naiveRun(s, nil)
		p := Build(s)
		for i, w := range s.Waiting {
			got, ok := p.Start(w.Job)
			if !ok {
				got = -1
			}
			if got != want[i] {
				t.Fatalf("%s starts at %d, the twin says %d", w.Job, got, want[i])
			}
		}
	})
}

func TestAskAndWithLikeNaiveTwin(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawSnapshot(t, 1)
		p := Build(s)
		var later []Question
		for range rapid.IntRange(1, 4).Draw(t, "questions") {
			q := Question{
				Demand: drawDemand(t, 1), Limit: grid.Tick(rapid.IntRange(0, 60).Draw(t, "limit")),
				NotBefore: grid.Tick(rapid.IntRange(0, 150).Draw(t, "not before")),
			}
			asked, refusal := p.Ask(q)
			with, start, refusal2 := p.With(q)
			if (refusal == nil) != (refusal2 == nil) || asked != start {
				t.Fatalf("Ask says %d %v, With %d %v", asked, refusal, start, refusal2)
			}
			if refusal != nil {
				continue
			}
			later = append(later, q)
			want, _ := naiveRun(s, later)
			if twin := want[len(want)-1]; twin != start {
				t.Fatalf("start %d, the twin says %d", start, twin)
			}
			p = with
		}
	})
}

// With any demands: nothing is oversubscribed at any instant, a job gets what it
// asked for on nodes that are up, and every waiting job that can start does.
func TestNeverOversubscribed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawSnapshot(t, 3)
		e := newSchedule(s, nil)
		var ran []Running
		for more := true; more; more = e.advance() {
			e.pass()
			for _, p := range e.started {
				ran = append(ran, Running{Shares: p.Shares, Start: e.now, End: e.now + e.jobs[p.Index].limit})
				checkShares(t, s, s.Waiting[p.Index].Demand, p.Shares)
			}
		}
		if len(e.queue) > 0 {
			t.Fatalf("%d jobs never start", len(e.queue))
		}
		for _, r := range ran {
			free := naiveFree(s, append(slices.Clone(s.Running), ran...), r.Start)
			for n := range free.cores {
				if free.cores[n] < 0 || free.memory[n] < 0 {
					t.Fatalf("node %d is oversubscribed at %d: %d cores, %d bytes", n, r.Start, free.cores[n], free.memory[n])
				}
			}
		}
	})
}

func checkShares(t *rapid.T, s Snapshot, d grid.Demand, shares []Share) {
	var cores, processes int
	var memory int64
	for _, h := range shares {
		if s.Nodes[h.Node].Down {
			t.Fatalf("a share on node %d, which is down", h.Node)
		}
		cores, processes, memory = cores+h.Cores, processes+h.Processes, memory+h.Memory
	}
	asked := int64(0)
	for _, c := range d.Chunks {
		asked += int64(c.Count) * c.Memory
	}
	if cores != piecesOf(d).cores() || processes != d.Processes() || memory != asked {
		t.Fatalf("%+v got %d cores, %d processes, %d bytes", d, cores, processes, memory)
	}
}

// The head starts no later than it would if nobody behind it were there, and
// Pass starts exactly those whose planned start is now. Twice gives the same.
func TestHeadIsNeverDelayed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawSnapshot(t, 3)
		full := Build(s)
		for i := range s.Waiting {
			if Refuse(s.Site, s.Nodes, s.Waiting[i].Demand) != nil {
				continue
			}
			at, _ := full.Start(s.Waiting[i].Job)
			if at == s.At {
				continue
			}
			alone := s
			alone.Waiting = s.Waiting[:i+1]
			if want, _ := Build(alone).Start(s.Waiting[i].Job); at > want {
				t.Fatalf("%s, the head, starts at %d; alone at %d", s.Waiting[i].Job, at, want)
			}
			break
		}
		now := Pass(s)
		if !reflect.DeepEqual(now, Pass(s)) {
			t.Fatal("the same snapshot gave two placements")
		}
		for i, w := range s.Waiting {
			at, ok := full.Start(w.Job)
			if starts := slices.ContainsFunc(now, func(p Placement) bool { return p.Index == i }); starts != (ok && at == s.At) {
				t.Fatalf("%s: Pass starts it: %v; Build at %d, %v", w.Job, starts, at, ok)
			}
		}
	})
}

// busySite is 10 nodes of 8 cores with 2,000 waiting and up to 100 running jobs.
func busySite() Snapshot {
	r := rand.New(rand.NewPCG(1, 2))
	s := Snapshot{Nodes: nodes(10, 8)}
	free := emptySite(s.Nodes)
	l := newPlacer(10)
	for range 100 {
		if shares, ok := l.place(piecesOf(demand(1, 1, 0)), free); ok {
			shares = slices.Clone(shares)
			free.take(shares)
			s.Running = append(s.Running, Running{Shares: shares, End: grid.Tick(1 + r.IntN(3_600_000))})
		}
	}
	for i := range 2000 {
		d := demand(1+r.IntN(16), 1, 0)
		if i%5 == 0 {
			d = demand(1+r.IntN(4), 4, 0)
		}
		s.Waiting = append(s.Waiting, Waiting{
			Job: grid.JobID(fmt.Sprint("w", i)), Demand: d, Limit: grid.Tick(60_000 + r.IntN(7_200_000)),
		})
	}
	return s
}

func BenchmarkBuild(b *testing.B) {
	s := busySite()
	b.ReportAllocs()
	for b.Loop() {
		Build(s)
	}
}

func BenchmarkAsk(b *testing.B) {
	p := Build(busySite())
	for _, c := range []struct {
		name  string
		cores int
	}{{"backfills", 1}, {"waits", 80}} {
		q := Question{Demand: demand(c.cores, 1, 0), Limit: 2 * grid.Hour}
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				p.Ask(q)
			}
		})
	}
}

func BenchmarkPassFull(b *testing.B) {
	s := busySite()
	for b.Loop() {
		Pass(s)
	}
}
