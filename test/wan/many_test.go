package wan

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"gbroker/test/cluster"
)

// Many brokers in one namespace, each with eight neighbours of a rule over all: what an idle one costs, in memory, processor and bytes for
// each neighbour, also while jobs wait; and how long it takes after a third of them was killed until each of the others knows it.
// GBROKER_BROKERS=N takes N of them, GBROKER_IDLE how long is measured (1m).
func TestManyBrokers(t *testing.T) {
	n, _ := strconv.Atoi(os.Getenv("GBROKER_BROKERS"))
	if n == 0 {
		t.Skip("GBROKER_BROKERS says how many")
	}
	idle, err := time.ParseDuration(os.Getenv("GBROKER_IDLE"))
	if err != nil {
		idle = time.Minute
	}
	const degree = 8
	w := network(t, 1)
	h := w.Hosts[0]
	sites := crowd(t, h, n, degree)
	neighbours := neighboursOf(t, sites)
	links := 0
	for _, list := range neighbours {
		links += len(list)
	}
	began := time.Now()
	whoever(t, sites, neighbours, nil, 5*time.Minute)
	t.Logf("%d brokers, %d neighbours each in the mean: all see theirs %v after the last start", n, links/n, time.Since(began).Round(100*time.Millisecond))
	sleep(5 * time.Minute) // first measurements are over, and second ones
	measure := func(what string) {
		cpu, sent, at := processor(sites), loopback(t, h), time.Now()
		sleep(idle)
		took := time.Since(at).Seconds()
		mean, most := memory(sites, "status", "VmRSS:")
		own, _ := memory(sites, "status", "RssAnon:")
		share, _ := memory(sites, "smaps_rollup", "Pss:")
		t.Logf("| %d | %s | %.0f MiB, at most %.0f; %.0f of them its own and no file's, %.0f where shared pages count by their share | %.0f %% of one core in all, %.2f %% each | %.0f B/s for each neighbour |", n, what, mean, most, own, share,
			100*(processor(sites)-cpu)/took, 100*(processor(sites)-cpu)/took/float64(n), float64(loopback(t, h)-sent)/took/float64(links))
	}
	measure("idle")
	job := filepath.Join(t.TempDir(), "job.sh")
	if err := os.WriteFile(job, []byte("#!/bin/sh\n#SBATCH --time=60\nsleep 3600\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for range 3 * n { // more than all can run, so that they wait
		if r := sites[0].Client(t.Context(), "submit", job); r.Code != 0 {
			t.Fatal(r.Stderr)
		}
	}
	sleep(30 * time.Second)
	measure(fmt.Sprintf("%d jobs run or wait", 3*n))
	dead := map[string]bool{}
	var all sync.WaitGroup
	for i, s := range sites {
		if i%3 == 1 {
			dead[s.Name] = true
			all.Go(s.Kill)
		}
	}
	all.Wait()
	began = time.Now()
	whoever(t, sites, neighbours, dead, 3*time.Minute)
	t.Logf("| %d | a third killed | all others agree after %.0f s |", n, time.Since(began).Seconds())
}

func sleep(d time.Duration) { time.Sleep(d) } //house:allow sleep: what is measured is what passes while nothing happens

// crowd starts brokers of one core that know all others and choose their neighbours by a rule.
func crowd(t *testing.T, h *Host, n, degree int) []*cluster.Site {
	t.Helper()
	dir, err := os.MkdirTemp("", "gm-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	programs, err := cluster.Build(t.Context(), "../..", filepath.Join(dir, "bin"))
	if err != nil {
		t.Fatal(err)
	}
	sites := make([]*cluster.Site, n)
	lines := make([]string, n)
	each(t, n, func(i int) (err error) {
		sites[i], err = cluster.Init(t.Context(), programs, dir, fmt.Sprintf("s%d", i), cluster.Options{Nodes: 1, Cores: 1, Listen: fmt.Sprintf("/ip4/127.0.0.1/tcp/%d", 20000+i)})
		if err != nil {
			return err
		}
		r := sites[i].Admin(t.Context(), "id", "--config", sites[i].Config())
		words := strings.Fields(r.Stdout)
		if r.Code != 0 || len(words) < 2 {
			return fmt.Errorf("gbroker id: %s", r.Stderr)
		}
		lines[i] = fmt.Sprintf("  - {name: s%d, peer: %s, addresses: [/ip4/127.0.0.1/tcp/%d]}\n", i, words[1], 20000+i)
		return nil
	})
	each(t, n, func(i int) error {
		var file bytes.Buffer
		fmt.Fprintf(&file, "topology: {rule: random, degree: %d}\nmembers:\n", degree)
		for j, line := range lines {
			if j != i {
				file.WriteString(line)
			}
		}
		return os.WriteFile(filepath.Join(sites[i].Dir, "neighbours.yaml"), file.Bytes(), 0o600)
	})
	for _, s := range sites {
		if err := h.In(func() error { return s.Start(t.Context()) }); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { s.Kill(); s.EndJobs() })
	}
	return sites
}

// each does something for 0 to n-1, some at a time.
func each(t *testing.T, n int, do func(i int) error) {
	t.Helper()
	turns := make(chan struct{}, 2*runtime.NumCPU())
	var all sync.WaitGroup
	errs := make([]error, n)
	for i := range n {
		turns <- struct{}{}
		all.Go(func() {
			defer func() { <-turns }()
			errs[i] = do(i)
		})
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// neighboursOf names whom the rule chose for each.
func neighboursOf(t *testing.T, sites []*cluster.Site) [][]string {
	t.Helper()
	list := make([][]string, len(sites))
	each(t, len(sites), func(i int) error {
		views, err := chosen(t, sites[i])
		for _, v := range views {
			if v.Name != sites[i].Name {
				list[i] = append(list[i], v.Name)
			}
		}
		return err
	})
	return list
}

// chosen is what a site tells of itself and of whom its rule chose.
func chosen(t *testing.T, s *cluster.Site) ([]cluster.SiteView, error) {
	views, err := s.Sites(t.Context())
	return slices.DeleteFunc(views, func(v cluster.SiteView) bool { return v.State == "not chosen" }), err
}

// whoever waits until each that lives sees its neighbours alive, or dead if they are.
func whoever(t *testing.T, sites []*cluster.Site, neighbours [][]string, dead map[string]bool, limit time.Duration) {
	t.Helper()
	each(t, len(sites), func(i int) error {
		if dead[sites[i].Name] {
			return nil
		}
		var last string
		err := cluster.Until(t.Context(), limit, func() bool {
			views, err := chosen(t, sites[i])
			last = fmt.Sprint(err)
			if err != nil || len(views) != 1+len(neighbours[i]) {
				return false
			}
			for _, v := range views {
				want := "alive"
				if dead[v.Name] {
					want = "dead"
				}
				if v.State != want && v.Name != sites[i].Name {
					last = fmt.Sprintf("%s is %s, not %s", v.Name, v.State, want)
					return false
				}
			}
			return true
		})
		if err != nil {
			return fmt.Errorf("%s: %s: %w", sites[i].Name, last, err)
		}
		return nil
	})
}

// processor is what the daemons have taken of processors, in seconds.
func processor(sites []*cluster.Site) (seconds float64) {
	for _, s := range sites {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", s.PID()))
		if err != nil {
			continue
		}
		words := strings.Fields(string(text[bytes.LastIndexByte(text, ')')+1:]))
		user, _ := strconv.ParseFloat(words[11], 64)
		system, _ := strconv.ParseFloat(words[12], 64)
		seconds += (user + system) / 100 // ticks
	}
	return seconds
}

// memory is what the daemons hold by a line of a file of /proc/PID, in MiB: the mean, and the most that one does.
func memory(sites []*cluster.Site, file, line string) (mean, most float64) {
	for _, s := range sites {
		text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/%s", s.PID(), file))
		for l := range strings.Lines(string(text)) {
			if rest, ok := strings.CutPrefix(l, line); ok {
				kB, _ := strconv.ParseFloat(strings.Fields(rest)[0], 64)
				mean += kB / 1024 / float64(len(sites))
				most = max(most, kB/1024)
			}
		}
	}
	return mean, most
}

// loopback is how many bytes have gone over the loopback of a namespace, with all that TCP and IP add.
func loopback(t *testing.T, h *Host) (sent int64) {
	t.Helper()
	if err := h.In(func() error {
		text, err := os.ReadFile("/proc/thread-self/net/dev")
		for line := range strings.Lines(string(text)) {
			if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "lo:"); ok {
				sent, err = strconv.ParseInt(strings.Fields(rest)[8], 10, 64)
			}
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return sent
}
