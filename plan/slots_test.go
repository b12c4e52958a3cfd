package plan

import (
	"reflect"
	"slices"
	"testing"
	"time"

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
		{Site: "a", Node: "n0", Start: 10 * second, End: 30 * second, Cores: 2, Price: 8},
		{Site: "a", Node: "n0", Start: 30 * second, End: 40 * second, Cores: 2, Price: 2},
		{Site: "a", Node: "n1", Start: 10 * second, End: 15 * second, Cores: 1, Price: 2},
		{Site: "a", Node: "n1", Start: 10 * second, End: 15 * second, Cores: 2, Price: 22},
		{Site: "a", Node: "n1", Start: 15 * second, End: 40 * second, Cores: 2, Price: 2},
	}
	if got := p.Slots(&Pricing{Base: 2, Priority: 1}, grid.User{}, 0, 40*second); !reflect.DeepEqual(got, want) {
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
	for _, s := range p.Slots(nil, grid.User{}, 0, 40*second) {
		want := 2
		if s.Start >= 10*second && s.End <= 30*second {
			want = 1
		}
		if s.Cores != want || s.Price != 0 {
			t.Errorf("%+v, want %d cores for nothing", s, want)
		}
	}
}

// The rate follows the hour, the user and who is displaced; nobody is where nothing has a price.
func TestRates(t *testing.T) {
	t.Parallel()
	home := grid.PeerID("p")
	alice, bob, other := grid.User{Home: home, Name: "alice"}, grid.User{Home: home, Name: "bob"}, grid.User{Home: "q", Name: "alice"}
	p := &Pricing{
		Base: 2, Priority: 0.5, Users: map[grid.User]float64{alice: 0, {Home: home}: 3},
		Hours: []Hours{{22 * grid.Hour, 6 * grid.Hour, 0.5}, {12 * grid.Hour, 13 * grid.Hour, 2}},
		Zone:  time.FixedZone("", 3600),
	}
	at := func(hour grid.Tick) grid.Tick { return 400*grid.Day + (hour-1)*grid.Hour }
	for _, c := range []struct {
		hour     grid.Tick
		user     grid.User
		priority int64
		want     float64
	}{
		{8, other, 0, 2}, {12, other, 0, 4}, {13, other, 0, 2}, {22, other, 0, 1}, {1, other, 0, 1}, {6, other, 0, 2},
		{8, alice, 4, 0}, {8, bob, 0, 6}, {8, bob, 4, 18}, {8, other, -3, 2},
	} {
		if got := p.displacing(at(c.hour), c.user, c.priority); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
	if got, want := p.changes(at(5), at(13)), []grid.Tick{at(6), at(12)}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	plan := Build(Snapshot{At: at(5), Nodes: nodes(1, 1), Waiting: []Waiting{{Demand: demand(1, 1, 0), Limit: 2 * grid.Hour, Priority: 4}}})
	var got []float64
	for _, s := range plan.Slots(p, other, at(5), at(8)) {
		got = append(got, s.Price)
	}
	if want := []float64{3, 6, 2}; !slices.Equal(got, want) {
		t.Errorf("rates of %v, want %v", got, want)
	}
	if got := plan.Slots(nil, other, at(5), at(8)); len(got) != 1 || got[0].Start != at(7) || got[0].Price != 0 {
		t.Errorf("without prices %+v", got)
	}
}

// Between two changes the rate is the same, also on days on which the clock is put forward or back.
func TestRatesOfOddDays(t *testing.T) {
	t.Parallel()
	for name, day := range map[string]time.Time{
		"America/New_York": time.Date(2026, 3, 8, 0, 0, 0, 0, time.UTC), "Europe/Berlin": time.Date(2026, 10, 25, 0, 0, 0, 0, time.UTC),
	} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			t.Fatal(err)
		}
		p := &Pricing{Base: 1, Hours: []Hours{{2 * grid.Hour, 2*grid.Hour + 30*grid.Minute, 3}, {22 * grid.Hour, 6 * grid.Hour, 0.5}}, Zone: zone}
		from := grid.InstantOf(day) - 12*grid.Hour + 7
		to := from + 3*grid.Day
		changes := p.changes(from, to)
		for at := from; at < to; at += grid.Minute {
			since := from
			for _, c := range changes {
				if c <= at {
					since = c
				}
			}
			if got, want := p.Rate(at, grid.User{}), p.Rate(since, grid.User{}); got != want {
				t.Fatalf("%s: at %v the rate is %v, and %v since the change before, %v", name, at.Time().In(zone), got, want, since.Time().In(zone))
			}
		}
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
		slots := p.Slots(&Pricing{Base: 1, Priority: 1}, grid.User{}, s.At, s.At+300)
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
						if gotAll = x; x.Price == 1 {
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
