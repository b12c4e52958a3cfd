package api

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"gbroker/grid"
)

// aSweep stands for jobs with the arguments 1 to n, and brings run.sh and mesh.dat.
func aSweep(n int, more string) Submission {
	return Submission{Name: "sweep.jsdl", Document: fmt.Sprintf(`<JobDefinition xmlns="http://schemas.ggf.org/jsdl/2005/11/jsdl" xmlns:p="http://schemas.ggf.org/jsdl/2005/11/jsdl-posix"
  xmlns:s="http://schemas.ogf.org/jsdl/2009/03/sweep" xmlns:f="http://schemas.ogf.org/jsdl/2009/03/sweep/functions" xmlns:x="urn:else">
  <JobDescription>
    <JobIdentification><JobName>sweep</JobName></JobIdentification>
    <Application><p:POSIXApplication><p:Executable>run.sh</p:Executable><p:Argument>N</p:Argument><p:Output>out</p:Output></p:POSIXApplication></Application>
    <DataStaging><FileName>mesh</FileName><CreationFlag>overwrite</CreationFlag><Source><URI>mesh.dat</URI></Source></DataStaging>%s
  </JobDescription>
  <s:Sweep><s:Assignment>
    <s:DocumentNode><s:NamespaceBinding prefix="q" ns="http://schemas.ggf.org/jsdl/2005/11/jsdl-posix"/><s:Match>//q:Argument[1]</s:Match></s:DocumentNode>
    <f:LoopInteger start="1" end="%d"/>
  </s:Assignment></s:Sweep>
</JobDefinition>
`, more, n), Files: []File{{Path: "mesh.dat", Size: 7, Mode: 0o644}, {Path: "run.sh", Size: 5, Mode: 0o755}}}
}

func paths(m grid.Manifest) (list []string) {
	for _, f := range m {
		list = append(list, f.Path)
	}
	return list
}

// A sweep is a template and a count; its jobs are made from the template alone, each with its own number, with the
// files that the document names by their names in the sandbox, and those that are included.
func TestSweepsAreTemplates(t *testing.T) {
	t.Parallel()
	s := &Server{config: Config{DefaultWalltime: grid.Hour}}
	sub := aSweep(100_000, "")
	sub.Include, sub.Credentials = []File{{Path: "table/a.csv", Size: 3, Mode: 0o600}}, "secret"
	n, err := s.readSweep(&sub)
	if err != nil {
		t.Fatal(err)
	}
	if n.Count != 100_000 || n.Name != "sweep" || string(n.Credentials) != "secret" || !slices.Equal(paths(n.Template.Inputs), []string{"mesh.dat", "run.sh", "table/a.csv"}) {
		t.Errorf("made is %+v of %v", n, n.Template.Inputs)
	}
	job, err := Expand(*n.Template)
	if err != nil {
		t.Fatal(err)
	}
	j, err := job(4711)
	if err != nil || j.Program.Arguments[0] != "4711" || j.Walltime != grid.Hour || !slices.Equal(paths(j.Inputs), []string{"mesh", "run.sh", "table/a.csv"}) {
		t.Errorf("job 4711 is %+v, %v", j, err)
	}
	if size := n.Template.Size(); size > 16<<10 {
		t.Errorf("100,000 jobs take %d bytes", size)
	}
	other := aSweep(100_000, "")
	o, err := s.readSweep(&other)
	if err != nil || o.Digest == n.Digest {
		t.Errorf("without the included file it counts as the same: %v", err)
	}
}

// What cannot be is refused before anything is taken.
func TestSweepsThatAreRefused(t *testing.T) {
	t.Parallel()
	s := &Server{config: Config{DefaultWalltime: grid.Hour}}
	with := func(f func(*Submission)) Submission {
		sub := aSweep(3, "")
		f(&sub)
		return sub
	}
	for _, c := range []struct {
		sub  Submission
		says string
	}{
		{with(func(s *Submission) { s.Include = []File{{Path: "mesh"}} }), `the file "mesh" cannot be included: the document brings a file of that name`},
		{with(func(s *Submission) { s.Include = []File{{Path: "mesh.dat"}} }), `the file "mesh.dat" cannot be included: the document brings a file of that name`},
		{with(func(s *Submission) { s.Include = []File{{Path: "out"}} }), `the file "out" cannot be included: the job leaves a file of that name`},
		{with(func(s *Submission) { s.Include = []File{{Path: "a"}, {Path: "a"}} }), `it is included twice`},
		{with(func(s *Submission) { s.Files = s.Files[:1] }), "run.sh"},
		{aSweep(3, `<x:odd/>`), "urn:else"},
		{aSweep(100_001, ""), "more than 100000 jobs"},
		{Submission{Name: "one.jsdl", Document: strings.ReplaceAll(aSweep(1, "").Document, "2009/03/sweep", "2009/03/other")}, "has no Sweep"},
	} {
		if _, err := s.readSweep(&c.sub); err == nil || !errors.Is(err, grid.ErrInvalid) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("it says %v, and should say %q", err, c.says)
		}
	}
	lenient := aSweep(3, `<x:odd/>`)
	lenient.Lenient = true
	n, err := s.readSweep(&lenient)
	if err != nil {
		t.Fatalf("lenient: %v", err)
	}
	if job, err := Expand(*n.Template); err != nil {
		t.Error(err)
	} else if _, err := job(2); err != nil {
		t.Errorf("its jobs are not: %v", err)
	}
}

// A sweep is accepted for what its document takes, however many jobs it stands for.
func TestSweepsAreAcceptedWhole(t *testing.T) {
	s := &Server{config: Config{DefaultWalltime: grid.Hour}}
	bytes := func(n int) uint64 {
		sub := aSweep(n, "")
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := s.readSweep(&sub)
		runtime.ReadMemStats(&after)
		if err != nil {
			t.Fatal(err)
		}
		return after.TotalAlloc - before.TotalAlloc
	}
	bytes(10_000) // what is made once
	if few, many := bytes(10_000), bytes(grid.MaxSweep); many > few+few/4 {
		t.Errorf("a sweep of 10,000 jobs takes %d bytes to accept, one of %d %d", few, grid.MaxSweep, many)
	}
}

// The time for that: 5 s are the goal.
func BenchmarkSweepOf100000(b *testing.B) {
	s := &Server{config: Config{DefaultWalltime: grid.Hour}}
	b.ReportAllocs()
	for b.Loop() {
		sub := aSweep(grid.MaxSweep, "")
		if _, err := s.readSweep(&sub); err != nil {
			b.Fatal(err)
		}
	}
}
