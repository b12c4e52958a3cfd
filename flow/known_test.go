package flow

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
)

// topcuoglu is the graph of ten tasks and three processors of the paper that published HEFT.
func topcuoglu() (*Graph, *Platform) {
	run := [][]Time{{14, 16, 9}, {13, 19, 18}, {11, 13, 19}, {13, 8, 17}, {12, 13, 10}, {13, 16, 9}, {7, 15, 11}, {5, 11, 14}, {18, 12, 20}, {21, 7, 16}}
	g := &Graph{}
	for _, r := range run {
		g.Vertices = append(g.Vertices, Vertex{Configurations: []Configuration{{Needs: []int64{1}, Run: r}}})
	}
	for _, e := range [][3]int{{1, 2, 18}, {1, 3, 12}, {1, 4, 9}, {1, 5, 11}, {1, 6, 14}, {2, 8, 19}, {2, 9, 16}, {3, 7, 23}, {4, 8, 27}, {4, 9, 23}, {5, 9, 13}, {6, 8, 15}, {7, 10, 17}, {8, 10, 11}, {9, 10, 13}} {
		g.Edges = append(g.Edges, Edge{e[0] - 1, e[1] - 1, int64(e[2])})
	}
	p := &Platform{Resources: []string{"cores"}}
	for range 3 {
		p.Executors = append(p.Executors, Executor{Capacity: []int64{1}})
		p.Bandwidth = append(p.Bandwidth, []int64{1e6, 1e6, 1e6}) // a byte in a microsecond
	}
	return g, p
}

func TestTopcuoglu(t *testing.T) {
	t.Parallel()
	g, p := topcuoglu()
	ranks, err := upwardRanks(g, p)
	if err != nil {
		t.Fatal(err)
	}
	for v, want := range []float64{108, 77, 80, 80, 69, 63.333, 42.667, 35.667, 44.333, 14.667} {
		if math.Abs(ranks[v]-want) > 0.0005 {
			t.Errorf("the rank of task %d is %.3f, not %.3f", v+1, ranks[v], want)
		}
	}
	for rule, want := range map[Rule]Time{HEFT: 80, CPOP: 86} {
		s, err := Plan(g, p, rule, Options{})
		if err != nil || s.Makespan != want {
			t.Errorf("the makespan of %s is %v, not %d (%v)", rule, s, want, err)
		}
	}
}

// published is the periodic example: three executors of four cores, one of them with a GPU; cameras of 30 and
// 25 frames a second, offset 100 ms. Its edges and run times are ours: job1 and then job3 work on the frames of the
// slower camera, job2 on those of the faster; job4 joins them.
func published() (*Graph, *Platform) {
	const ms = Millisecond
	p := &Platform{Resources: []string{"cores"}, Bandwidth: [][]int64{{0, 1e6, 1e6}, {1e6, 0, 1e6}, {1e6, 1e6, 0}}}
	for _, name := range []string{"one", "two", "three"} {
		p.Executors = append(p.Executors, Executor{Name: name, Capacity: []int64{4}})
	}
	p.Executors[2].GPUs = []string{"GPU-0"}
	cpu := func(a, b, c Time) Configuration {
		return Configuration{Name: "cpu", Needs: []int64{1}, Run: []Time{a, b, c}}
	}
	gpu := func(c Time) Configuration {
		return Configuration{Name: "gpu", Needs: []int64{1}, GPUs: 1, Run: []Time{-1, -1, c}}
	}
	g := &Graph{Vertices: []Vertex{
		{Name: "slow", Kind: Source, At: 0, Release: 100 * ms, Rate: 25},
		{Name: "fast", Kind: Source, At: 1, Release: 100 * ms, Rate: 30},
		{Name: "job1", Configurations: []Configuration{cpu(200*ms, 200*ms, 85*ms), gpu(45 * ms)}},
		{Name: "job2", Configurations: []Configuration{cpu(30*ms, 30*ms, 30*ms)}},
		{Name: "job3", Configurations: []Configuration{cpu(170*ms, 170*ms, 170*ms), gpu(38 * ms)}},
		{Name: "job4", Configurations: []Configuration{cpu(47*ms, 47*ms, 200*ms)}},
		{Name: "screen", Kind: Destination, At: 0},
	}}
	for _, e := range [][3]int{{0, 2, 50_000}, {1, 3, 50_000}, {2, 4, 1000}, {3, 5, 1000}, {4, 5, 1000}, {5, 6, 1000}} {
		g.Edges = append(g.Edges, Edge{e[0], e[1], int64(e[2])}) // a kilobyte in a millisecond
	}
	return g, p
}

func TestPublishedPeriodicExample(t *testing.T) {
	t.Parallel()
	g, p := published()
	ranks, err := upwardRanks(g, p)
	if err != nil {
		t.Fatal(err)
	}
	order := []int{2, 3, 4, 5}
	slices.SortFunc(order, func(a, b int) int { return int(math.Copysign(1, ranks[b]-ranks[a])) })
	if !slices.Equal(order, []int{2, 4, 3, 5}) {
		t.Errorf("the order is %v, not job1, job3, job2, job4 (%v)", order, ranks)
	}
	list, err := PlanPeriodic(g, p, Pipeline{Count: 250, Deadline: 225 * Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	for n := range list {
		i := &list[n]
		want, gpu1 := 221*Millisecond, 0
		if n == 0 {
			want, gpu1 = 181*Millisecond, 1
		}
		if i.Duration() != want || i.Late {
			t.Errorf("instance %d takes %d us, not %d", n, i.Duration(), want)
		}
		if len(i.Placements[2].GPUs) != gpu1 || len(i.Placements[4].GPUs) != 1 || len(i.Placements[5].GPUs)+len(i.Placements[3].GPUs) != 0 {
			t.Errorf("instance %d: the GPU is not where it should be: %+v", n, i.Placements)
		}
		if i.From != 100*Millisecond+Time(n)*40*Millisecond || i.Data[0] != n {
			t.Errorf("instance %d begins at %d with data %v", n, i.From, i.Data)
		}
		if got := i.Placements[2].Start - i.From; got != 50*Millisecond {
			t.Errorf("instance %d: job1 starts %d us after its data", n, got)
		}
		if i.Placements[5].Executor != 0 || i.Placements[5].Start != i.Placements[4].End+Millisecond {
			t.Errorf("instance %d: job4 is not at executor one, 1 ms behind job3", n)
		}
	}
	verifyAll(t, g, p, list)
	g.Vertices[0].Rate, g.Vertices[1].Rate = 80, 90
	if _, err := PlanPeriodic(g, p, Pipeline{Count: 400}); !errors.Is(err, ErrOverload) || !strings.Contains(err.Error(), "of ") {
		t.Errorf("80 frames a second are planned: %v", err)
	} else {
		t.Log(err)
	}
}

// The instants of a source do not drift.
func TestInstants(t *testing.T) {
	t.Parallel()
	v := Vertex{Kind: Source, Rate: 30, Release: 7}
	for k, want := range map[int]Time{0: 7, 1: 33340, 2: 66673, 30: 1_000_007, 30_000_000: 1_000_000_000_007} {
		if got := v.Instant(k); got != want {
			t.Errorf("instance %d is at %d, not %d", k, got, want)
		}
	}
	hourly := Vertex{Kind: Source, Rate: 1, Per: 3600 * Second}
	if got := hourly.Instant(24); got != 24*3600*Second {
		t.Errorf("the 24th hour is at %d", got)
	}
}

// What is taken for ever leaves no room: that is said, by every rule.
func TestNoRoomForEver(t *testing.T) {
	t.Parallel()
	g, p := topcuoglu()
	for e := range p.Executors {
		p.Executors[e].Taken = []Taken{{From: 20, To: Forever, Amounts: []int64{1}}}
	}
	for _, rule := range Rules {
		if s, err := Plan(g, p, rule, Options{Steps: 5}); !errors.Is(err, ErrInvalid) {
			t.Errorf("%s makes a plan that ends at %v (%v)", rule, s, err)
		}
	}
}

func upwardRanks(g *Graph, p *Platform) ([]float64, error) {
	q, err := newProblem(g, p)
	if err != nil {
		return nil, err
	}
	return q.upward(), nil
}
