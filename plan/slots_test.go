package plan

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"gbroker/grid"

	"pgregory.net/rapid"
)

const second = grid.Second

// On n0 a job runs until 10; a waiting one wants both cores from then to 30. n1 is shared: a
// job of one core waits there too, beside which the other is left.
func TestSlotsAreWorthWhatWaitsForThem(t *testing.T) {
	t.Parallel()
	p := Build(Snapshot{
		Site: grid.Site{Name: "a"}, Nodes: []Node{{Name: "n0", Cores: 2}, {Name: "n1", Cores: 2, Properties: []string{"big"}}, {Name: "off", Cores: 2, Down: true}},
		Running: []Running{{Shares: []Share{{Node: 0, Cores: 1}, {Node: 1, Cores: 2}}, End: 10 * second}},
		Waiting: []Waiting{
			{Job: "w", Demand: demand(1, 2, 0), Limit: 20 * second, Priority: 3},
			{Job: "x", Demand: grid.Demand{Chunks: demand(1, 1, 0).Chunks, Properties: []string{"big"}}, Limit: 5 * second, Priority: 10},
		},
	})
	want := []grid.Slot{
		{Site: "a", Node: "n0", Start: 0, End: 10 * second, Cores: 1, Price: 2},
		{Site: "a", Node: "n0", Start: 10 * second, End: 30 * second, Cores: 2, Price: 120},
		{Site: "a", Node: "n0", Start: 30 * second, End: 40 * second, Cores: 2, Price: 2},
		{Site: "a", Node: "n1", Start: 10 * second, End: 15 * second, Cores: 1, Price: 2},
		{Site: "a", Node: "n1", Start: 10 * second, End: 15 * second, Cores: 2, Price: 50},
		{Site: "a", Node: "n1", Start: 15 * second, End: 40 * second, Cores: 2, Price: 2},
	}
	if got := p.Slots(Pricing{Base: 2}, 0, 40*second); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
}

// What is reserved for a job that waits is not for sale, neither before the job begins nor after.
func TestSlotsLeaveReservationsOut(t *testing.T) {
	t.Parallel()
	p := Build(Snapshot{
		Nodes:        nodes(1, 2),
		Waiting:      []Waiting{{Job: "w", Demand: demand(1, 1, 0), Limit: 20 * second, Priority: 1}},
		Reservations: []Reservation{{Job: "w", Shares: []Share{{Node: 0, Cores: 1}}, Start: 10 * second, End: 15 * second}},
	})
	for _, s := range p.Slots(Pricing{}, 0, 40*second) {
		want := 2
		if s.Start >= 10*second && s.End <= 30*second {
			want = 1
		}
		if s.Cores != want || s.Price != 0 {
			t.Errorf("%+v, want %d cores for nothing", s, want)
		}
	}
}

// The owner's function decides, and sees the whole job.
func TestOwnerDecidesThePrice(t *testing.T) {
	t.Parallel()
	p := Build(Snapshot{Nodes: nodes(2, 1), Waiting: []Waiting{{Job: "w", Demand: demand(2, 1, 0), Limit: 10 * second, Priority: 3}}})
	var asked []Displaced
	prices := Pricing{Of: func(d Displaced) float64 { asked = append(asked, d); return d.Whole }}
	if got := p.Slots(prices, 5*second, 10*second); len(got) != 2 || got[0].Price != 20 || got[1].Price != 20 {
		t.Errorf("%v", got)
	}
	if want := []Displaced{{3, 5, 20}, {3, 5, 20}}; !reflect.DeepEqual(asked, want) {
		t.Errorf("asked about %v, want %v", asked, want)
	}
	for _, price := range []float64{math.NaN(), math.Inf(1)} {
		prices.Of = func(Displaced) float64 { return price }
		if got := p.Slots(prices, 0, 10*second); len(got) != 0 {
			t.Errorf("for %v it sells %v", price, got)
		}
	}
}

// A job that is worth less than nothing takes nothing off the price of another; and in
// which order the jobs are told does not matter, to the last digit.
func TestPriceOfSeveralJobs(t *testing.T) {
	t.Parallel()
	price := func(priorities ...float64) float64 {
		var waiting []Displaced
		for _, p := range priorities {
			waiting = append(waiting, Displaced{Priority: p, CoreSeconds: 1})
		}
		return Pricing{}.price(waiting)
	}
	if got := price(5, -4); got != 5 {
		t.Errorf("jobs of priority 5 and -4: %v", got)
	}
	if a, b := price(0.1, 0.2, 0.3), price(0.3, 0.2, 0.1); a != b {
		t.Errorf("in two orders %v and %v", a, b)
	}
}

// At every instant, on every node: what is for sale beyond all prices is what running jobs
// and reservations leave, and what is for the base price is that less what is planned; and
// the slots make a market.
func TestSlotsCoverWhatIsForSale(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawSnapshot(t, 2)
		s.Site.Name = "a"
		s.Policy = drawPolicy(t, Kind(rapid.IntRange(int(FCFS), int(ConsCompress)).Draw(t, "kind")))
		s.Reservations = slices.DeleteFunc(s.Reservations, func(r Reservation) bool { return r.Job != "" })
		for i := range s.Waiting {
			s.Waiting[i].Priority = int64(i + 1)
		}
		p := Build(s)
		w := newTwin(Snapshot{At: s.At, Site: s.Site, Nodes: s.Nodes, Running: s.Running, Reservations: s.Reservations}, nil, nil)
		fixed := slices.Clone(w.ran)
		for i := range s.Waiting {
			if got, ok := p.Waiting(i); ok {
				w.ran = append(w.ran, twinRun{shares: got.Shares, start: got.Start, end: got.End, until: got.End})
			}
		}
		planned := w.ran
		slots := p.Slots(Pricing{}, s.At, s.At+300)
		if _, err := NewMarket([]SlotSite{{grid.Site{Name: "a", Speed: 1}, s.Nodes}}, slots); err != nil {
			t.Fatal(err)
		}
		for at := s.At; at < s.At+300; at++ {
			for n, node := range s.Nodes {
				w.ran = fixed
				all := usedBy(w, node, n, at)
				w.ran = planned
				cheap := usedBy(w, node, n, at)
				var gotAll, gotCheap grid.Slot
				for _, x := range slots {
					if x.Node == node.Name && x.Start <= at && at < x.End {
						if gotAll = x; x.Price == 0 {
							gotCheap = x
						}
					}
				}
				for name, c := range map[string][2]vec{"all": {all, slotVec(gotAll, node)}, "cheap": {cheap, slotVec(gotCheap, node)}} {
					want, got := c[0], c[1]
					if node.Down || want["cores"] <= 0 {
						want = vec{}
					}
					for what := range vecOf(1, 1, []grid.Resource{{Name: "gpu", Amount: 1}}) {
						if free := max(want[what], 0); got[what] != free && free < unlimited/2 {
							t.Fatalf("node %d at %d, %s: %d of %s, want %d; %+v", n, at, name, got[what], what, free, slots)
						}
					}
				}
			}
		}
	})
}

func slotVec(s grid.Slot, n Node) vec {
	if s.Cores == 0 {
		return vec{}
	}
	return vecOf(s.Cores, s.Memory, s.Resources)
}
