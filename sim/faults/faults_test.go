package faults

import (
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// usual is a history of the size that the figures are given for.
func usual(seed uint64, p Profile) Options {
	return Options{Seed: seed, Brokers: 5, Jobs: 50, Profile: p}
}

func profile(t testing.TB, name string) Profile {
	t.Helper()
	for _, p := range Profiles() {
		if p.Name == name {
			return p
		}
	}
	t.Fatalf("there is no profile %s", name)
	return Profile{}
}

// fixed is a history of the usual size that several tests ask something of: it runs once.
func fixed(seed uint64, p Profile) Result {
	type key struct {
		seed    uint64
		profile string
	}
	once, _ := histories.LoadOrStore(key{seed, p.Name}, sync.OnceValue(func() Result { return Run(usual(seed, p)) }))
	return once.(func() Result)()
}

var histories sync.Map // of [fixed]

// some is how many histories a test runs: the longer a machine may take, the more.
// FAULTS_SCALE multiplies it.
func some(n int) int {
	if scale, err := strconv.Atoi(os.Getenv("FAULTS_SCALE")); err == nil && scale > 0 {
		return n * scale
	}
	return n
}

// freshSeed is FAULTS_SEED, which .ci/run draws from the clock, so that no result of before stands for that run; else the clock gives it here.
func freshSeed() uint64 {
	if seed, err := strconv.ParseUint(os.Getenv("FAULTS_SEED"), 10, 64); err == nil {
		return seed
	}
	return uint64(time.Now().UnixMicro())
}

// Does anything break? Fixed seeds, and fresh ones, in every profile.
func TestHistoriesHold(t *testing.T) {
	t.Parallel()
	fresh := freshSeed()
	t.Logf("fresh seeds from %d", fresh)
	for _, p := range Profiles() {
		t.Run(p.Name, func(t *testing.T) {
			t.Parallel()
			for first, n := range map[uint64]int{0: 5, fresh: 3} {
				for seed := first; seed < first+uint64(some(n)); seed++ {
					if r := fixed(seed, p); r.Violation != nil {
						t.Fatalf("%s at step %d: %s; gsim faults --seeds %d-%d --profile %s shows it",
							r.Violation.Property, r.Violation.Step, r.Violation.Text, seed, seed, p.Name)
					}
				}
			}
		})
	}
}

// One seed is one history.
func TestASeedIsAHistory(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		tell := func() string {
			var b strings.Builder
			o := usual(seed, profile(t, "all"))
			o.Trace = func(line string) { b.WriteString(line + "\n") }
			r := Run(o)
			fmt.Fprintf(&b, "%+v", r)
			return b.String()
		}
		first := tell()
		if again := tell(); again != first {
			t.Errorf("seed %d: the second history differs from the first", seed)
		}
		silent := fixed(seed, profile(t, "all"))
		if !strings.HasSuffix(first, fmt.Sprintf("%+v", silent)) {
			t.Errorf("seed %d: a history that is traced differs from one that is not", seed)
		}
	}
}

// Histories are worth their time: many steps, many faults, many jobs that move.
func TestHistoriesAreFull(t *testing.T) {
	t.Parallel()
	var steps, struck, moved []int
	for seed := range uint64(some(21)) {
		r := fixed(seed, profile(t, "all"))
		steps, struck, moved = append(steps, r.Steps), append(struck, r.Struck()), append(moved, 100*r.Moved/max(1, r.Jobs))
	}
	for _, list := range [][]int{steps, struck, moved} {
		slices.Sort(list)
	}
	k := len(steps) / 2
	t.Logf("median: %d steps, %d faults, %d %% of the jobs moved", steps[k], struck[k], moved[k])
	if steps[k] < 2000 || struck[k] < 20 || moved[k] < 34 {
		t.Errorf("the median history has %d steps, %d faults, and %d %% of its jobs moved", steps[k], struck[k], moved[k])
	}
}

// Every crash point of the protocols is met: in some history, or in one that aims at it.
func TestEveryCrashPointIsHit(t *testing.T) {
	t.Parallel()
	hit := map[string]int{}
	for seed := range uint64(some(21)) {
		for name, n := range fixed(seed, profile(t, "all")).Coverage {
			hit[name] += n
		}
	}
	for _, p := range slices.Concat(points, groupPoints, besidePoints) {
		name := p.String()
		for seed := uint64(0); hit[name] == 0; seed++ {
			if seed == 60 {
				t.Errorf("no crash %s in %d histories that aim at it", name, seed)
				break
			}
			in := "all"
			if p.stage >= besideTemplate {
				in = coallocate
			}
			o := usual(seed, profile(t, in))
			o.aim = &p
			r := Run(o)
			if r.Violation != nil {
				t.Fatalf("seed %d, aiming at %s: %+v", seed, name, *r.Violation)
			}
			for name, n := range r.Coverage {
				hit[name] += n
			}
		}
	}
}

// Every kind of fault happens, those of reservations where jobs have several sites.
func TestEveryKindHappens(t *testing.T) {
	t.Parallel()
	var all [kinds]int
	for seed := uint64(0); seed < 60 && slices.Contains(all[:], 0); seed++ {
		for k, n := range fixed(seed, profile(t, "all")).Faults {
			all[k] += n
		}
		if all[ReservationLost] == 0 || all[NodeDown] == 0 {
			for k, n := range fixed(seed, profile(t, coallocate)).Faults {
				all[k] += n
			}
		}
	}
	for k, n := range all {
		if n == 0 {
			t.Errorf("no %s in 60 histories", Kind(k))
		}
	}
}

// A checker that cannot fail proves nothing: each rule that is switched off is noticed,
// within 5,000 histories, where the same histories hold with the rule.
func TestBrokenRulesAreNoticed(t *testing.T) {
	t.Parallel()
	for _, r := range Rules() {
		t.Run(r.Name, func(t *testing.T) {
			t.Parallel()
			broken, err := ParseRules(r.Name)
			if err != nil {
				t.Fatal(err)
			}
			p := profile(t, r.Profile)
			for k := range uint64(5000) { // from the seed that is known to show it, then on
				o := usual((r.Seed+k)%5000, p)
				o.Broken = broken
				v := Run(o).Violation
				if v == nil {
					continue
				}
				t.Logf("seed %d, profile %s: %s: %s", v.Seed, p.Name, v.Property, v.Text)
				o.Broken = Broken{}
				if sound := Run(o).Violation; sound != nil {
					t.Logf("and with the rule: %s: %s", sound.Property, sound.Text)
					continue
				}
				return
			}
			t.Error("nothing is noticed in 5,000 histories")
		})
	}
}

// What is shrunk still shows the violation, and is smaller; its transcript ends with it.
func TestShrink(t *testing.T) {
	t.Parallel()
	o := usual(1, profile(t, "all"))
	var err error
	if o.Broken, err = ParseRules("no-start-token"); err != nil {
		t.Fatal(err)
	}
	first := Run(o)
	for ; first.Violation == nil && o.Seed < 100; first = Run(o) {
		o.Seed++
	}
	if first.Violation == nil {
		t.Fatal("nothing is violated")
	}
	tries := 0
	small := Shrink(o, first.Violation.Property, func() bool { tries++; return tries < 200 })
	r := Run(small)
	if r.Violation == nil || r.Violation.Property != first.Violation.Property {
		t.Fatalf("the smaller history has %+v, not %+v", r.Violation, first.Violation)
	}
	if _, jobs := small.Size(); jobs >= 50 || r.Struck() > first.Struck() {
		t.Errorf("shrunk to %d jobs and %d faults of %d", jobs, r.Struck(), first.Struck())
	}
	story := Transcript(small)
	if n := len(story); n == 0 || n > longest || !strings.Contains(story[n-1], r.Violation.Property+" VIOLATED") {
		t.Errorf("the transcript has %d lines", n)
	}
}

func TestUnknownRule(t *testing.T) {
	t.Parallel()
	if _, err := ParseRules("no-lease,nonsense"); err == nil || !strings.Contains(err.Error(), "nonsense") {
		t.Errorf("%v", err)
	}
}

// The heap against sorting.
func TestQueue(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	var q queue
	var want []event
	for n := range uint64(2000) {
		e := event{at: 1000 + between(r, 0, 50), seq: n}
		q.push(e)
		want = append(want, e)
		if r.IntN(3) == 0 {
			slices.SortFunc(want, func(a, b event) int {
				if a.before(&b) {
					return -1
				}
				return 1
			})
			if got := q.pop(); got.at != want[0].at || got.seq != want[0].seq {
				t.Fatalf("popped %d/%d, want %d/%d", got.at, got.seq, want[0].at, want[0].seq)
			}
			want = want[1:]
		}
	}
}

func BenchmarkHistory(b *testing.B) {
	defer debug.SetGCPercent(debug.SetGCPercent(800)) // as gsim faults does
	steps, seed := 0, uint64(0)
	for b.Loop() {
		steps += Run(usual(seed, profile(b, "all"))).Steps
		seed++
	}
	b.ReportMetric(float64(steps)/float64(b.N), "steps/op")
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "histories/s")
}
