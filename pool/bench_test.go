package pool

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"gbroker/grid"
)

// benchPool is n computers with a forecast by hour of the week, one in ten free, and as many jobs as wait for a tenth of them.
func benchPool(n int) (computers []Computer, jobs []Job, now grid.Tick) {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	now = 60*Week + 10*grid.Hour
	for i := range n {
		steps := make([]Step, hours)
		h := 0.1 + 0.9*r.Float64()
		for k := range steps {
			steps[k] = Step{grid.Tick(k) * grid.Hour, h * (0.5 + 0.5*r.Float64())}
		}
		c := Computer{Name: fmt.Sprint("c", i), System: "linux", Cores: 4, Memory: 8 << 30, Speed: 1, Forecast: NewForecast(60*Week, Week, steps...)}
		if i%10 != 0 {
			c.Free = now + grid.Tick(r.Int64N(int64(grid.Hour)))
		}
		computers = append(computers, c)
	}
	for i := range max(10, n/10) {
		work := 600 + 3000*r.Float64()
		jobs = append(jobs, Job{Name: fmt.Sprint("j", i), System: "linux", Cores: 1, Memory: 1 << 30, Work: work, Arrival: now, Deadline: now + grid.FromSeconds((1.5+4*r.Float64())*work)})
	}
	return computers, jobs, now
}

// A decision is one job given to a computer.
func BenchmarkAssign(b *testing.B) {
	for _, n := range []int{100, 1000, 5000} {
		computers, jobs, now := benchPool(n)
		for _, x := range named {
			b.Run(fmt.Sprintf("%s/%d", x.name, n), func(b *testing.B) {
				given := 0
				for range b.N {
					given += len(x.rule.Assign(now, computers, jobs, rand.New(rand.NewPCG(1, 1))))
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(max(given, 1)), "ns/decision")
				b.ReportMetric(float64(given)/float64(b.N), "decisions")
			})
		}
	}
}

// One more job asks for admission beside all that wait.
func BenchmarkAdmit(b *testing.B) {
	for _, n := range []int{100, 1000, 5000} {
		computers, jobs, now := benchPool(n)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for range b.N {
				_, _ = EDF.Admit(now, computers, jobs[1:], &jobs[0])
			}
		})
	}
}

// A computer's forecast is learned anew from two weeks of facts, one each five minutes.
func BenchmarkForecast(b *testing.B) {
	now := 60 * Week
	h := History{Since: now - 2*Week, Window: 2 * Week, Speed: 1}
	for at := h.Since; at < now; at += 5 * grid.Minute {
		h.Facts = append(h.Facts, Fact{From: at, To: at + 5*grid.Minute, Active: at/grid.Hour%3 == 0, Idle: 0.9})
	}
	for range b.N {
		h.Forecast(now, &Policy{Quiet: 10 * grid.Minute})
	}
}

// A pool plans all that wait, with and without deadlines.
func BenchmarkPlan(b *testing.B) {
	for _, n := range []int{100, 1000} {
		computers, _, now := benchPool(n)
		for i := range computers {
			computers[i].PerCore = []grid.Tick{computers[i].Free, computers[i].Free, computers[i].Free, computers[i].Free}
		}
		for _, dated := range []bool{false, true} {
			r := rand.New(rand.NewPCG(1, 1))
			jobs := make([]Job, 20*n)
			for i := range jobs {
				jobs[i] = Job{User: fmt.Sprint(i % 7), System: "linux", Cores: 1, Memory: 1 << 30, Work: 600 + 3000*r.Float64(), Arrival: now, Suits: func(string) bool { return true }}
				if dated {
					jobs[i].Deadline = now + grid.FromSeconds((1.5+40*r.Float64())*jobs[i].Work)
				}
			}
			b.Run(fmt.Sprintf("%d/dated=%v", n, dated), func(b *testing.B) {
				for range b.N {
					Best.Plan(now, computers, jobs)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(jobs)), "ns/job")
			})
		}
	}
}
