package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"gbroker/api"
	"gbroker/test/cluster"
)

// sweepOf writes a document that stands for n jobs of a program, each with its number as the argument.
func sweepOf(t *testing.T, dir, program string, n, atOnce int) string {
	t.Helper()
	text := fmt.Sprintf(`<JobDefinition xmlns="http://schemas.ggf.org/jsdl/2005/11/jsdl" xmlns:p="http://schemas.ggf.org/jsdl/2005/11/jsdl-posix"
  xmlns:s="http://schemas.ogf.org/jsdl/2009/03/sweep" xmlns:f="http://schemas.ogf.org/jsdl/2009/03/sweep/functions" xmlns:gb="urn:gbroker:jsdl:1">
  <JobDescription>
    <JobIdentification><JobName>sweep</JobName></JobIdentification>
    <Application><p:POSIXApplication>
      <p:Executable>%s</p:Executable><p:Argument>N</p:Argument><p:Output>out.txt</p:Output><p:WallTimeLimit>30</p:WallTimeLimit>
    </p:POSIXApplication></Application>
  </JobDescription>
  <s:Sweep gb:atOnce="%d"><s:Assignment>
    <s:DocumentNode><s:NamespaceBinding prefix="q" ns="http://schemas.ggf.org/jsdl/2005/11/jsdl-posix"/><s:Match>//q:Argument[1]</s:Match></s:DocumentNode>
    <f:LoopInteger start="1" end="%d"/>
  </s:Assignment></s:Sweep>
</JobDefinition>
`, program, atOnce, n)
	file := filepath.Join(dir, "sweep.jsdl")
	must(t, os.WriteFile(file, []byte(text), 0o644))
	return file
}

// three sites that know each other.
func three(t *testing.T, dir string) (a, b, c *cluster.Site) {
	t.Helper()
	sites := make([]*cluster.Site, 3)
	for i, name := range []string{"a", "b", "c"} {
		sites[i] = newSite(t, dir, name, cluster.Options{Nodes: 2, Cores: 4})
	}
	start(t, sites...)
	must(t, cluster.Mesh(t.Context(), sites...))
	must(t, sites[0].Sees(t.Context(), patience, "b", "c"))
	return sites[0], sites[1], sites[2]
}

// A sweep is made while its broker is killed: each of its jobs runs once, with its own number and
// the file that all share, no more at once than may be, and each can be named.
func TestASweepThroughKills(t *testing.T) {
	t.Parallel()
	dir := place(t)
	s := newSite(t, dir, "a", cluster.Options{Nodes: 1, Cores: 4})
	start(t, s)
	ledger := filepath.Join(dir, "ledger")
	must(t, os.WriteFile(filepath.Join(dir, "run.sh"), fmt.Appendf(nil, "#!/bin/sh\njob=$(printf job%%02d $(($1 - 1)))\necho start $job >> %[1]s; sleep 0.05; echo end $job >> %[1]s; echo this was $1 $(cat far/more/word)\n", ledger), 0o755))
	must(t, os.MkdirAll(filepath.Join(dir, "far", "more"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "far", "more", "word"), []byte("included"), 0o644))
	const parts = 40
	args := []string{"submit", "--key", "the-sweep", "--include", filepath.Join(dir, "far"), sweepOf(t, dir, "run.sh", parts, 5)}
	for moment := range 4 {
		cmd := s.Command(t.Context(), args...)
		must(t, cmd.Start())
		time.Sleep(time.Duration(20+150*moment) * time.Millisecond) //house:allow sleep: the moment of the kill is what is tested
		s.Kill()
		_ = cmd.Wait()
		start(t, s)
	}
	id := strings.TrimSpace(client(t, s, args...))
	client(t, s, "wait", id, "--timeout", "90s")
	onceEach(t, ledger, parts)
	if list := told[[]api.GroupStatus](t, s, "list", "--groups"); len(list) != 1 || list[0].States["COMPLETED"] != parts || list[0].Over != parts {
		t.Errorf("the groups are %+v", list)
	}
	out, one := filepath.Join(dir, "out"), strings.Replace(id, ".all", ".17", 1)
	client(t, s, "output", one, out)
	if text, err := os.ReadFile(filepath.Join(out, "out.txt")); err != nil || string(text) != "this was 17 included\n" {
		t.Errorf("output %q, %v", text, err)
	}
	if page := told[api.GroupStatus](t, s, "status", id, "--after", "38"); len(page.Members) != 2 || string(page.Members[0].ID) != strings.Replace(id, ".all", ".39", 1) {
		t.Errorf("the last page is %+v", page.Members)
	}
	client(t, s, "remove", id)
	eventually(t, "no job is left of a sweep that is removed", func() bool { return len(jobs(t, s)) == 0 })
}

// A sweep of so many jobs of no work, over three sites, to its end: make bench-sweep.
func TestBenchSweep(t *testing.T) {
	n, _ := strconv.Atoi(os.Getenv("GBROKER_BENCH_SWEEP"))
	if n == 0 {
		t.Skip("GBROKER_BENCH_SWEEP is not set: make bench-sweep sets it")
	}
	dir := place(t)
	a, _, _ := three(t, dir)
	file := sweepOf(t, dir, "/bin/true", n, n)
	before := time.Now()
	id := strings.TrimSpace(client(t, a, "submit", file))
	accepted := time.Since(before)
	ctx, done := context.WithTimeout(t.Context(), time.Hour)
	defer done()
	if out, err := a.Command(ctx, "wait", id).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	took := time.Since(before)
	at := map[string]int{}
	for after := 0; after < n; after += 1000 {
		for _, m := range told[api.GroupStatus](t, a, "status", id, "--after", strconv.Itoa(after), "--limit", "1000").Members {
			at[string(m.Owner)]++
		}
	}
	info, err := os.Stat(filepath.Join(a.Dir, "data", "journal.db"))
	must(t, err)
	t.Logf("%d jobs: accepted in %v, ended after %v, %.0f a second; at %v; the journal of the home has %d bytes, %d a job",
		n, accepted.Round(time.Millisecond), took.Round(time.Second), float64(n)/took.Seconds(), at, info.Size(), info.Size()/int64(n))
}
