package plan

import (
	"slices"
	"testing"

	"gbroker/grid"

	"pgregory.net/rapid"
)

// At every instant the counted view is the sum over the nodes of what is left there,
// reckoned from nothing but where the jobs are planned; and what is for sale is what
// no running job or reservation has.
func TestViewsAgree(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawSnapshot(t, 2)
		s.Policy = drawPolicy(t, Kind(rapid.IntRange(int(FCFS), int(ConsCompress)).Draw(t, "kind")))
		s.Reservations = slices.DeleteFunc(s.Reservations, func(r Reservation) bool { return r.Job != "" })
		p := Build(s)
		w := newTwin(Snapshot{At: s.At, Site: s.Site, Nodes: s.Nodes, Running: s.Running, Reservations: s.Reservations}, nil, nil)
		for i := range s.Waiting {
			if got, ok := p.Waiting(i); ok {
				w.ran = append(w.ran, twinRun{shares: got.Shares, start: got.Start, end: got.End, until: got.End})
			}
		}
		slots := p.Slots(Pricing{}, s.At, s.At+400)
		view := timelineOf(t, p)
		for at := s.At; at < s.At+400; at++ {
			w.now = at
			for what, name := range map[string]string{"cores": Cores, "memory": Memory, "+gpu": "gpu"} {
				var sum int64
				for n := range s.Nodes {
					if free := max(usedBy(w, s.Nodes[n], n, at)[what], 0); free < unlimited/2 {
						sum += free
					}
				}
				if got := freeOf(view, name, at); got != sum {
					t.Fatalf("at %d %d of %s are free, by node %d", at, got, name, sum)
				}
			}
			for n, node := range s.Nodes {
				held := node.Down || slices.ContainsFunc(w.ran[:len(s.Running)+reservedIn(w)], func(r twinRun) bool {
					return r.start <= at && at < r.end && slices.ContainsFunc(r.shares, func(h Share) bool { return h.Node == n })
				})
				sold := slices.ContainsFunc(slots, func(x grid.Slot) bool { return x.Node == node.Name && x.Start <= at && at < x.End })
				if sold == held {
					t.Fatalf("node %d at %d: held %v, for sale %v", n, at, held, sold)
				}
			}
		}
	})
}

func reservedIn(w *nodeTwin) (n int) {
	for _, r := range w.ran {
		if r.reserved {
			n++
		}
	}
	return n
}

func timelineOf(t rapid.TB, p *Plan) *Timeline {
	t.Helper()
	view, err := p.Timeline()
	if err != nil {
		t.Fatal(err)
	}
	return view
}

// freeOf is what is free of a resource at an instant; 0 of one that no node has.
func freeOf(view *Timeline, name string, at grid.Tick) int64 {
	if r := slices.Index(view.names, name); r >= 0 {
		return view.At(at)[r]
	}
	return 0
}

// On nodes of one core the counted view of a plan is what the counted scheduler
// holds for the same jobs.
func TestTimelineLikeCounted(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		cores, jobs := drawLog(t)
		for i := range jobs {
			jobs[i].submit, jobs[i].run = 0, jobs[i].limit
		}
		p := Policy{Kind: rapid.SampledFrom([]Kind{FCFS, FirstFit, EASY, EASYSJBF}).Draw(t, "kind"), Order: drawOrder(t)}
		s, _ := asSnapshot(cores, jobs, p)
		view := timelineOf(t, Build(s))
		starts := runCounted(cores, p, jobs, nil, false)
		for at := grid.Tick(0); at < 200; at++ {
			free := int64(cores)
			for i, j := range jobs {
				if starts[i] <= at && at < starts[i]+j.limit {
					free -= int64(j.cores)
				}
			}
			if got := freeOf(view, Cores, at); got != free {
				t.Fatalf("at %d %d cores are free, counted %d", at, got, free)
			}
		}
	})
}

// What a waiting job would have costs what its priority makes it cost.
func TestSlotsOfAPlan(t *testing.T) {
	t.Parallel()
	p := Build(Snapshot{
		Site: grid.Site{Name: "a"}, Nodes: append(nodes(1, 2), Node{Name: "off", Cores: 2, Down: true}),
		Running: []Running{{Shares: []Share{{Node: 0, Cores: 1}}, End: 10 * second}},
		Waiting: []Waiting{{Job: "w", Demand: demand(2, 1, 0), Limit: 20 * second, Priority: 3}},
	})
	want := []grid.Slot{
		{Site: "a", Node: "n0", Start: 10 * second, End: 30 * second, Price: 60},
		{Site: "a", Node: "n0", Start: 30 * second, End: 40 * second, Price: 1},
	}
	if got := p.Slots(Pricing{Base: 1}, 0, 40*second); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
