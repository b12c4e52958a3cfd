package plan

import (
	"fmt"
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
