package counted

import (
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"

	"gbroker/grid"
	"gbroker/plan"

	"pgregory.net/rapid"
)

// crowd is a machine of so many cores with so many running and waiting jobs.
func crowd(p plan.Policy, cores int32, running, waiting int) (*Scheduler, []Ending) {
	r := rand.New(rand.NewPCG(1, 2))
	c := New(cores, p)
	var ends []Ending
	limit := func() grid.Tick { return grid.Tick(60 + r.IntN(86400)) }
	ref := int32(0)
	for range running {
		c.Arrive(Job{Ref: ref, Cores: cores / int32(running), Limit: limit()})
		ref++
	}
	for _, h := range c.Pass(0) {
		ends = append(ends, Ending{h.Until, h})
	}
	for range waiting {
		c.Arrive(Job{Ref: ref, Cores: 1 + r.Int32N(64), Limit: limit()})
		ref++
	}
	c.Pass(1)
	return c, ends
}

// A plan of 10,000 waiting and 1,000 running jobs, with limits as run times.
func BenchmarkForecast(b *testing.B) {
	for _, text := range []string{"fcfs", "firstfit", "firstfit:8", "easy", "easy:4", "easy:1:sjf", "easysjbf", "cons-rebuild", "cons-compress"} {
		b.Run(text, func(b *testing.B) {
			p, err := plan.ParsePolicy(text)
			if err != nil {
				b.Fatal(err)
			}
			c, ends := crowd(p, 5000, 1000, 10000)
			var f Forecast
			b.ReportAllocs()
			began := processorTime(b)
			for b.Loop() {
				f.Run(1, c, ends, nil, func(_ grid.Tick, h Running) (grid.Tick, bool) { return never, false })
			}
			b.ReportMetric((processorTime(b)-began)/float64(b.N)*1000, "cpu-ms/op")
		})
	}
}

// processorTime is what this process has used, in seconds: on a machine that others
// use too it says more than the clock.
func processorTime(b *testing.B) float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// Where jobs run as long as they are believed to, what is forecast comes true.
func TestForecastComesTrue(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		cores, jobs := drawLog(t)
		for i := range jobs {
			jobs[i].submit = 0
		}
		p := plan.Policy{Kind: plan.Kind(rapid.IntRange(int(plan.FCFS), int(plan.ConsCompress)).Draw(t, "kind")), Order: drawOrder(t)}
		c := New(cores, p)
		want := runCounted(cores, p, jobs, false)
		for i, j := range jobs {
			c.Arrive(Job{Ref: int32(i), Cores: j.cores, Limit: j.limit, Priority: j.priority})
		}
		got := make([]grid.Tick, len(jobs))
		var running []Ending
		for _, h := range c.Pass(0) {
			running = append(running, Ending{jobs[h.Ref].run, h})
		}
		waiting := c.Waiting()
		var f Forecast
		for range 2 { // the state of c stays as it is
			f.Run(0, c, running, nil, func(at grid.Tick, h Running) (grid.Tick, bool) {
				got[h.Ref] = at
				return jobs[h.Ref].run, false
			})
			if !slices.Equal(got, want) || c.Waiting() != waiting {
				t.Fatalf("%+v: forecast %v, came %v", p, got, want)
			}
		}
	})
}

// Whatever is believed, no job runs beyond its limit, and each for some time.
func TestBeliefsStayWithinLimits(t *testing.T) {
	t.Parallel()
	for kind := plan.FCFS; kind <= plan.ConsCompress; kind++ {
		for _, c := range []struct{ believed, first, second grid.Tick }{{100, 10, 15}, {10, 10, 15}, {0, 1, 2}, {-5, 1, 2}} {
			one := New(1, plan.Policy{Kind: kind})
			for ref, limit := range []grid.Tick{10, 5, 5} {
				one.Arrive(Job{Ref: int32(ref), Cores: 1, Limit: limit})
			}
			running := []Ending{{c.believed, one.Pass(0)[0]}}
			var got []grid.Tick
			new(Forecast).Run(0, one, running, nil, func(at grid.Tick, _ Running) (grid.Tick, bool) {
				got = append(got, at)
				return c.believed, false
			})
			if want := []grid.Tick{c.first, c.second}; !slices.Equal(got, want) {
				t.Errorf("%v, believing in %d: starts %v, want %v", plan.Policy{Kind: kind}, c.believed, got, want)
			}
		}
	}
}
