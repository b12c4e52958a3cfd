package plan

import (
	"fmt"
	"reflect"
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
		Policy: Policy{Kind: EASY},
		At:     10, Nodes: nodes(1, 4),
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
		Policy:  Policy{Kind: EASY},
		Nodes:   []Node{{Cores: 2}, {Cores: 4}},
		Running: []Running{{Shares: []Share{{Node: 1, Cores: 2}}, End: 100}},
		Waiting: []Waiting{
			{Job: "whole", Demand: demand(1, 4, 0), Limit: 100}, // node 1 at 100
			{Job: "long", Demand: demand(2, 1, 0), Limit: 1000}, // fits beside, on node 0
			{Job: "long2", Demand: demand(1, 2, 0), Limit: 1000},
		},
	}
	got := Pass(s)
	want := []Allocation{{Index: 1, End: 1000, Shares: []Share{{Node: 0, Processes: 2, Cores: 2}}}}
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
		{demand(9, 1, 0), &grid.Refusal{Kind: grid.Permanent, Reason: "too few processors", Asked: "9", Available: "8", TooWide: true}},
		{demand(1, 5, 0), &grid.Refusal{Kind: grid.Permanent, Reason: "too few processors on one node", Asked: "5", Available: "4"}},
		{demand(2, 3, 0), nil},
		{grid.Demand{Chunks: []grid.Chunk{{Count: 1, Cores: 3}, {Count: 1, Cores: 3}, {Count: 1, Cores: 2}}},
			&grid.Refusal{Kind: grid.Permanent, Reason: "too few processors on one node", Asked: "8", Available: "6", TooWide: true}},
		{demand(1, 1, 2001), &grid.Refusal{Kind: grid.Permanent, Reason: "not enough memory", Asked: "2001", Available: "2000"}},
		{demand(3, 1, 900), nil},
		{demand(4, 1, 900), &grid.Refusal{Kind: grid.Permanent, Reason: "not enough memory", Asked: "3600", Available: "2700", TooWide: true}},
		{on(demand(1, 1, 0), "ppc64", ""), &grid.Refusal{Kind: grid.Permanent, Reason: "wrong architecture", Asked: "ppc64", Available: "x86_64"}},
		{on(demand(1, 1, 0), "", "AIX"), &grid.Refusal{Kind: grid.Permanent, Reason: "wrong operating system", Asked: "AIX", Available: "LINUX"}},
		{grid.Demand{}, &grid.Refusal{Kind: grid.Permanent, Reason: "no processors asked for", Asked: "0"}},
		{demand(1<<62, 1<<62, 1<<62), &grid.Refusal{Kind: grid.Permanent, Reason: "too few processors", Asked: "1099511627776", Available: "8"}},
	} {
		p := Build(Snapshot{Site: site, Nodes: all})
		_, got := p.Ask(Question{Demand: c.demand, Limit: 1})
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%+v: refusal %+v, want %+v", c.demand, got, c.want)
		}
	}
}

// What a refusal says of queues, kinds of nodes and named resources.
func TestRefusalsByKind(t *testing.T) {
	t.Parallel()
	gpu := func(n int64) []grid.Resource { return []grid.Resource{{Name: "gpu:a100", Amount: n}} }
	s := Snapshot{
		Site: grid.Site{Architecture: "x86_64", System: "LINUX"},
		Nodes: []Node{
			{Cores: 4, Resources: gpu(2), Properties: []string{"ib", "fast"}},
			{Cores: 4, Architecture: "arm", Properties: []string{"ib"}},
			{Cores: 4, Properties: []string{"fast"}, Down: true},
		},
		Queues: []Queue{{Name: "short", Limit: 60 * second}, {Name: "arm", Nodes: []int{1}}},
	}
	chunk := func(count int, n int64) grid.Demand {
		return grid.Demand{Chunks: []grid.Chunk{{Count: count, Cores: 1, Resources: gpu(n)}}}
	}
	with := func(d grid.Demand, arch string, properties ...string) grid.Demand {
		d.Architecture, d.Properties = arch, properties
		return d
	}
	whole := demand(3, 1, 0)
	whole.Exclusive = true
	for _, c := range []struct {
		q    Question
		want *grid.Refusal
	}{
		{Question{Demand: demand(1, 1, 0), Queue: "long"}, &grid.Refusal{Kind: grid.Permanent, Reason: "no such queue", Asked: "long", Available: "short arm"}},
		{Question{Demand: demand(1, 1, 0), Queue: "short", Limit: 61500}, &grid.Refusal{Kind: grid.Permanent, Reason: "longer than the queue's limit", Asked: "61.5 s", Available: "60 s"}},
		{Question{Demand: demand(1, 1, 0), Queue: "short", Limit: 60000}, nil},
		{Question{Demand: chunk(1, 3)}, &grid.Refusal{Kind: grid.Permanent, Reason: "not enough of gpu:a100", Asked: "3", Available: "2"}},
		{Question{Demand: chunk(3, 1)}, &grid.Refusal{Kind: grid.Permanent, Reason: "not enough of gpu:a100", Asked: "3", Available: "2", TooWide: true}},
		{Question{Demand: chunk(2, 1), Queue: "arm"}, &grid.Refusal{Kind: grid.Permanent, Reason: "not enough of gpu:a100", Asked: "1", Available: "0"}},
		{Question{Demand: grid.Demand{Chunks: []grid.Chunk{{Count: 2, Resources: []grid.Resource{{Name: "fpga", Amount: 3}}}}}},
			&grid.Refusal{Kind: grid.Permanent, Reason: "not enough of fpga", Asked: "6", Available: "0"}},
		{Question{Demand: with(demand(1, 1, 0), "", "fast", "huge")}, &grid.Refusal{Kind: grid.Permanent, Reason: "no node with these properties", Asked: "fast huge", Available: "0"}},
		{Question{Demand: with(demand(5, 1, 0), "", "fast")}, &grid.Refusal{Kind: grid.Permanent, Reason: "too few processors", Asked: "5", Available: "4", TooWide: true}},
		{Question{Demand: with(demand(5, 1, 0), "arm")}, &grid.Refusal{Kind: grid.Permanent, Reason: "too few processors", Asked: "5", Available: "4", TooWide: true}},
		{Question{Demand: with(demand(1, 1, 0), "ppc64")}, &grid.Refusal{Kind: grid.Permanent, Reason: "wrong architecture", Asked: "ppc64", Available: "x86_64 arm"}},
		{Question{Demand: whole}, nil},
		{Question{Demand: demand(1, 1, 0), NotBefore: Horizon + 1}, &grid.Refusal{Kind: grid.Permanent, Reason: "beyond the horizon of 10 years"}},
	} {
		if _, got := Build(s).Ask(c.q); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%+v: refusal %+v, want %+v", c.q, got, c.want)
		}
	}
	s.Reservations = []Reservation{{Start: 0, End: Horizon + 2*second, Shares: []Share{{Node: 0, Cores: 4}}}}
	if _, r := Build(s).Ask(Question{Demand: demand(5, 1, 0), Limit: 1}); r == nil || r.Reason != "beyond the horizon of 10 years" {
		t.Errorf("behind a reservation of more than ten years: %v", r)
	}
}

// a has a reservation on node 0 from 50 on, for longer than its reservation; an
// outage takes node 1 from 30 to 40. b fits before the reservation, c does not, d
// fits before the outage.
func TestReservationsAreKept(t *testing.T) {
	t.Parallel()
	s := Snapshot{
		Nodes: nodes(2, 2), Policy: Policy{Kind: EASY},
		Waiting: []Waiting{
			{Job: "a", Demand: demand(2, 1, 0), Limit: 100},
			{Job: "b", Demand: demand(2, 1, 0), Limit: 50},
			{Job: "c", Demand: demand(1, 2, 0), Limit: 60},
			{Job: "d", Demand: demand(1, 1, 0), Limit: 30},
		},
		Reservations: []Reservation{
			{Job: "a", Start: 50, End: 60, Shares: []Share{{Node: 0, Cores: 2}}},
			{ID: "outage", Start: 30, End: 40, Shares: []Share{{Node: 1, Cores: 2}}},
		},
	}
	p := Build(s)
	for job, want := range map[grid.JobID]grid.Tick{"a": 50, "b": 0, "c": 40, "d": 0} {
		if at, ok := p.Start(job); !ok || at != want {
			t.Errorf("%s starts at %d, %v; want %d", job, at, ok, want)
		}
	}
	if a, _ := p.Waiting(0); len(a.Shares) != 1 || a.Shares[0].Node != 0 {
		t.Errorf("a is on %v, not on the node reserved for it", a.Shares)
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

// The plan answers as if the job had come, at the end of the queue.
func TestAskLikeNaiveTwin(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"fcfs", "firstfit", "easy", "easy:3", "cons-rebuild", "cons-compress"} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				s := drawSnapshot(t, 1)
				s.Policy = policyOf(t, text)
				if s.Policy.conservative() { // which knows no job that misses its reservation
					for i := range s.Reservations {
						s.Reservations[i].Job = ""
					}
				}
				q := drawQuestion(t, s)
				var believe belief
				// A reservation of one more job would keep those that are compressed apart.
				if s.Policy.Kind != ConsCompress && rapid.Bool().Draw(t, "likely") {
					believe = drawBelief(t)
				}
				start, refusal := Likely(s, runsBy(&s, believe)).Ask(q)
				w := newTwin(s, []Question{q}, believe)
				want := w.run()
				if twin := want[len(want)-1]; refusal == nil && twin != start || refusal != nil && twin >= 0 {
					t.Fatalf("%+v\n%+v\n%s: start %d %v, the twin says %d", s, q, text, start, refusal, twin)
				}
			})
		})
	}
}
