package plan

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"gbroker/grid"

	"pgregory.net/rapid"
)

// The answer of a plan is the start that the naive scheduler gives the job if it
// comes after all others.
func TestPlanLikeNaiveTwin(t *testing.T) {
	t.Parallel()
	for kind := FCFS; kind <= ConsCompress; kind++ {
		t.Run(Policy{Kind: kind}.String(), func(t *testing.T) {
			t.Parallel()
			for range 4 { // what is rare needs some thousand logs
				rapid.Check(t, func(t *rapid.T) { planLikeTwin(t, kind) })
			}
		})
	}
}

func planLikeTwin(t *rapid.T, kind Kind) {
	p := Policy{Kind: kind}
	switch kind {
	case FirstFit:
		p.Overtakes = rapid.IntRange(0, 3).Draw(t, "overtakes")
	case EASY:
		p.Reservations = rapid.IntRange(1, 4).Draw(t, "reservations")
	}
	cores, jobs := drawLog(t)
	toLimits := rapid.Bool().Draw(t, "to limits")
	for i := range jobs {
		jobs[i].submit = 0
		if toLimits {
			jobs[i].run = jobs[i].limit
		}
	}
	var holds []logHold
	if rapid.Bool().Draw(t, "with holds") {
		holds = drawHolds(t, cores)
	}
	c := NewCounted(cores, p)
	for i := range holds {
		holds[i].told, holds[i].released = 0, never
		c.Hold(holds[i].Hold)
	}
	for i, j := range jobs {
		c.Arrive(Entry{Ref: int32(i), Cores: j.cores, Limit: j.limit})
	}
	var running []Ending
	for _, h := range c.Pass(0) {
		running = append(running, Ending{jobs[h.Ref].run, h})
	}
	run := func(h Held) grid.Tick { return jobs[h.Ref].run }
	if toLimits {
		run = nil
	}
	horizon := grid.Tick(rapid.IntRange(1, 150).Draw(t, "horizon"))
	plan := NewCountedPlan(0, c, running, run, horizon)
	exact := kind != EASYSJBF && (kind != ConsCompress || toLimits)
	for range 2 {
		last := logJob{
			submit: grid.Tick(rapid.IntRange(0, 40).Draw(t, "not before")), cores: rapid.Int32Range(1, cores).Draw(t, "asked"),
			limit: grid.Tick(rapid.IntRange(1, 15).Draw(t, "limit")),
		}
		last.run = last.limit
		want := runTwin(cores, p, append(slices.Clone(jobs), last), holds)[len(jobs)]
		got, why := plan.Ask(last.cores, last.limit, last.submit)
		switch {
		case exact && (why != nil) != (want > horizon):
			t.Fatalf("%+v: refusal %+v, the twin starts at %d", p, why, want)
		case why == nil && (exact && got != want || kind == EASYSJBF && got < want || got < last.submit):
			t.Fatalf("%+v: %+v starts at %d, the twin says %d", p, last, got, want)
		}
	}
}

// A plan goes into more than one block of its index.
func TestLongPlan(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"fcfs", "firstfit:3", "easy", "easy:3", "cons-rebuild", "cons-compress"} {
		p, err := ParsePolicy(text)
		if err != nil {
			t.Fatal(err)
		}
		c, running := crowd(p, 200, 40, 400)
		for name, run := range map[string]func(Held) grid.Tick{
			"limits": nil,
			"half":   func(h Held) grid.Tick { return (h.Until - 1) / 2 % 40000 },
		} {
			plan := NewCountedPlan(1, c, running, run, 0)
			r := rand.New(rand.NewPCG(3, 4))
			for range 30 {
				cores, limit, from := logUniform(r, 200), grid.Tick(logUniform(r, 1e6)), grid.Tick(r.IntN(1e6))
				got, why := plan.Ask(cores, limit, from)
				want := askByForecast(c, running, run, cores, limit, from)
				if p.Kind == ConsCompress && run != nil {
					want = askEachPass(c, running, run, cores, limit, from)
				}
				if why != nil || got != want {
					t.Fatalf("%s, %s: %d cores for %d from %d start at %d (%v), forward they do at %d", text, name, cores, limit, from, got, why, want)
				}
			}
		}
	}
}

// askByForecast runs forward with one more job.
func askByForecast(c *Counted, running []Ending, run func(Held) grid.Tick, cores int32, limit, from grid.Tick) grid.Tick {
	const asked = 1 << 30
	var f Forecast
	f.begin(1, c, running, run == nil)
	start := never
	started := func(at grid.Tick, h Held) (grid.Tick, bool) {
		if h.Ref == asked {
			start = at
		}
		if run == nil || h.Ref == asked {
			return never, false
		}
		return run(h), false
	}
	came := false
	for at, ok := grid.Tick(1), true; start == never; at, ok = f.next() {
		if !came && (!ok || at >= from) {
			at, came = max(from, 1), true
			f.scheduler.Arrive(Entry{Ref: asked, Cores: cores, Limit: limit})
		}
		f.step(at, started)
	}
	return start
}

// askEachPass runs forward without the job, and looks whether it fits.
func askEachPass(c *Counted, running []Ending, run func(Held) grid.Tick, cores int32, limit, from grid.Tick) grid.Tick {
	var f Forecast
	f.begin(1, c, running, false)
	came := false
	for at, ok := grid.Tick(1), true; ; at, ok = f.next() {
		if !came && (!ok || at > from) {
			came = true
			if at := max(from, 1); f.scheduler.steps.fits(at, cores, limit) {
				return at
			}
		}
		f.step(at, func(_ grid.Tick, h Held) (grid.Tick, bool) { return run(h), false })
		if at >= from && f.scheduler.steps.fits(at, cores, limit) {
			return at
		}
	}
}

func TestPlanRefuses(t *testing.T) {
	t.Parallel()
	plan := NewCountedPlan(0, NewCounted(4, Policy{}), nil, nil, 0)
	for cores, want := range map[int32]grid.Refusal{
		-1: {Reason: "no processors asked for", Asked: "0"}, 0: {Reason: "no processors asked for", Asked: "0"},
		5: {Reason: "too few processors", Asked: "5", Available: "4"},
	} {
		if _, why := plan.Ask(cores, 1, 0); why == nil || *why != want {
			t.Errorf("%d cores: %+v, want %+v", cores, why, want)
		}
	}
	if at, why := plan.Ask(4, never, 7); at != 7 || why != nil {
		t.Errorf("an idle machine starts at %d, %v", at, why)
	}
	if _, why := plan.Ask(4, 1, 10*366*grid.Day+1); why == nil {
		t.Error("there is a date in more than ten years")
	}
}

// logUniform is a number from 1 to most; each order of magnitude is as likely.
func logUniform(r *rand.Rand, most float64) int32 {
	return int32(math.Exp(r.Float64() * math.Log(most)))
}

// Random questions to a plan of 10,000 waiting and 1,000 running jobs, one at a time.
func BenchmarkCountedAsk(b *testing.B) {
	for _, text := range []string{"cons-compress", "cons-rebuild", "easy", "easy:4", "firstfit"} {
		b.Run(text, func(b *testing.B) {
			p, err := ParsePolicy(text)
			if err != nil {
				b.Fatal(err)
			}
			c, running := crowd(p, 5000, 1000, 10000)
			began := time.Now()
			plan := NewCountedPlan(1, c, running, nil, never)
			b.ReportMetric(float64(time.Since(began).Microseconds())/1000, "build-ms")
			r := rand.New(rand.NewPCG(5, 6))
			const questions = 1 << 14
			took := make([]time.Duration, 0, questions)
			for b.Loop() {
				took = took[:0]
				for range questions {
					cores, limit := logUniform(r, 5000), grid.Tick(logUniform(r, 864000))
					began := time.Now()
					if _, why := plan.Ask(cores, limit, 0); why != nil {
						b.Fatal(why)
					}
					took = append(took, time.Since(began))
				}
			}
			slices.Sort(took)
			for _, q := range []int{50, 99} {
				b.ReportMetric(float64(took[len(took)*q/100].Nanoseconds())/1000, fmt.Sprintf("p%d-us", q))
			}
		})
	}
}
