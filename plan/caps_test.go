package plan

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"gbroker/grid"
)

var capPolicies = []Policy{
	{Kind: FCFS}, {Kind: FirstFit}, {Kind: FirstFit, Overtakes: 3}, {Kind: EASY}, {Kind: EASY, Reservations: 3}, {Kind: EASYSJBF}, {Kind: ConsRebuild}, {Kind: ConsCompress},
}

// Six parts of an array of which two run at a time, on a site with room for all: they go by
// twos, others pass them, and one more job waits for them only where it falls under their cap.
func TestCapsOfAnArray(t *testing.T) {
	t.Parallel()
	for _, policy := range capPolicies {
		s := Snapshot{
			At: 1000, Policy: policy, Nodes: []Node{{Name: "n", Cores: 16}}, Caps: []Cap{{Most: 2, Why: "two of 7[]"}},
			Queues: []Queue{{Name: "capped", Ours: []int{0}}},
		}
		for range 6 {
			s.Waiting = append(s.Waiting, Waiting{Demand: demand(1, 1, 0), Limit: 10 * grid.Second, Caps: []int{0}})
		}
		s.Waiting = append(s.Waiting, Waiting{Demand: demand(4, 1, 0), Limit: 10 * grid.Second})
		p := Build(s)
		var starts []grid.Tick
		for i := range s.Waiting {
			at, ok := p.Waiting(i)
			if !ok {
				t.Fatalf("%v: %d never starts", policy, i)
			}
			starts = append(starts, (at.Start-s.At)/grid.Second)
		}
		if want := []grid.Tick{0, 0, 10, 10, 20, 20, 0}; !slices.Equal(starts, want) {
			t.Errorf("%v: they start at %v", policy, starts)
		}
		b := p.Batch()
		for i, want := range []struct {
			queue grid.QueueName
			at    grid.Tick
		}{{"", 0}, {"capped", 30}, {"capped", 30}, {"capped", 40}, {"", 0}} {
			at, r := b.Ask(Question{Demand: demand(1, 1, 0), Queue: want.queue, Limit: 10 * grid.Second, NotBefore: s.At})
			if r != nil || (at-s.At)/grid.Second != want.at {
				t.Errorf("%v: question %d: %d s, %+v", policy, i, (at-s.At)/grid.Second, r)
			}
		}
		s.Caps[0] = Cap{Most: 3, Cores: true, Why: "cores of alice"}
		if _, r := Build(s).Ask(Question{Demand: demand(4, 1, 0), Queue: "capped", Limit: grid.Second, NotBefore: s.At}); r == nil || r.Reason != "beyond a limit: cores of alice" || r.Asked != "4" || r.Available != "3" {
			t.Errorf("%v: what is more than the limit: %+v", policy, r)
		}
	}
}

// At no instant more runs than the caps allow, whatever the policy; and caps that nobody
// reaches change nothing.
func TestCapsHold(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 7))
		s := Snapshot{At: 1000, Policy: capPolicies[seed%uint64(len(capPolicies))], Caps: []Cap{{Most: r.Int64N(3) + 1}, {Most: r.Int64N(8) + 4, Cores: true}}}
		for i := range 1 + r.IntN(3) {
			s.Nodes = append(s.Nodes, Node{Name: grid.NodeName(fmt.Sprint(i)), Cores: 4})
		}
		some := func() (caps []int) {
			for c := range s.Caps {
				if r.IntN(2) == 0 {
					caps = append(caps, c)
				}
			}
			return caps
		}
		for i := range s.Nodes {
			s.Running = append(s.Running, Running{Start: 500, End: 1000 + grid.Tick(r.IntN(20)), Shares: []Share{{Node: i, Processes: 1, Cores: 1 + r.IntN(4)}}, Caps: some()})
		}
		for range r.IntN(25) {
			s.Waiting = append(s.Waiting, Waiting{Demand: demand(1+r.IntN(4), 1, 0), Limit: grid.Tick(1 + r.IntN(30)), Caps: some()})
		}
		believe := func(Trait, grid.Tick) grid.Tick { return grid.Tick(1 + seed%9) }
		for _, p := range []*Plan{Build(s), Likely(s, runsBy(&s, believe))} {
			capsKept(t, seed, s, p)
		}
		free := s
		free.Caps = []Cap{{Most: 1000}, {Most: 1000, Cores: true}}
		none := s
		none.Caps = nil
		for i := range s.Waiting {
			a, ok1 := Build(free).Waiting(i)
			b, ok2 := Build(none).Waiting(i)
			if ok1 != ok2 || !reflect.DeepEqual(a, b) {
				t.Fatalf("seed %d: job %d is at %+v, and without caps at %+v", seed, i, a, b)
			}
		}
	}
}

func capsKept(t *testing.T, seed uint64, s Snapshot, p *Plan) {
	t.Helper()
	type stretch struct {
		from, to grid.Tick
		cores    int64
		caps     []int
	}
	var all []stretch
	for i := range s.Running {
		all = append(all, stretch{s.At, p.allocations[i].end, runningCores(&s.Running[i]), s.Running[i].Caps})
	}
	for i, w := range s.Waiting {
		at, ok := p.Waiting(i)
		if ok {
			all = append(all, stretch{at.Start, at.End, int64(w.Demand.Cores()), w.Caps})
		} else if fits := w.Demand.Cores() <= 4*len(s.Nodes); fits && (!slices.Contains(w.Caps, 1) || int64(w.Demand.Cores()) <= s.Caps[1].Most) {
			t.Fatalf("seed %d: job %d never starts: %+v", seed, i, w)
		}
	}
	for c, limit := range s.Caps {
		for _, moment := range all[len(s.Running):] {
			var used int64
			for _, a := range all {
				if slices.Contains(a.caps, c) && a.from <= moment.from && moment.from < a.to {
					used += limit.weight(a.cores)
				}
			}
			if used > limit.Most && slices.Contains(moment.caps, c) {
				t.Fatalf("seed %d, %v: at %d cap %+v has %d", seed, s.Policy, moment.from, limit, used)
			}
		}
	}
}

// Who comes into the queue takes its place there, also before those that have a reservation.
func TestCapsKeepTheOrder(t *testing.T) {
	t.Parallel()
	for _, policy := range capPolicies {
		s := Snapshot{
			At: 1000, Policy: policy, Nodes: []Node{{Name: "n", Cores: 4}}, Caps: []Cap{{Most: 1}},
			Running: []Running{{Start: 0, End: 1010, Shares: []Share{{Cores: 4}}, Caps: []int{0}}},
		}
		for i := range 4 {
			s.Waiting = append(s.Waiting, Waiting{Demand: demand(4, 1, 0), Limit: 10})
			if i == 0 {
				s.Waiting[0].Caps = []int{0}
			}
		}
		p := Build(s)
		for i := range s.Waiting {
			if at, ok := p.Waiting(i); !ok || at.Start != 1010+grid.Tick(10*i) {
				t.Errorf("%v: job %d starts at %d, %v", policy, i, at.Start, ok)
			}
		}
	}
}
