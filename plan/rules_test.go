package plan

import (
	"fmt"
	"math"
	"testing"

	"gbroker/grid"
)

// Of several chunks the placer may miss a place that there is. The head was promised
// nodes 1 and 0, in which order its chunks fit; at its time it is tried on 0 and 1
// first, and node 2 was given to a long job. It starts where it was promised to.
func TestHeadStartsWhereItWasKept(t *testing.T) {
	t.Parallel()
	s := Snapshot{
		Policy: Policy{Kind: EASY},
		Nodes:  []Node{{Name: "n0", Cores: 2, Memory: 4}, {Name: "n1", Cores: 2, Memory: 1}, {Name: "n2", Cores: 2, Memory: 4}},
		Running: []Running{
			{Shares: []Share{{Node: 0, Cores: 2}}, End: 10},
			{Shares: []Share{{Node: 1, Cores: 2}}, End: 10},
		},
		Waiting: []Waiting{
			{Job: "head", Demand: grid.Demand{Chunks: []grid.Chunk{{Count: 1, Cores: 2, Memory: 1}, {Count: 1, Cores: 1, Memory: 4}}}, Limit: 10},
			{Job: "long", Demand: demand(1, 2, 0), Limit: 100},
		},
	}
	p := Build(s)
	for job, want := range map[grid.JobID]grid.Tick{"head": 10, "long": 0} {
		if at, ok := p.Start(job); !ok || at != want {
			t.Errorf("%s starts at %d, %v; want %d", job, at, ok, want)
		}
	}
}

// Node 0 is reserved from 50 on, node 1 is busy, and the head needs both. In a long
// queue who does not fit beside the reservation says nothing of those that are shorter.
func TestShorterOnesAreLookedAtBesideAReservation(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"firstfit", "easy", "easy:2", "easysjbf"} {
		s := Snapshot{
			Policy:       policyOf(t, text),
			Nodes:        nodes(2, 1),
			Running:      []Running{{Shares: []Share{{Node: 1, Cores: 1}}, End: 1000}},
			Reservations: []Reservation{{Shares: []Share{{Node: 0, Cores: 1}}, Start: 50, End: 100}},
			Waiting:      []Waiting{{Job: "head", Demand: demand(2, 1, 0), Limit: 10}},
		}
		for i := range shortQueue + 4 {
			s.Waiting = append(s.Waiting, Waiting{Job: grid.JobID(fmt.Sprint(i)), Demand: demand(1, 1, 0), Limit: 60})
		}
		s.Waiting = append(s.Waiting, Waiting{Job: "short", Demand: demand(1, 1, 0), Limit: 50})
		if at, ok := Build(s).Start("short"); !ok || at != 0 {
			t.Errorf("%s: the short job starts at %d, %v; want 0", text, at, ok)
		}
	}
}

// Who was overtaken as often as may be bars one more job too, until it starts.
func TestAskBehindABarrier(t *testing.T) {
	t.Parallel()
	s := Snapshot{
		Policy:  Policy{Kind: FirstFit, Overtakes: 2},
		Nodes:   nodes(1, 2),
		Running: []Running{{Shares: []Share{{Node: 0, Cores: 1}}, End: 100}},
		Waiting: []Waiting{{Job: "wide", Demand: demand(1, 2, 0), Limit: 10}},
	}
	for overtaken, want := range []grid.Tick{0, 0, 110} {
		s.Waiting[0].Overtaken = overtaken
		if at, refusal := Build(s).Ask(Question{Demand: demand(1, 1, 0), Limit: 5}); refusal != nil || at != want {
			t.Errorf("overtaken %d times: %d, %v; want %d", overtaken, at, refusal, want)
		}
	}
}

// What runs may run until 100 and is believed to end at 10, when wide starts. Until then
// wide's reservation stands at 100, and one more job backfills, also one that is believed
// to run beyond 10. In a plan by limits it could as well.
func TestAskBesideWhoStartsSooner(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"easy", "easy:2", "cons-rebuild", "cons-compress"} {
		s := Snapshot{
			Policy:  policyOf(t, text),
			Nodes:   nodes(1, 4),
			Running: []Running{{Shares: []Share{{Node: 0, Cores: 3}}, End: 100}},
			Waiting: []Waiting{{Job: "wide", Demand: demand(1, 4, 0), Limit: 50}},
		}
		p := Likely(s, runsBy(&s, func(_ Trait, elapsed grid.Tick) grid.Tick { return max(10, elapsed+1) }))
		if at, _ := p.Start("wide"); at != 10 {
			t.Errorf("%s: wide starts at %d; want 10", text, at)
		}
		for limit, want := range map[grid.Tick]grid.Tick{100: 0, 101: 20} {
			if at, refusal := p.Ask(Question{Demand: demand(1, 1, 0), Limit: limit}); refusal != nil || at != want {
				t.Errorf("%s: one more of %d starts at %d, %v; want %d", text, limit, at, refusal, want)
			}
		}
	}
}

// At 10 a starts in its reservation, which so is left for c: it has to be given before
// d, who would keep c waiting, is looked at.
func TestAReservationThatIsLeftIsGivenAtOnce(t *testing.T) {
	t.Parallel()
	s := Snapshot{
		Policy:  Policy{Kind: EASY, Reservations: 2},
		Nodes:   nodes(1, 4),
		Running: []Running{{Shares: []Share{{Node: 0, Cores: 4}}, End: 10}},
		Waiting: []Waiting{
			{Job: "a", Demand: demand(1, 3, 0), Limit: 10},
			{Job: "b", Demand: demand(1, 3, 0), Limit: 10},
			{Job: "c", Demand: demand(1, 4, 0), Limit: 10},
			{Job: "d", Demand: demand(1, 1, 0), Limit: 100},
		},
	}
	p := Build(s)
	for job, want := range map[grid.JobID]grid.Tick{"a": 10, "b": 20, "c": 30, "d": 40} {
		if at, ok := p.Start(job); !ok || at != want {
			t.Errorf("%s starts at %d, %v; want %d", job, at, ok, want)
		}
	}
}

// Numbers from outside may be anything: a plan is made of them, and who waits for what
// never ends is told so.
func TestPlanOfAbsurdNumbers(t *testing.T) {
	t.Parallel()
	const at = 1_700_000_000_000
	for _, last := range []grid.Tick{math.MaxInt64, never - 1} {
		for kind := FCFS; kind <= ConsCompress; kind++ {
			s := Snapshot{
				At: at, Policy: Policy{Kind: kind}, Nodes: nodes(3, 1),
				Running: []Running{{Shares: []Share{{Node: 0, Cores: 1}}, Start: math.MinInt64, End: last}},
				Waiting: []Waiting{
					{Job: "long", Demand: demand(1, 1, 0), Limit: last},
					{Job: "late", Demand: demand(1, 1, 0), Limit: last},
					{Job: "wide", Demand: demand(3, 1, 0), Limit: last},
				},
				Reservations: []Reservation{
					{Shares: []Share{{Node: 1, Cores: 1}}, Start: last - 1, End: last},
					{Job: "late", Shares: []Share{{Node: 2, Cores: 1}}, Start: last - 1, End: last},
				},
			}
			for _, run := range []grid.Tick{math.MinInt64, last} {
				p := Likely(s, runsBy(&s, func(Trait, grid.Tick) grid.Tick { return run }))
				if got, ok := p.Waiting(2); ok && (got.Start < at || got.End <= got.Start) {
					t.Errorf("%v, believing %d: wide is planned from %d to %d", s.Policy, run, got.Start, got.End)
				}
			}
			for _, q := range []Question{{Limit: last}, {Limit: 1, NotBefore: last}, {Limit: math.MinInt64, NotBefore: math.MinInt64}} {
				q.Demand = demand(3, 1, 0)
				if start, refusal := Build(s).Ask(q); refusal == nil || refusal.Reason != "beyond the horizon of 10 years" {
					t.Errorf("%v, %+v: %d, %v", s.Policy, q, start, refusal)
				}
			}
		}
	}
}

func TestReservationsAndQueues(t *testing.T) {
	t.Parallel()
	share := func(cores int) []Share { return []Share{{Node: 0, Cores: cores}} }
	for _, c := range []struct {
		name string
		s    Snapshot
		want map[grid.JobID]grid.Tick // -1: never
	}{
		{"nodes are kept for all of the limit of who has a reservation", Snapshot{
			Policy: Policy{Kind: EASY}, Nodes: nodes(1, 2),
			Waiting: []Waiting{
				{Job: "a", Demand: demand(1, 1, 0), Limit: 30},
				{Job: "head", Demand: demand(1, 2, 0), Limit: 11},
				{Job: "beside", Demand: demand(1, 1, 0), Limit: 30},
			},
			Reservations: []Reservation{{Job: "a", Shares: share(1), Start: 10, End: 20}},
		}, map[grid.JobID]grid.Tick{"a": 10, "head": 40, "beside": 0}},
		{"a reservation made for when a late job with one should have ended gives way", Snapshot{
			At: 50, Policy: Policy{Kind: ConsRebuild}, Nodes: nodes(1, 1),
			Running: []Running{{Shares: share(1), End: 60}},
			Waiting: []Waiting{
				{Job: "a", Demand: demand(1, 1, 0), Limit: 30},
				{Job: "behind", Demand: demand(1, 1, 0), Limit: 10},
			},
			Reservations: []Reservation{{Job: "a", Shares: share(1), Start: 40, End: 70}},
		}, map[grid.JobID]grid.Tick{"a": 60, "behind": 90}},
		{"who was in the way of another's reservation, and gives up, lets it start at once", Snapshot{
			Policy: Policy{Kind: FCFS}, Nodes: nodes(1, 1),
			Waiting: []Waiting{
				{Job: "a", Demand: demand(1, 1, 0), Limit: 2},
				{Job: "b", Demand: demand(1, 1, 0), Limit: 3},
			},
			Reservations: []Reservation{
				{Job: "a", Shares: share(1), Start: 0, End: 4},
				{Job: "b", Shares: share(1), Start: 1, End: 2},
			},
		}, map[grid.JobID]grid.Tick{"a": 2, "b": 4}},
		{"a job that runs in its reservation takes its cores once", Snapshot{
			Policy: Policy{Kind: EASY}, Nodes: nodes(1, 2),
			Running:      []Running{{Job: "r", Shares: share(1), End: 10}},
			Waiting:      []Waiting{{Job: "w", Demand: demand(1, 1, 0), Limit: 5}},
			Reservations: []Reservation{{Job: "r", Shares: share(1), Start: 0, End: 10}},
		}, map[grid.JobID]grid.Tick{"w": 0}},
		{"who is longer than its queue allows never starts, and blocks nobody", Snapshot{
			Policy: Policy{Kind: FCFS}, Nodes: nodes(1, 1), Queues: []Queue{{Name: "q", Limit: 10}},
			Waiting: []Waiting{
				{Job: "long", Queue: "q", Demand: demand(1, 1, 0), Limit: 11},
				{Job: "right", Queue: "q", Demand: demand(1, 1, 0), Limit: 10},
			},
		}, map[grid.JobID]grid.Tick{"long": -1, "right": 0}},
	} {
		p := Build(c.s)
		for job, want := range c.want {
			at, ok := p.Start(job)
			if !ok {
				at = -1
			}
			if at != want {
				t.Errorf("%s: %s starts at %d, want %d", c.name, job, at, want)
			}
		}
	}
}

// Under cons-compress a job that moves leaves room, on which those before it in the queue
// are tried when the next job ends, also where that one ends as it was promised to. Of 2
// cores job 0 has one until 3, the others follow for 1 each; it ends at 1. Then jobs 3
// and 4 move, but 5, which wants both cores, finds 6 at 3, which moves only after it.
func TestCompressGoesOnWhereRoomWasLeft(t *testing.T) {
	t.Parallel()
	s := Snapshot{Nodes: nodes(1, 2), Policy: Policy{Kind: ConsCompress}}
	for i, cores := range []int{1, 1, 1, 1, 1, 2, 1} {
		limit := grid.Tick(1)
		if i == 0 {
			limit = 3
		}
		s.Waiting = append(s.Waiting, Waiting{Job: grid.JobID(fmt.Sprint(i)), Demand: demand(cores, 1, 0), Limit: limit})
	}
	p := Likely(s, runsBy(&s, func(_ Trait, elapsed grid.Tick) grid.Tick { return elapsed + 1 }))
	for i, want := range []grid.Tick{0, 0, 1, 1, 2, 3, 2} {
		if at, _ := p.Start(s.Waiting[i].Job); at != want {
			t.Errorf("job %d starts at %d, want %d", i, at, want)
		}
	}
}
