package e2e

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"gbroker/api"
	"gbroker/test/cluster"
)

// edge is a line of a neighbours' file.
type edge struct{ known, send bool }

// randomGraph is a connected graph of n sites, none of them next to all others; which
// sites send to which is drawn for each direction by itself, but from sends to to.
func randomGraph(r *rand.Rand, n int) (g [][]edge, from, to int) {
	g = make([][]edge, n)
	for i := range g {
		g[i] = make([]edge, n)
	}
	join := func(a, b int) {
		g[a][b] = edge{true, r.IntN(3) > 0}
		g[b][a] = edge{true, r.IntN(3) > 0}
	}
	order := r.Perm(n)
	for k := 1; k < n; k++ { // a path through all
		join(order[k-1], order[k])
	}
	join(order[0], order[n-2]) // one edge more: the path becomes a cycle with a tail
	g[order[0]][order[1]].send = true
	return g, order[0], order[1]
}

// Sites that know each other by a random graph: each hears whom its file names, jobs
// go only along its edges, and every job ends.
func TestRandomGraph(t *testing.T) {
	t.Parallel()
	const n = 5
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	g, busy, idle := randomGraph(rand.New(rand.NewPCG(seed, 0)), n)
	dir := place(t)
	sites := make([]site, n)
	for i := range sites {
		sites[i] = newSite(t, dir, fmt.Sprintf("s%d", i), cluster.Options{Nodes: 1, Cores: 1})
	}
	start(t, sites...)
	var lines []cluster.Line
	for i, row := range g {
		for j, e := range row {
			if e.known {
				lines = append(lines, line(sites[i], sites[j], fmt.Sprintf("--send=%t", e.send)))
			}
		}
	}
	know(t, lines...)
	for i, s := range sites {
		hears(t, s, sites, g[i])
	}

	type handed struct {
		at int
		id string
	}
	var jobs []handed
	for k := range 6 { // at one site more at once than it has cores, at another none
		for i, s := range sites {
			if i == idle || i != busy && k >= 2 {
				continue
			}
			id := work{program: "/bin/sleep", args: []string{"2"}, walltime: 4}.submit(t, s, dir, fmt.Sprintf("job%d-%d", i, k))
			jobs = append(jobs, handed{i, id})
		}
	}
	moved := 0
	for _, j := range jobs {
		s := sites[j.at]
		st := ended(t, s, j.id)
		if st.State != "COMPLETED" {
			t.Errorf("%s ended %s: %s", j.id, st.State, st.Reason)
		}
		if string(st.Owner) != s.Name {
			moved++
		}
		alongEdges(t, s, sites, g[j.at], j.id, string(st.Owner))
	}
	t.Logf("%d of %d jobs ran away from home", moved, len(jobs))
	if moved == 0 {
		t.Error("no job has moved: this shows nothing")
	}
}

// hears waits until a site sees alive whom it knows, and checks that it lists no other.
func hears(t *testing.T, s site, sites []site, row []edge) {
	t.Helper()
	var want, got []string
	for j, e := range row {
		if e.known {
			want = append(want, sites[j].Name)
		}
	}
	must(t, s.Sees(t.Context(), patience, want...))
	for _, v := range told[[]api.Site](t, s, "sites") {
		if v.Self {
			continue
		}
		got = append(got, string(v.Name))
		if e := row[slices.IndexFunc(sites, func(o site) bool { return o.Name == string(v.Name) })]; v.Send != e.send {
			t.Errorf("%s sends to %s: %t, and the file says %t", s.Name, v.Name, v.Send, e.send)
		}
	}
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("%s lists %v and knows %v", s.Name, got, want)
	}
}

// alongEdges checks that a job was offered, and went, only where its home may send.
func alongEdges(t *testing.T, home site, sites []site, row []edge, id, owner string) {
	t.Helper()
	may := []string{home.Name}
	for j, e := range row {
		if e.send {
			may = append(may, sites[j].Name)
		}
	}
	slices.Sort(may)
	for _, d := range decisions(t, home, id) {
		var asked []string
		for _, c := range d.Candidates {
			asked = append(asked, string(c.Site))
		}
		slices.Sort(asked)
		if !slices.Equal(asked, may) {
			t.Errorf("for %s were asked %v, and the graph allows %v", id, asked, may)
		}
	}
	if !slices.Contains(may, owner) {
		t.Errorf("%s went to %s, and the graph allows %v", id, owner, may)
	}
	for _, s := range sites {
		for _, st := range told[[]api.Status](t, s, "list") {
			if string(st.ID) == id && !slices.Contains(may, s.Name) {
				t.Errorf("%s is known at %s, and the graph allows %v", id, s.Name, may)
			}
		}
	}
}
