package plan

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"

	"gbroker/grid"

	"pgregory.net/rapid"
)

// The plan is what the passes do: run forward one by one, each from a snapshot that
// knows nothing of the pass before, with all jobs ending at their limits, they start
// every job when and where the plan says.
func TestPassesDoWhatThePlanSays(t *testing.T) {
	t.Parallel()
	for kind := FCFS; kind <= ConsCompress; kind++ {
		t.Run(Policy{Kind: kind}.String(), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				s := drawSnapshot(t, 1)
				s.Policy = drawPolicy(t, kind)
				s.Reservations = slices.DeleteFunc(s.Reservations, func(r Reservation) bool { return r.Job != "" })
				p := Build(s)
				for i, got := range passByPass(s) {
					want, ok := p.Waiting(i)
					if !ok {
						want.Start = -1
					}
					if got.Start != want.Start || fmt.Sprint(got.Shares) != fmt.Sprint(want.Shares) {
						t.Fatalf("%v: job %d starts at %d on %v, the plan says %d on %v", s.Policy, i, got.Start, got.Shares, want.Start, want.Shares)
					}
				}
			})
		})
	}
}

// The same of a plan in which the head's reservation takes nodes that come free with one job, which has them in another order than a
// snapshot lists them.
func TestPassesDoWhatThePlanSaysOfTheNodesOfOneJob(t *testing.T) {
	t.Parallel()
	s := Snapshot{At: 2, Policy: Policy{Kind: EASYSJBF, Order: ShortestFirst}}
	for i, cores := range []int{1, 1, 4, 5} {
		s.Nodes = append(s.Nodes, Node{Name: grid.NodeName(fmt.Sprint("n", i)), Cores: cores, Down: i == 1})
	}
	for _, w := range []struct {
		count, cores int
		limit        grid.Tick
	}{{2, 1, 3}, {3, 1, 3}, {1, 1, 3}, {1, 4, 0}, {1, 0, 2}, {1, 1, 4}, {2, 3, 0}, {5, 0, 3}} {
		s.Waiting = append(s.Waiting, Waiting{Limit: w.limit, Demand: grid.Demand{Chunks: []grid.Chunk{{Count: w.count, Cores: w.cores}}}})
	}
	p := Build(s)
	for i, got := range passByPass(s) {
		if want, _ := p.Waiting(i); got.Start != want.Start || fmt.Sprint(got.Shares) != fmt.Sprint(want.Shares) {
			t.Errorf("job %d starts at %d on %v, the plan says %d on %v", i, got.Start, got.Shares, want.Start, want.Shares)
		}
	}
}

func passByPass(s Snapshot) []Allocation {
	out := make([]Allocation, len(s.Waiting))
	index := make([]int, len(s.Waiting)) // of who still waits
	for i := range out {
		out[i].Start, index[i] = -1, i
	}
	s.Waiting, s.Running = slices.Clone(s.Waiting), slices.Clone(s.Running)
	for i := range s.Running {
		s.Running[i].End = max(s.Running[i].End, s.At+1)
	}
	for until := s.At + 2000; s.At < until; s.At++ {
		s.Running = slices.DeleteFunc(s.Running, func(r Running) bool { return r.End <= s.At })
		started := Pass(s)
		for _, p := range started {
			i := index[p.Index]
			out[i] = Allocation{Start: s.At, Shares: p.Shares}
			s.Running = append(s.Running, Running{Shares: p.Shares, Start: s.At, End: s.At + max(s.Waiting[p.Index].Limit, 1)})
		}
		s.overtake(started)
		slices.SortFunc(started, func(a, b Allocation) int { return cmp.Compare(b.Index, a.Index) })
		for _, p := range started {
			s.Waiting, index = slices.Delete(s.Waiting, p.Index, p.Index+1), slices.Delete(index, p.Index, p.Index+1)
		}
	}
	return out
}

// overtake counts who was overtaken in a pass, in the order of the policy.
func (s *Snapshot) overtake(started []Allocation) {
	rank := func(i int) int64 {
		w := s.Waiting[i]
		return s.Policy.Rank(int64(coresOf(w.Demand)), max(w.Limit, 1), w.Priority)
	}
	for i := range s.Waiting {
		for _, p := range started {
			if r, o := rank(i), rank(p.Index); r < o || r == o && i < p.Index {
				s.Waiting[i].Overtaken++
			}
		}
	}
}

// With any demands, policies and beliefs: at no instant does what the plan has on a
// node, with what runs there, exceed it; each job gets what it asked for, on nodes it
// may use; nothing begins on a reservation; and every job that can start does.
func TestNeverOvercommitted(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawSnapshot(t, 3)
		s.Policy = drawPolicy(t, Kind(rapid.IntRange(int(FCFS), int(ConsCompress)).Draw(t, "kind")))
		believe := drawBelief(t)
		p := Likely(s, runsBy(&s, believe))
		w := newTwin(Snapshot{At: s.At, Site: s.Site, Nodes: s.Nodes, Queues: s.Queues, Running: s.Running, Waiting: s.Waiting}, nil, believe)
		for i, x := range s.Waiting {
			got, ok := p.Waiting(i)
			if want := !x.Ineligible && w.can(i); ok != want && (want || !slices.ContainsFunc(s.Reservations, func(r Reservation) bool { return r.Job == x.Job })) {
				t.Fatalf("job %d: planned %v, can start %v", i, ok, want)
			}
			if !ok {
				continue
			}
			checkShares(t, w, i, got.Shares)
			w.ran = append(w.ran, twinRun{shares: got.Shares, start: got.Start, end: got.End, until: got.End})
		}
		for _, r := range w.ran {
			for n := range s.Nodes {
				for what, free := range usedBy(w, s.Nodes[n], n, r.start) {
					if free < 0 {
						t.Fatalf("%v: node %d is overcommitted at %d: %d of %s", s.Policy, n, r.start, free, what)
					}
				}
			}
		}
	})
}

// usedBy is what is free of a node at an instant by the real ends of all.
func usedBy(w *nodeTwin, node Node, n int, at grid.Tick) vec {
	v := w.full(n)
	if node.Down {
		return vec{}
	}
	for _, r := range w.ran {
		if r.start <= at && at < r.end {
			for _, h := range r.shares {
				if h.Node == n {
					v.take(vecOf(h.Cores, h.Memory, h.Resources), 1)
				}
			}
		}
	}
	return v
}

func checkShares(t *rapid.T, w *nodeTwin, i int, shares []Share) {
	d := w.s.Waiting[i].Demand
	var processes, cores int
	gpus, asked := int64(0), int64(0)
	for _, h := range shares {
		if !w.allowed(i, h.Node) {
			t.Fatalf("job %d has a share on node %d, which it may not use", i, h.Node)
		}
		processes, cores = processes+h.Processes, cores+h.Cores
		for _, r := range h.Resources {
			gpus += r.Amount
		}
		if d.Exclusive && h.Cores != w.s.Nodes[h.Node].Cores {
			t.Fatalf("job %d takes %d cores of node %d, not all of it", i, h.Cores, h.Node)
		}
	}
	for _, c := range d.Chunks {
		for _, r := range c.Resources {
			asked += int64(c.Count) * r.Amount
		}
	}
	exact := processes == d.Processes() && cores == coresOf(d) && gpus == asked
	if d.Exclusive {
		exact = processes == d.Processes() && cores >= coresOf(d) && gpus >= asked
	}
	if !exact {
		t.Fatalf("job %d: %+v got %v", i, d, shares)
	}
}

// What more is in use than a node has is in nobody's way who asks for none of it.
func TestOvercommittedMemory(t *testing.T) {
	t.Parallel()
	for kind := FCFS; kind <= ConsCompress; kind++ {
		s := Snapshot{Nodes: nodes(1, 4), Policy: Policy{Kind: kind}}
		s.Nodes[0].Memory = 1 << 30
		s.Running = []Running{{Shares: []Share{{Node: 0, Cores: 1, Memory: 2 << 30}}, End: 100}}
		for i, cores := range []int{3, 1, 1} {
			s.Waiting = append(s.Waiting, Waiting{Job: grid.JobID(fmt.Sprint(i)), Demand: demand(1, cores, 0), Limit: 10})
		}
		p := Build(s)
		for job, want := range map[grid.JobID]grid.Tick{"0": 0, "1": 10, "2": 10} {
			if at, ok := p.Start(job); !ok || at != want {
				t.Errorf("%v: job %s starts at %d, %v; should at %d", s.Policy, job, at, ok, want)
			}
		}
		if at, refusal := p.Ask(Question{Demand: demand(1, 1, 0), Limit: 10}); refusal != nil || at != 10 {
			t.Errorf("%v: one more starts at %d, %v; should at 10", s.Policy, at, refusal)
		}
	}
}

// The head starts no later than it would if nobody behind it were there.
func TestHeadIsNeverDelayed(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawSnapshot(t, 3)
		s.Reservations = slices.DeleteFunc(s.Reservations, func(r Reservation) bool { return r.Job != "" })
		s.Policy.Kind = rapid.SampledFrom([]Kind{EASY, EASYSJBF, ConsRebuild}).Draw(t, "kind")
		full := Build(s)
		for i := range s.Waiting {
			at, ok := full.Start(s.Waiting[i].Job)
			if !ok || at == s.At {
				continue
			}
			alone := s
			alone.Waiting = s.Waiting[:i+1]
			if want, _ := Build(alone).Start(s.Waiting[i].Job); at > want {
				t.Fatalf("%s, the head, starts at %d; alone at %d", s.Waiting[i].Job, at, want)
			}
			break
		}
	})
}

// byNode is the crowd of crowd() on nodes.
func byNode(p Policy, cores int, running, waiting int) Snapshot {
	r := rand.New(rand.NewPCG(1, 2))
	s := Snapshot{At: 1, Policy: p, Nodes: nodes(5000/cores, cores)}
	for i := range s.Nodes {
		if cores > 1 {
			s.Nodes[i].Memory = int64(cores) << 30
		}
	}
	limit := func() grid.Tick { return grid.Tick(60 + r.IntN(86400)) }
	for i := range running {
		run := Running{Start: 0, End: limit()}
		for k := range 5 {
			run.Shares = append(run.Shares, Share{Node: (i*5 + k) / cores % len(s.Nodes), Processes: 1, Cores: 1, Memory: int64(cores/16) << 30})
		}
		s.Running = append(s.Running, run)
	}
	for i := range waiting {
		n := 1 + int(r.Int32N(64))
		d := demand(n, 1, int64(cores/16)<<29)
		if cores > 1 && i%2 == 1 { // half of them in pieces of several cores
			d = demand((n+3)/4, 4, 5<<30)
		}
		s.Waiting = append(s.Waiting, Waiting{Job: grid.JobID(fmt.Sprint(i)), Demand: d, Limit: limit()})
	}
	return s
}

// A plan of 10,000 waiting and 1,000 running jobs on 5,000 cores: on as many nodes,
// and on nodes of 16 cores and 16 GiB where pieces ask for memory too.
func BenchmarkPlanByNode(b *testing.B) {
	for _, cores := range []int{1, 16} {
		for _, text := range []string{"fcfs", "firstfit", "firstfit:8", "easy", "easy:4", "easy:1:sjf", "easysjbf", "cons-rebuild", "cons-compress"} {
			b.Run(fmt.Sprintf("%d/%s", cores, text), func(b *testing.B) {
				s := byNode(policyOf(b, text), cores, 1000, 10000)
				reportBuilds(b, s)
			})
		}
	}
}

func reportBuilds(b *testing.B, s Snapshot) { report(b, func() { Build(s) }) }

// report makes a plan again and again. On a machine that others use too the time of the
// processor says more than the clock.
func report(b *testing.B, build func()) {
	processorTime := func() float64 {
		var u syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
			b.Fatal(err)
		}
		return float64(u.Utime.Nano() + u.Stime.Nano())
	}
	b.ReportAllocs()
	began := processorTime()
	for b.Loop() {
		build()
	}
	b.ReportMetric((processorTime()-began)/float64(b.N), "cpu-ns/op")
}

// A plan of a small site, as a simulator makes them.
func BenchmarkSmallPlan(b *testing.B) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, text := range []string{"fcfs", "easy", "cons-rebuild"} {
		s := Snapshot{Nodes: nodes(8, 8), Policy: policyOf(b, text)}
		for i := range 16 {
			s.Running = append(s.Running, Running{Shares: []Share{{Node: i / 2, Cores: 4}}, End: grid.Tick(1 + r.IntN(3_600_000))})
		}
		for i := range 50 {
			s.Waiting = append(s.Waiting, Waiting{Job: grid.JobID(fmt.Sprint(i)), Demand: demand(1+r.IntN(16), 1, 0), Limit: grid.Tick(60_000 + r.IntN(7_200_000))})
		}
		for _, jobs := range []int{10, 50} {
			s := s
			s.Waiting = s.Waiting[:jobs]
			b.Run(fmt.Sprintf("%s/%d", text, jobs), func(b *testing.B) {
				reportBuilds(b, s)
			})
		}
	}
}

// A likely plan in which jobs end after a fifth of their limits, on 5,000 nodes of one
// core: each early end has the reservations made anew.
func BenchmarkLikely(b *testing.B) {
	for _, text := range []string{"easy", "cons-rebuild", "cons-compress"} {
		for _, waiting := range []int{49, 199, 1999, 10000} {
			b.Run(fmt.Sprintf("%s/%d", text, waiting), func(b *testing.B) {
				s := byNode(policyOf(b, text), 1, 1000, waiting)
				for i := range s.Running {
					s.Running[i].Trait.Limit = s.Running[i].End
				}
				for i := range s.Waiting {
					s.Waiting[i].Trait.Limit = s.Waiting[i].Limit
				}
				report(b, func() {
					Likely(s, runsBy(&s, func(t Trait, elapsed grid.Tick) grid.Tick { return max(t.Limit/5, elapsed+1) }))
				})
			})
		}
	}
}
