package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"gbroker/api"
	"gbroker/test/cluster"
)

// passing runs gclient at a site with the passes of a folder.
func passing(ctx context.Context, s *cluster.Site, folder string, args ...string) (stdout, stderr string, err error) {
	cmd := s.Command(ctx, args...)
	cmd.Env = append(cmd.Env, "XDG_CONFIG_HOME="+folder)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	err = cmd.Run()
	return out.String(), errs.String(), err
}

// keyed starts sites of one grid, of which those that edges join know each other; none sends the other jobs.
func keyed(t *testing.T, dir string, n int, edges [][2]int) (sites []*cluster.Site) {
	t.Helper()
	key := ""
	for i := range n {
		s := newSite(t, dir, fmt.Sprintf("s%d", i), cluster.Options{Nodes: 1, Cores: 2 + i})
		args := []string{"grid", "--config", s.Config()}
		if key != "" {
			args = append(args, "--key", key)
		}
		r := s.Admin(t.Context(), args...)
		if r.Code != 0 {
			t.Fatal(r.Stderr)
		}
		key = strings.TrimSpace(r.Stdout)
		sites = append(sites, s)
	}
	start(t, sites...)
	var lines []cluster.Line
	for _, e := range edges {
		a, b := sites[e[0]], sites[e[1]]
		lines = append(lines, line(a, b, "--send=false"), line(b, a, "--send=false"))
	}
	know(t, lines...)
	for _, e := range edges {
		must(t, sites[e[0]].Sees(t.Context(), patience, sites[e[1]].Name))
	}
	return sites
}

// fromAfar hands jobs in at home; at a far site their user sees one run, waits for its end, fetches its output, and cancels another.
// While the first runs, more is tried.
func fromAfar(t *testing.T, dir, mine string, home, far *cluster.Site, more func(id string, seen api.Status)) (id string) {
	t.Helper()
	if _, text, err := passing(t.Context(), home, mine, "pass"); err != nil {
		t.Fatal(text)
	}
	id = work{script: "echo far away; " + waits(dir, "go"), output: "out.txt", walltime: 60}.submit(t, home, dir, "far")
	reaches(t, home, id, "RUNNING")
	var seen api.Status
	eventually(t, "the job is seen from the other end", func() bool {
		text, why, err := passing(t.Context(), far, mine, "status", "--json", id)
		if err != nil {
			t.Log(why)
			return false
		}
		must(t, json.Unmarshal([]byte(text), &seen))
		return seen.State == "RUNNING"
	})
	if string(seen.ID) != id {
		t.Errorf("another job is seen: %+v", seen)
	}
	more(id, seen)
	must(t, os.WriteFile(filepath.Join(dir, "go"), nil, 0o644))
	if _, why, err := passing(t.Context(), far, mine, "wait", id); err != nil {
		t.Errorf("waiting from the other end: %v, %q", err, why)
	}
	if _, why, err := passing(t.Context(), far, mine, "output", id, filepath.Join(dir, "fetched")); err != nil {
		t.Errorf("fetching from the other end: %v, %q", err, why)
	}
	if text, err := os.ReadFile(filepath.Join(dir, "fetched", "out.txt")); err != nil || !strings.HasPrefix(string(text), "far away\n") {
		t.Errorf("it has fetched %q, %v", text, err)
	}
	second := work{script: "sleep 300", walltime: 600}.submit(t, home, dir, "second")
	reaches(t, home, second, "RUNNING")
	if _, why, err := passing(t.Context(), far, mine, "cancel", second); err != nil {
		t.Errorf("cancelling from the other end: %v, %q", err, why)
	}
	eventually(t, "the job is cancelled", func() bool {
		return strings.HasPrefix(status(t, home, second).State, "CANCELLED") || status(t, home, second).State == "KILLED"
	})
	return id
}

// Over a ring and a random graph of twelve sites a job is found where it is farthest: six members away, or seven.
func TestAJobAcrossRingAndRandomGraph(t *testing.T) {
	t.Parallel()
	const n = 12
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	var ring [][2]int
	for i := range n {
		ring = append(ring, [2]int{i, (i + 1) % n})
	}
	for _, c := range []struct {
		name  string
		edges [][2]int
	}{{"ring", ring}, {"random", wide(rand.New(rand.NewPCG(seed, 0)), n)}} {
		t.Run(c.name, func(t *testing.T) { // one after the other: 24 daemons side by side take each other's time
			from, to, away := farthest(n, c.edges)
			t.Logf("%v: s%d is %d members away from s%d", c.edges, to, away, from)
			dir := place(t)
			sites := keyed(t, dir, n, c.edges)
			fromAfar(t, dir, filepath.Join(dir, "mine"), sites[from], sites[to], func(string, api.Status) {})
		})
	}
}

// wide is a random connected graph in which two are six or seven edges away from each other, and none more: a line has eight at most.
func wide(r *rand.Rand, n int) [][2]int {
	for {
		var edges [][2]int
		for i := 1; i < n; i++ {
			edges = append(edges, [2]int{r.IntN(i), i})
		}
		edges = append(edges, [2]int{r.IntN(n / 2), n/2 + r.IntN(n/2)})
		last := edges[n-1]
		if slices.Contains(edges[:n-1], last) {
			continue
		}
		if _, _, away := farthest(n, edges); away == 6 || away == 7 {
			return edges
		}
	}
}

// farthest are two of a graph that are as far away from each other as any.
func farthest(n int, edges [][2]int) (from, to, away int) {
	for i := range n {
		far := map[int]int{i: 0}
		for range n {
			for _, e := range edges {
				for _, way := range [][2]int{e, {e[1], e[0]}} {
					d, known := far[way[0]]
					old, seen := far[way[1]]
					if known && (!seen || d+1 < old) {
						far[way[1]] = d + 1
					}
				}
			}
		}
		for j, d := range far {
			if d > away {
				from, to, away = i, j, d
			}
		}
	}
	return from, to, away
}

// Over a chain of twelve sites with one grid key, a user asks at the end for a job of the beginning: how it is, what it wrote, and for
// its end. Who has no pass of his own, or one that its home has not signed, learns nothing. The last site shows all twelve.
func TestAJobElevenMembersAway(t *testing.T) {
	t.Parallel()
	dir := place(t)
	const n = 12
	var chain [][2]int
	for i := range n - 1 {
		chain = append(chain, [2]int{i, i + 1})
	}
	sites := keyed(t, dir, n, chain)
	home, far := sites[0], sites[n-1]
	mine, nobody, forged := filepath.Join(dir, "mine"), filepath.Join(dir, "nobody"), filepath.Join(dir, "forged")
	id := fromAfar(t, dir, mine, home, far, func(id string, seen api.Status) {
		if _, why, err := passing(t.Context(), far, nobody, "status", id); err == nil || !strings.Contains(why, "not known here") {
			t.Errorf("without a pass: %v, %q", err, why)
		}
		must(t, os.CopyFS(forged, os.DirFS(mine)))
		pass := filepath.Join(forged, "gbroker", "passes", "s0.json")
		text, err := os.ReadFile(pass)
		must(t, err)
		must(t, os.WriteFile(pass, []byte(strings.Replace(string(text), seen.User, "mallory", 1)), 0o600))
		if _, why, err := passing(t.Context(), far, forged, "cancel", id); err == nil || !strings.Contains(why, "has not signed it") {
			t.Errorf("with a forged pass: %v, %q", err, why)
		}
	})
	if text, why, err := passing(t.Context(), far, mine, "logs", id, "--file", "out.txt"); err != nil || !strings.HasPrefix(text, "far away\n") {
		t.Errorf("its log from the other end: %v, %q, %q", err, text, why)
	}
	for _, command := range []string{"history", "explain"} {
		if text, why, err := passing(t.Context(), far, mine, command, id); err != nil || text == "" {
			t.Errorf("%s from the other end: %v, %q", command, err, why)
		}
	}

	eventually(t, "all sites are listed", func() bool {
		r := far.Client(t.Context(), "sites", "--all", "--json")
		var list []api.Site
		if r.Code != 0 || json.Unmarshal([]byte(r.Stdout), &list) != nil || len(list) != n {
			return false
		}
		cores := 0
		for _, s := range list {
			cores += s.Processes
			if s.Far && (s.AgeS == nil || *s.AgeS > 600 || s.Load == nil) {
				t.Errorf("a far site is listed as %+v", s)
			}
		}
		return cores == n*(n+3)/2 // 2, 3, 4 and so on
	})
}

// One site makes a code, the other joins by it: each has the other in its file, and both are alive. The code works once.
func TestInviteAndJoin(t *testing.T) {
	t.Parallel()
	dir := place(t)
	a, b, c := newSite(t, dir, "a", cluster.Options{}), newSite(t, dir, "b", cluster.Options{}), newSite(t, dir, "c", cluster.Options{})
	start(t, a, b, c)
	r := a.Admin(t.Context(), "invite", "--config", a.Config())
	if r.Code != 0 {
		t.Fatal(r.Stderr)
	}
	code := strings.TrimSpace(r.Stdout)
	if r := b.Admin(t.Context(), "join", "--config", b.Config(), code); r.Code != 0 || strings.Contains(r.Stderr, "firewall") {
		t.Fatalf("join: %d, %s%s", r.Code, r.Stdout, r.Stderr)
	}
	must(t, a.Sees(t.Context(), patience, "b"))
	must(t, b.Sees(t.Context(), patience, "a"))
	if r := c.Admin(t.Context(), "join", "--config", c.Config(), code); r.Code == 0 || !strings.Contains(r.Stderr, "gbroker invite") {
		t.Errorf("a used code: %d, %s", r.Code, r.Stderr)
	}
	if r := c.Admin(t.Context(), "neighbour", "list", "--config", c.Config()); strings.Contains(r.Stdout, "12D3KooW") {
		t.Errorf("who was refused has a neighbour: %s", r.Stdout)
	}
	if r := a.Admin(t.Context(), "neighbour", "plan", "--config", a.Config(), "--rule", "nearest", "--degree", "1"); r.Code != 0 || !strings.Contains(r.Stdout, "near") {
		t.Errorf("the plan: %d, %s%s", r.Code, r.Stdout, r.Stderr)
	}
}
