package e2e

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gbroker/api"
	"gbroker/grid"
	"gbroker/test/cluster"
)

const mebi = 1 << 20

// noise writes a file of n random bytes.
func noise(t *testing.T, dir, name string, n int) []byte {
	t.Helper()
	b := make([]byte, n)
	rand.Read(b) // never fails
	file := filepath.Join(dir, name)
	must(t, os.MkdirAll(filepath.Dir(file), 0o755))
	must(t, os.WriteFile(file, b, 0o644))
	return b
}

// Two sites alike but for the bandwidth to them; the slow one's name comes first.
func TestBandwidthDecides(t *testing.T) {
	t.Parallel()
	dir := place(t)
	home := newSite(t, dir, "home", cluster.Options{Nodes: 1, Cores: 1, More: measuring})
	slow := newSite(t, dir, "aslow", cluster.Options{Nodes: 1, Cores: 2})
	fast := newSite(t, dir, "bfast", cluster.Options{Nodes: 1, Cores: 2})
	start(t, home, slow, fast)
	know(t, line(home, slow, "--rate-limit", "3MB/s"), line(home, fast, "--rate-limit", "12MB/s"), line(slow, home), line(fast, home))
	must(t, home.Measured(t.Context(), patience, mebi, "aslow", "bfast"))

	noise(t, dir, "data", 4*mebi)
	id := work{script: "wc -c <data", cpus: 2, brings: []string{"data"}}.submit(t, home, dir, "big")
	d := first(t, home, id, "bfast")
	a, b := row(t, d, "aslow"), row(t, d, "bfast")
	if waited(t, a) != waited(t, b) || a.RunS != b.RunS || a.DeliveryS < 1.5*b.DeliveryS {
		t.Errorf("the bandwidth alone should tell these apart:\n%s", client(t, home, "explain", id))
	}
	// A busy machine measures less than the limit, and never more.
	if *a.Bandwidth > 1.3*3e6 || *b.Bandwidth > 1.3*12e6 {
		t.Errorf("limits of 3 and 12 MB/s measured as %.0f and %.0f B/s", *a.Bandwidth, *b.Bandwidth)
	}
	if r := row(t, d, "home").Refusal; r == nil || r.Reason != "too few processors" {
		t.Errorf("home has one core, and is refused for %v", r)
	}
	completed(t, home, id, "bfast")
}

// The same job waits at home, where its input is, rather than being sent over a slow
// way; without the input it goes.
func TestDeliveryTooDear(t *testing.T) {
	t.Parallel()
	dir := place(t)
	home := newSite(t, dir, "home", cluster.Options{Nodes: 1, Cores: 1, More: measuring})
	other := newSite(t, dir, "other", cluster.Options{Nodes: 1, Cores: 1})
	start(t, home, other)
	know(t, line(home, other, "--rate-limit", "200kB/s"), line(other, home))
	must(t, home.Measured(t.Context(), patience, 128<<10, "other"))

	fill(t, home, dir, 20) // the way takes twice as long
	noise(t, dir, "data", 8*mebi)
	heavy := work{script: "wc -c <data", brings: []string{"data"}, walltime: 4}.submit(t, home, dir, "heavy")
	light := work{script: "true", walltime: 4}.submit(t, home, dir, "light")
	d := first(t, home, heavy, "home")
	if here, there := row(t, d, "home"), row(t, d, "other"); *here.WaitS < 1 || waited(t, there) != 0 || there.DeliveryS < 25 {
		t.Errorf("it should wait here because the way there is long:\n%s", client(t, home, "explain", heavy))
	}
	first(t, home, light, "other")
	completed(t, home, light, "other")
	completed(t, home, heavy, "home")
}

// fill keeps one core of a site busy for nearly s seconds, which is what the job says
// it needs, and gives the job.
func fill(t *testing.T, at site, dir string, s int) string {
	t.Helper()
	id := work{program: "/bin/sleep", args: []string{fmt.Sprintf("%.1f", float64(s)-0.3)}, walltime: s}.submit(t, at, dir, "fill-"+at.Name)
	reaches(t, at, id, "RUNNING")
	if st := status(t, at, id); string(st.Owner) != at.Name {
		t.Fatalf("the job that should fill %s went to %s", at.Name, st.Owner)
	}
	return id
}

// Two sites alike; the one where the job is handed in is busy.
func TestWaitDecides(t *testing.T) {
	t.Parallel()
	dir := place(t)
	home := newSite(t, dir, "home", cluster.Options{Nodes: 1, Cores: 1})
	other := newSite(t, dir, "other", cluster.Options{Nodes: 1, Cores: 1})
	start(t, home, other)
	introduce(t, home, other)

	fill(t, home, dir, 30)
	id := work{script: "true", walltime: 10}.submit(t, home, dir, "short")
	d := first(t, home, id, "other")
	here, there := row(t, d, "home"), row(t, d, "other")
	if here.RunS != there.RunS || *here.WaitS < 10 || *here.WaitS > 30 || waited(t, there) != 0 {
		t.Errorf("the wait alone should decide:\n%s", client(t, home, "explain", id))
	}
	completed(t, home, id, "other")
}

// Idle sites of three speeds.
func TestSpeedDecides(t *testing.T) {
	t.Parallel()
	dir := place(t)
	home := newSite(t, dir, "home", cluster.Options{Nodes: 1, Cores: 1})
	lame := newSite(t, dir, "alame", cluster.Options{Nodes: 1, Cores: 1, Speed: 0.5})
	quick := newSite(t, dir, "quick", cluster.Options{Nodes: 1, Cores: 1, Speed: 4})
	start(t, home, lame, quick)
	introduce(t, home, lame, quick)

	id := work{script: "true", walltime: 3600}.submit(t, home, dir, "long")
	d := first(t, home, id, "quick")
	for name, run := range map[string]float64{"home": 3600, "alame": 7200, "quick": 900} {
		r := row(t, d, name)
		near(t, name+": run", r.RunS, run, 0.001)
		near(t, name+": wait", waited(t, r), 0, 0)
	}
	completed(t, home, id, "quick")
}

// Of equal totals the local site wins, then the first by name, whatever the order of
// the file. A delivery takes a millisecond or two, even of next to nothing; alpha is
// just so much faster that a walltime makes up for it.
func TestTies(t *testing.T) {
	t.Parallel()
	const speed = 1.0004
	dir := place(t)
	home := newSite(t, dir, "home", cluster.Options{Nodes: 1, Cores: 1, More: measuring})
	zeta := newSite(t, dir, "zeta", cluster.Options{Nodes: 1, Cores: 2})
	alpha := newSite(t, dir, "alpha", cluster.Options{Nodes: 1, Cores: 2, Speed: speed})
	start(t, home, zeta, alpha)
	introduce(t, home, zeta, alpha)

	choose := func(cpus, walltime int) (id string, d api.Decision) {
		id = work{script: "true", cpus: cpus, walltime: walltime}.submit(t, home, dir, "tie")
		ended(t, home, id)
		return id, decisions(t, home, id)[0]
	}
	gaining := func(lead grid.Tick) int { // the walltime of which alpha saves so many milliseconds
		for w := 1; w < 3600; w++ {
			if all := grid.FromSeconds(float64(w)); all-grid.FromSeconds(float64(w)/speed) == lead {
				return w
			}
		}
		return 1
	}
	for _, c := range []struct {
		tied, chosen string
		cpus         int
	}{{"alpha", "home", 1}, {"zeta", "alpha", 2}} {
		eventually(t, "a tie of "+c.tied+" and "+c.chosen, func() bool {
			_, d := choose(2, 1)
			lead := grid.FromSeconds(row(t, d, "alpha").DeliveryS)
			if c.tied == "zeta" {
				lead -= grid.FromSeconds(row(t, d, "zeta").DeliveryS)
			}
			id, d := choose(c.cpus, gaining(lead))
			tied, chosen := row(t, d, c.tied), row(t, d, c.chosen)
			known := tied.Bandwidth != nil && chosen.TotalS != nil // and not only at the least
			if known && total(t, tied) == total(t, chosen) {
				first(t, home, id, c.chosen)
				return true
			}
			must(t, home.Stop()) // it measures anew
			start(t, home)
			must(t, home.Measured(t.Context(), patience, 1<<10, "alpha", "zeta"))
			return false
		})
	}
}

// What a decision foretold of the delivery is what happens.
func TestDeliveryIsTrue(t *testing.T) {
	t.Parallel()
	dir := place(t)
	home := newSite(t, dir, "home", cluster.Options{Nodes: 1, Cores: 1, More: measuring})
	other := newSite(t, dir, "other", cluster.Options{Nodes: 1, Cores: 2})
	start(t, home, other)
	know(t, line(home, other, "--rate-limit", "2MB/s"), line(other, home))
	must(t, home.Measured(t.Context(), patience, mebi, "other"))

	noise(t, dir, "data", 6*mebi)
	id := work{script: "wc -c <data", cpus: 2, brings: []string{"data"}}.submit(t, home, dir, "big")
	completed(t, home, id, "other")
	said := row(t, first(t, home, id, "other"), "other").DeliveryS
	h := history(t, home, id)
	took := seconds(event(t, h, "handed to other").At) - seconds(event(t, h, "offered to other").At)
	t.Logf("delivery: %.2f s said, %.2f s taken", said, took)
	near(t, "the delivery, in seconds,", took, said, 0.35*said)
}

// What a decision foretold of the start is what happens, here and elsewhere, for jobs
// that run as long as they say; and what was foretold first is kept.
func TestStartIsTrue(t *testing.T) {
	t.Parallel()
	dir := place(t)
	home := newSite(t, dir, "home", cluster.Options{Nodes: 1, Cores: 1})
	other := newSite(t, dir, "other", cluster.Options{Nodes: 1, Cores: 1})
	start(t, home, other)
	introduce(t, home, other)

	fill(t, home, dir, 24)
	fill(t, other, dir, 26)
	var ids []string
	said := map[string]api.Time{}
	for _, name := range []string{"one", "two", "three", "four"} {
		id := work{program: "/bin/sleep", args: []string{"3.4"}, walltime: 4}.submit(t, home, dir, name)
		// One after the other: a site takes jobs by their age, as far as it knows it.
		eventually(t, "an estimate for "+id, func() bool {
			st := status(t, home, id)
			said[id] = st.StartEstimateAtSubmit
			return st.State == "ASSIGNED" && st.StartEstimateAtSubmit != 0 && st.StartEstimateNow != 0
		})
		ids = append(ids, id)
	}
	owners := map[grid.SiteName]int{}
	for _, id := range ids {
		st := ended(t, home, id)
		if st.State != "COMPLETED" {
			t.Fatalf("%s ended %s: %s", id, st.State, st.Reason)
		}
		owners[st.Owner]++
		if st.StartEstimateAtSubmit != said[id] {
			t.Errorf("%s: first it was predicted for %s, in the end for %s", id, said[id], st.StartEstimateAtSubmit)
		}
		d := placing(t, home, id, string(st.Owner))
		c := row(t, d, string(st.Owner))
		near(t, "start_estimate_at_submit of "+id, seconds(st.StartEstimateAtSubmit)-seconds(d.At), c.DeliveryS+*c.WaitS, 0.0015)
		waited := seconds(st.Started) - seconds(d.At) - c.DeliveryS
		t.Logf("%s at %s: a wait of %.2f s said, %.2f s taken", id, st.Owner, *c.WaitS, waited)
		if *c.WaitS < 1 {
			t.Errorf("%s did not wait: this shows nothing", id)
		}
		// Each job ends 0.6 s before its limit, and up to three run before another.
		near(t, "the wait of "+id, waited, *c.WaitS, 2.5)
	}
	if owners["home"] == 0 || owners["other"] == 0 {
		t.Errorf("all jobs went to one site: %v", owners)
	}
}

// A job that nobody can run fails at once, with the numbers of each site.
func TestRefusals(t *testing.T) {
	t.Parallel()
	dir := place(t)
	home := newSite(t, dir, "home", cluster.Options{Nodes: 1, Cores: 2, More: "architecture: x86_64\n"})
	other := newSite(t, dir, "other", cluster.Options{Nodes: 2, Cores: 2, More: "architecture: arm\n"})
	for _, s := range []site{home, other} {
		text, err := os.ReadFile(s.Config())
		must(t, err)
		if !strings.Contains(string(text), "cores: 2\n") {
			t.Fatalf("no cores in %s", text)
		}
		must(t, os.WriteFile(s.Config(), []byte(strings.Replace(string(text), "cores: 2\n", "cores: 2\n  memory: 1GiB\n", 1)), 0o644))
	}
	start(t, home, other)
	introduce(t, home, other)

	no := func(reason string, asked, available api.Quantity) *api.Refusal {
		return &api.Refusal{Kind: "permanent", Reason: reason, Asked: asked, Available: available}
	}
	for _, c := range []struct {
		name        string
		work        work
		here, there *api.Refusal // nil: it can run there
	}{
		{"processors", work{cpus: 3}, no("too few processors", "3", "2"), nil},
		{"crowd", work{cpus: 9}, no("too few processors", "9", "2"), no("too few processors", "9", "4")},
		{"architecture", work{arch: "arm"}, no("wrong architecture", "arm", "x86_64"), nil},
		{"exotic", work{arch: "mips"}, no("wrong architecture", "mips", "x86_64"), no("wrong architecture", "mips", "arm")},
		{"memory", work{memory: 2 << 30}, no("not enough memory", "2147483648", "1073741824"), no("not enough memory", "2147483648", "1073741824")},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.work.script = "true"
			file := c.work.write(t, dir, c.name)
			args := []string{"submit", "--wait", file}
			if c.there != nil {
				refusedByAll(t, home, file, c.here, c.there)
				args = []string{"submit", "--queue-anyway", file}
			}
			r := home.Client(t.Context(), args...)
			id := strings.TrimSpace(r.Stdout)
			eventually(t, "a decision about "+id, func() bool { return len(told[api.Explanation](t, home, "explain", id).Decisions) > 0 })
			d := decisions(t, home, id)[0]
			for name, want := range map[string]*api.Refusal{"home": c.here, "other": c.there} {
				if got := row(t, d, name).Refusal; (got == nil) != (want == nil) || got != nil && *got != *want {
					t.Errorf("%s refuses by %+v, and should by %+v", name, got, want)
				}
			}
			if c.there == nil {
				completed(t, home, id, "other")
				return
			}
			if st := status(t, home, id); st.State != "READY" || d.Chosen != nil || !says(st.Reason, c.here, c.there) {
				t.Errorf("it is %s (%s), chosen %v; not READY, none, with both reasons", st.State, st.Reason, d.Chosen)
			}
		})
	}
}

// refusedByAll hands in what no site can run: it is refused with the words of all.
func refusedByAll(t *testing.T, s site, file string, why ...*api.Refusal) {
	t.Helper()
	if r := s.Client(t.Context(), "submit", file); r.Code != 1 || r.Stdout != "" || !says(r.Stderr, why...) {
		t.Errorf("submit ends with %d, prints %q and says %q", r.Code, r.Stdout, r.Stderr)
	}
}

// says tells that a text holds all refusals with what was asked and what there is.
func says(text string, why ...*api.Refusal) bool {
	for _, r := range why {
		if !strings.Contains(text, r.Reason+" (asked "+string(r.Asked)+", available "+string(r.Available)+")") {
			return false
		}
	}
	return true
}
