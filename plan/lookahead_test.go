package plan

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"gbroker/grid"

	"pgregory.net/rapid"
)

// naiveLookahead asks for one job after the other, each time of offers from which all that was taken is cut by hand.
func naiveLookahead(jobs []Waits, offers ...[]Offered) []Allocated {
	out := make([]Allocated, len(jobs))
	var left [][]Offered
	for _, list := range offers {
		left = append(left, slices.Clone(list))
	}
	pays := func(i int) float64 {
		if jobs[i].Fee == AnyFee {
			return 0
		}
		return jobs[i].Fee
	}
	done := make([]bool, len(jobs))
	for range jobs {
		next := -1
		for i := range jobs {
			if !done[i] && (next < 0 || pays(i) > pays(next) || pays(i) == pays(next) && jobs[i].Priority > jobs[next].Priority) {
				next = i
			}
		}
		done[next] = true
		out[next] = coallocate(&jobs[next].Wide, left[jobs[next].Offers], jobs[next].Alone)
		for _, list := range left {
			for _, p := range out[next].Parts {
				if j := slices.IndexFunc(list, func(o Offered) bool { return o.Site.Name == p.Site }); j >= 0 {
					list[j].Slots = cutByHand(list[j].Slots, p.Nodes, out[next].Start, out[next].Until)
				}
			}
		}
	}
	return out
}

func cutByHand(slots []grid.Slot, nodes []Taken, from, to grid.Tick) (left []grid.Slot) {
	for _, s := range slots {
		if !slices.ContainsFunc(nodes, func(n Taken) bool { return n.Node == s.Node }) {
			left = append(left, s)
			continue
		}
		before, after := s, s
		before.End, after.Start = min(s.End, from), max(s.Start, to)
		for _, x := range []grid.Slot{before, after} {
			if x.Start < x.End {
				left = append(left, x)
			}
		}
	}
	return left
}

// offeredToOthers is what the same sites offer to other jobs: not every node, nor at the same price.
func offeredToOthers(t *rapid.T, offers []Offered) (other []Offered) {
	for _, o := range offers {
		o.Slots = slices.DeleteFunc(slices.Clone(o.Slots), func(grid.Slot) bool { return rapid.IntRange(0, 4).Draw(t, "not offered") == 0 })
		for i := range o.Slots {
			o.Slots[i].Price = float64(rapid.IntRange(0, 4).Draw(t, "price"))
		}
		other = append(other, o)
	}
	return other
}

// What is kept from job to job changes nothing: each gets what it would of offers made anew.
func TestLookaheadEqualsTheNaive(t *testing.T) {
	t.Parallel()
	for range 10 {
		rapid.Check(t, func(t *rapid.T) {
			x := drawWide(t)
			offers := [][]Offered{x.offers, offeredToOthers(t, x.offers)}
			var jobs []Waits
			for i := range rapid.IntRange(1, 5).Draw(t, "jobs") {
				w := Waits{Wide: drawWide(t).w, Job: grid.JobID(fmt.Sprint(i)), Priority: rapid.IntRange(0, 2).Draw(t, "priority"), Offers: max(0, rapid.IntRange(-2, 1).Draw(t, "offers"))}
				if rapid.IntRange(0, 3).Draw(t, "any price") == 0 {
					w.Fee = AnyFee
				}
				w.Now, w.Link = x.w.Now, x.w.Link
				jobs = append(jobs, w)
			}
			want := naiveLookahead(jobs, offers...)
			for i, got := range Lookahead(jobs, 3, offers...) {
				if got.Job != jobs[i].Job || got.Start != want[i].Start || got.End != want[i].End || got.Until != want[i].Until || math.Abs(got.Cost-want[i].Cost) > 1e-12 {
					t.Fatalf("job %d: %+v, want %+v", i, got.Allocated, want[i])
				}
				if sites(got.Allocated) != sites(want[i]) || (got.Why == "") != (want[i].Why == "") {
					t.Fatalf("job %d: %v, want %v", i, sites(got.Allocated), sites(want[i]))
				}
			}
		})
	}
}

func sites(a Allocated) (s string) {
	for _, p := range a.Parts {
		s += fmt.Sprint(p.Site, p.Processes, " ")
		for _, n := range p.Nodes {
			s += fmt.Sprint(n.Node, n.Processes, " ")
		}
	}
	return s
}

// Two jobs want the same two nodes: who pays more goes first, then who has the higher priority, then who came
// first; who says no fee goes after all. Only what starts within the window is reserved.
func TestOrderOfACycle(t *testing.T) {
	t.Parallel()
	var offers []Offered
	for _, name := range []grid.SiteName{"a", "b"} {
		offers = append(offers, Offered{Site: grid.Site{Name: name, Speed: 1}, Slots: []grid.Slot{{Node: "n", End: 100, Cores: 1, Price: 1}}})
	}
	job := func(id grid.JobID, fee float64, priority int) Waits {
		return Waits{Wide: Wide{Demand: demand(2, 1, 0), Walltime: 10, Fee: fee}, Job: id, Priority: priority}
	}
	jobs := []Waits{job("unsaid", AnyFee, 9), job("first", 2, 0), job("poor", 0.5, 9), job("second", 2, 0), job("keen", 2, 1), job("rich", 3, 0)}
	got := map[grid.JobID]grid.Tick{}
	var reserved []grid.JobID
	for _, a := range Lookahead(jobs, 15, offers) {
		if got[a.Job] = a.Start; a.Parts == nil {
			got[a.Job] = -1
		}
		if a.Reserve {
			reserved = append(reserved, a.Job)
		}
	}
	if want := map[grid.JobID]grid.Tick{"rich": 0, "keen": 10, "first": 20, "second": 30, "unsaid": 40, "poor": -1}; !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if want := []grid.JobID{"keen", "rich"}; !slices.Equal(reserved, want) {
		t.Errorf("reserved %v, want %v", reserved, want)
	}
}

// A job is near from when on its files, which go the longest way that they have to, would come late, by its margin and the window.
func TestWhenAPlanIsNear(t *testing.T) {
	t.Parallel()
	var offers []Offered
	for _, name := range []grid.SiteName{"a", "b"} {
		offers = append(offers, Offered{Site: grid.Site{Name: name, Speed: 1}, Slots: []grid.Slot{{Node: "n", Start: 1000, End: 1100, Cores: 1}}})
	}
	const window, margin, way = 15, 3, 20
	job := Waits{Wide: Wide{Demand: demand(2, 1, 0), Walltime: 10, Fee: 1, Margin: margin}, Job: "j"}
	job.Delivery = func(s grid.SiteName) grid.Tick { return map[grid.SiteName]grid.Tick{"a": way, "b": 7}[s] }
	for now, reserve := range map[grid.Tick]bool{1000 - way - margin - window - 1: false, 1000 - way - margin - window: true} {
		job.Now = now
		got := Lookahead([]Waits{job}, window, offers)[0]
		if got.Start != 1000 || got.Near != 1000-way-margin-window || got.Reserve != reserve {
			t.Errorf("at %d: it starts at %d and is near from %d on, reserved now: %t (%s)", now, got.Start, got.Near, got.Reserve, got.Why)
		}
	}
	late := job
	late.Walltime = 1000
	if got := Lookahead([]Waits{late}, window, offers)[0]; got.Reserve || got.Parts != nil {
		t.Errorf("one that finds no place is reserved: %+v", got)
	}
}

// benchCycle are n slots of whole nodes of 50 sites of three speeds, and jobs of 8 to 256 processes that at most 4 of them may share.
func benchCycle(slots, jobs int) ([]Waits, []Offered) {
	random := rand.New(rand.NewPCG(3, uint64(slots)))
	offers := make([]Offered, benchSites)
	for j := range offers {
		offers[j] = Offered{Site: grid.Site{Name: grid.SiteName(fmt.Sprintf("site%02d", j)), Speed: []float64{1, 1.5, 2}[j%3]}, Delivery: grid.Tick(10*j) * grid.Second}
	}
	eachBenchSlot(slots, benchSites, func(site, node int, start, end grid.Tick, price float64) {
		o := &offers[site]
		o.Slots = append(o.Slots, grid.Slot{Node: grid.NodeName(fmt.Sprintf("n%d", node)), Start: start, End: end, Cores: 16, Price: price})
	})
	all := make([]Waits, jobs)
	for i := range all {
		d := demand(8<<random.IntN(6), 1, 0)
		all[i] = Waits{Wide: Wide{
			Demand: d, Walltime: grid.Tick(20+random.IntN(180)) * grid.Second, MaxSites: 4, PerSite: 2,
			Fee: float64(2 + random.IntN(9)),
		}, Job: grid.JobID(fmt.Sprint(i))}
	}
	return all, offers
}

// BenchmarkLookahead is one planning cycle, and the same by the naive form on a small one.
func BenchmarkLookahead(b *testing.B) {
	for _, c := range []struct {
		name        string
		slots, jobs int
		do          func([]Waits, []Offered)
	}{
		{"cycle", 1_000_000, 1_000, func(w []Waits, o []Offered) { Lookahead(w, 0, o) }},
		{"cycle", 20_000, 50, func(w []Waits, o []Offered) { Lookahead(w, 0, o) }},
		{"naive", 20_000, 50, func(w []Waits, o []Offered) { naiveLookahead(w, o) }},
	} {
		jobs, offers := benchCycle(c.slots, c.jobs)
		b.Run(fmt.Sprintf("%s/slots=%d/jobs=%d", c.name, c.slots, c.jobs), func(b *testing.B) {
			for b.Loop() {
				c.do(jobs, offers)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(c.slots)/float64(c.jobs), "ns/slot/job")
		})
	}
}
