package pbstest

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/plan"
)

func testHostFile(t *testing.T, k Kind) {
	s := newSite(t, k)
	s.need(k.HostFile, "programs are not told their nodes")
	j := s.shell(`cat "$GBROKER_HOSTFILE"; echo $GBROKER_PROCESSES`)
	j.Job.Demand = s.whole(min(2, len(s.nodes)))
	s.end(s.submit(j))
	lines := strings.Fields(s.read(j, "stdout"))
	processes := j.Job.Demand.Processes()
	if len(lines) != processes+1 || lines[processes] != strconv.Itoa(processes) {
		t.Fatalf("host file and count of %d processes: %q", processes, lines)
	}
	on := map[string]int{}
	for _, name := range lines[:processes] {
		on[name]++
	}
	for name, n := range on {
		known := slices.ContainsFunc(s.nodes, func(node plan.Node) bool { return string(node.Name) == name })
		if !known || n != s.nodes[0].Cores {
			t.Errorf("%d processes on %s", n, name)
		}
	}
}

// where is what a running job has of each node.
func (s *site) where(j grid.Submission) (all []plan.Share, names []grid.NodeName) {
	s.Helper()
	s.until("the job is seen running", func() bool {
		shot := s.snapshot()
		i := slices.IndexFunc(shot.Running, func(r plan.Running) bool { return r.Job == j.ID.Job })
		if i < 0 {
			return false
		}
		all, names = shot.Running[i].Shares, nil
		for _, h := range all {
			names = append(names, shot.Nodes[h.Node].Name)
		}
		return true
	})
	return all, names
}

// Jobs of several nodes and several processes on each get them.
func testShapes(t *testing.T, k Kind) {
	s := newSite(t, k)
	full := s.nodes[0].Cores
	for _, c := range []struct {
		name         string
		chunk        grid.Chunk
		nodes, cores int // nodes 0: any number
	}{
		{"one core", grid.Chunk{Count: 1, Processes: 1, Cores: 1}, 1, 1},
		{"many cores anywhere", grid.Chunk{Count: full + 1, Processes: 1, Cores: 1}, 0, full + 1},
		{"a process of a whole node", grid.Chunk{Count: 1, Processes: 1, Cores: full}, 1, full},
		{"two whole nodes", grid.Chunk{Count: 2, Processes: full, Cores: full}, 2, 2 * full},
	} {
		if k.Narrow && c.nodes != 1 {
			continue
		}
		j := s.shell(untilGo)
		j.Job.Demand = grid.Demand{Chunks: []grid.Chunk{c.chunk}}
		if why := s.refused(j.Job.Demand); k.Live && why != nil {
			if id, err := s.Submit(t.Context(), j); !errors.Is(err, grid.ErrInvalid) {
				t.Errorf("%s: the plan refuses it (%s), and it is submitted as %q, %v", c.name, why.Reason, id, err)
			}
			t.Logf("%s: %s", c.name, why.Reason)
			continue
		}
		s.submit(j)
		s.awaitFile(j, "up")
		shares, names := s.where(j)
		cores, most := 0, 0
		for _, h := range shares {
			cores, most = cores+h.Cores, max(most, h.Cores)
		}
		if cores != c.cores || most > full || c.nodes > 0 && len(names) != c.nodes {
			t.Errorf("%s: it has %+v on %v", c.name, shares, names)
		}
		s.release(j)
		s.end(j)
	}
	j := s.shell(untilGo)
	j.Job.Demand = grid.Demand{Chunks: []grid.Chunk{{Count: 1, Processes: 1, Cores: 1}}, Exclusive: true}
	s.submit(j)
	s.awaitFile(j, "up")
	if shares, names := s.where(j); len(shares) != 1 || shares[0].Cores != full {
		t.Errorf("exclusively: it has %+v on %v", shares, names)
	}
	s.release(j)
}

// refused is why the plan refuses a demand, which a live system's configuration may.
func (s *site) refused(d grid.Demand) *grid.Refusal {
	s.Helper()
	return plan.Refuse(s.snapshot(), plan.Question{Demand: d, Limit: grid.Minute})
}

// Jobs that ask for a property or a named resource lie where there is one.
func testProperties(t *testing.T, k Kind) {
	s := newSite(t, k, standard...)
	some := false
	for _, n := range s.nodes {
		for _, p := range n.Properties {
			j := s.shell(untilGo)
			j.Job.Demand.Properties = []string{p}
			s.lies(j, p, func(n plan.Node) bool { return slices.Contains(n.Properties, p) })
			some = true
		}
		for _, r := range n.Resources {
			j := s.shell(untilGo)
			j.Job.Demand.Chunks[0].Resources = []grid.Resource{{Name: r.Name, Amount: 1}}
			s.lies(j, r.Name, func(n plan.Node) bool {
				return slices.ContainsFunc(n.Resources, func(o grid.Resource) bool { return o.Name == r.Name })
			})
			some = true
		}
	}
	s.need(some, "no node has a property or a named resource")
}

// Pieces that would fit on one node lie on several where their job asks for that, or the job is refused
// as a whole: it is never laid otherwise.
func testDistinctNodes(t *testing.T, k Kind) {
	s := newSite(t, k)
	j := s.shell(untilGo)
	j.Job.Demand = grid.Demand{Chunks: []grid.Chunk{{Count: 2, Processes: 1, Cores: 1}}, DistinctNodes: true}
	if r := plan.Refuse(s.snapshot(), plan.Question{Demand: j.Job.Demand, Limit: j.Limit}); r != nil {
		if _, err := s.Submit(t.Context(), j); err == nil {
			t.Errorf("the estimate is %+v, but it is taken", r)
		}
		return
	}
	s.submit(j)
	s.awaitFile(j, "up")
	if _, names := s.where(j); len(names) != 2 || names[0] == names[1] {
		t.Errorf("two pieces on nodes of their own lie on %v", names)
	}
	s.release(j)
	s.end(j)
}

// lies checks where a job lies.
func (s *site) lies(j grid.Submission, what string, on func(plan.Node) bool) {
	s.Helper()
	s.submit(j)
	s.awaitFile(j, "up")
	_, names := s.where(j)
	for _, name := range names {
		i := slices.IndexFunc(s.nodes, func(n plan.Node) bool { return n.Name == name })
		if i < 0 || !on(s.nodes[i]) {
			s.Errorf("a job that asks for %s lies on %v", what, names)
		}
	}
	s.release(j)
	s.end(j)
}

// together is one rank of a program: it ends when all of them have come.
const together = `echo x > rank.$PMI_RANK.$PMI_SIZE
while [ $(ls | grep -c '^rank[.]') -lt $PMI_SIZE ]; do sleep 0.05; done`

// A parallel program is started once for each process, over two whole nodes, all at once.
func testParallel(t *testing.T, k Kind) {
	s := newSite(t, k)
	_, err := os.Stat("/usr/bin/mpirun.mpich")
	s.need(err == nil, "there is no mpirun.mpich (Debian: mpich)")
	j := s.job(grid.Program{
		Executable: "/bin/sh", Arguments: []string{"-c", together}, Parallel: "MPICH",
	})
	j.Job.Demand = s.whole(min(2, len(s.nodes)))
	if p := s.end(s.submit(j)); p.Cause != grid.ByItself || p.ExitCode != 0 {
		t.Fatalf("ended %+v", p)
	}
	n := j.Job.Demand.Processes()
	made, err := filepath.Glob(filepath.Join(j.Work, "rank.*"))
	if err != nil || len(made) != n {
		t.Errorf("ranks that ran: %v, %v", made, err)
	}
	for i := range n {
		if !s.exists(j, "rank."+strconv.Itoa(i)+"."+strconv.Itoa(n)) {
			t.Errorf("rank %d of %d did not run", i, n)
		}
	}
}
