package plan

import (
	"reflect"
	"testing"

	"pgregory.net/rapid"

	"gbroker/grid"
)

// The first answer of a batch is that of the plan; where nobody waits, the answers
// that follow are those of the plan run forward with each job come.
func TestBatchAgreesWithThePlanRunForward(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawSnapshot(t, 1)
		p := Build(s)
		q := Question{Demand: drawDemand(t, 1, false), Limit: grid.Tick(rapid.IntRange(1, 60).Draw(t, "limit")),
			NotBefore: s.At + grid.Tick(rapid.IntRange(0, 80).Draw(t, "delivery"))}
		start, refusal := p.Ask(q)
		b := p.Batch()
		got, gotRefusal := b.Ask(q)
		if got != start || (refusal == nil) != (gotRefusal == nil) {
			t.Fatalf("the batch says %v %v, the plan %v %v", got, gotRefusal, start, refusal)
		}
		if refusal != nil || len(s.Waiting)+len(s.Reservations) > 0 {
			return
		}
		q.NotBefore = s.At
		b = p.Batch()
		later := []Question{q, q, q, q, q, q}
		want := newTwin(s, later, nil).run() // equal jobs are started in their order: who comes later moves none before
		for i := range later {
			if got, _ := b.Ask(q); got != want[i] {
				t.Fatalf("equal job %d: the batch says %v, the plan run forward %v", i+1, got, want[i])
			}
		}
	})
}

// Where nobody waits, what is promised and what runs never take more than there is.
func TestBatchNeverAllocatesMoreThanThereIs(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawSnapshot(t, 2)
		s.Waiting = nil
		b := Build(s).Batch()
		type promised struct {
			start, end grid.Tick
			cores      int
		}
		var all []promised
		capacity := 0
		for _, n := range s.Nodes {
			if !n.Down {
				capacity += n.Cores
			}
		}
		for range 8 {
			q := Question{Demand: drawDemand(t, 2, false), Limit: grid.Tick(rapid.IntRange(1, 60).Draw(t, "limit")),
				NotBefore: s.At + grid.Tick(rapid.IntRange(0, 80).Draw(t, "delivery"))}
			start, refusal := b.Ask(q)
			if refusal != nil {
				continue
			}
			if start < q.NotBefore {
				t.Fatalf("it starts at %v, before its files are there at %v", start, q.NotBefore)
			}
			all = append(all, promised{start, start + q.Limit, coresOf(q.Demand)})
		}
		for _, at := range all {
			used := 0
			for _, o := range all {
				if o.start <= at.start && at.start < o.end {
					used += o.cores
				}
			}
			if used > capacity {
				t.Fatalf("at %v %d cores are promised of %d", at.start, used, capacity)
			}
		}
	})
}

func coresOf(d grid.Demand) (n int) {
	for _, c := range d.Chunks {
		n += c.Count * max(c.Cores, 1)
	}
	return n
}

func BenchmarkBatchOf256(b *testing.B) {
	s := Snapshot{At: 1000, Site: grid.Site{Speed: 1}}
	for range 10 {
		s.Nodes = append(s.Nodes, Node{Name: "n", Cores: 8})
	}
	one := grid.Demand{Chunks: []grid.Chunk{{Count: 1, Processes: 1, Cores: 1}}}
	for i := range 3000 {
		s.Waiting = append(s.Waiting, Waiting{Demand: grid.Demand{Chunks: []grid.Chunk{{Count: 1 + i%16, Processes: 1, Cores: 1}}}, Limit: grid.Tick(1000 + i*7919%100000)})
	}
	p := Build(s)
	b.ReportAllocs()
	for b.Loop() {
		batch := p.Batch()
		for range 256 {
			batch.Ask(Question{Demand: one, Limit: 5000, NotBefore: s.At})
		}
	}
}

// Who would start too late does not come: the next is answered as by the plan. Who comes in time counts as ever.
func TestBatchWithoutWhoStays(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawSnapshot(t, 2)
		p := Build(s)
		draw := func() Question {
			return Question{Demand: drawDemand(t, 2, false), Limit: grid.Tick(rapid.IntRange(1, 60).Draw(t, "limit")), NotBefore: s.At + 1}
		}
		first, next := draw(), draw()
		start, refusal := p.Ask(first)
		if refusal != nil {
			return
		}
		answer := func(before grid.Tick) grid.Tick {
			b := p.Batch()
			q := first
			q.Before = before
			if got, _ := b.Ask(q); got != start {
				t.Fatalf("to start before %v it says %v, and %v else", before, got, start)
			}
			at, _ := b.Ask(next)
			return at
		}
		alone, _ := p.Ask(next)
		if got := answer(start); got != alone {
			t.Fatalf("behind one that stays %v, alone %v", got, alone)
		}
		if got, want := answer(start+1), answer(0); got != want {
			t.Fatalf("behind one that comes in time %v, in any case %v", got, want)
		}
	})
}

// As long as nobody comes, each answer of a row is that of the plan, whatever was asked before it.
func TestBatchToWhichNobodyComesAnswersAsThePlan(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawSnapshot(t, 2)
		p := Build(s)
		b := p.Batch()
		for k := range 8 {
			q := Question{Demand: drawDemand(t, 2, true), Limit: grid.Tick(rapid.IntRange(1, 60).Draw(t, "limit")),
				NotBefore: s.At + grid.Tick(rapid.IntRange(1, 80).Draw(t, "delivery"))}
			start, refusal := p.Ask(q)
			q.Before = q.NotBefore // never 0, which were in any case
			got, gotRefusal := b.Ask(q)
			if got != start || !reflect.DeepEqual(refusal, gotRefusal) {
				t.Fatalf("question %d: the batch says %v %v, the plan %v %v", k+1, got, gotRefusal, start, refusal)
			}
		}
	})
}
