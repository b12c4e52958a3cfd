package jsdl

import (
	"errors"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"gbroker/grid"
)

// FuzzParse holds for any document: it does not panic; each mistake has a place in
// it and a bounded message; a document that is accepted keeps the limits of grid,
// and no path of it leaves the sandbox.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob("testdata/*.jsdl")
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		document, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(document)
	}
	for _, document := range []string{
		"", "<", "<a", "<a/>", "<a:b/>", "<!DOCTYPE a>", "<?xml?>", "\uFEFF<a/>", "<a>&#xD800;</a>", close,
		running("<p:WallTimeLimit>9e9</p:WallTimeLimit>"), needing(exact("TotalCPUCount", "1e3")),
		spmd("<s:NumberOfProcesses xsi:nil='1'/><s:ThreadsPerProcess>3</s:ThreadsPerProcess>", exact("TotalResourceCount", "2")),
		staging(entry("a", "b%20", "c") + entry("a", "", "d/e")), program(executable("x") + "<p:WorkingDirectory>../y</p:WorkingDirectory>"),
		needing(named("gpu:a100", "2") + "<g:Property>ib</g:Property><g:Queue>q</g:Queue>"),
	} {
		f.Add([]byte(document))
	}
	f.Fuzz(func(t *testing.T, document []byte) {
		d, err := Parse("job.jsdl", document)
		if err != nil {
			checkPlaces(t, err, document)
			return
		}
		checkJob(t, d)
		checkPrint(t, d)
		for _, there := range []bool{true, false} {
			uploads, outputs, err := d.Resolve(func(from string) (int64, uint32, error) {
				checkPath(t, from)
				if !there {
					return 0, 0, grid.ErrNotFound
				}
				return 1, 0o755, nil
			})
			if err != nil {
				checkPlaces(t, err, document)
				continue
			}
			targets := map[string]bool{}
			for _, u := range uploads {
				checkPath(t, u.Path)
			}
			for _, o := range outputs {
				checkPath(t, o.Path)
				if o.URI != "" {
					continue
				}
				checkPath(t, o.Target)
				if targets[o.Target] {
					t.Errorf("two outputs come back as %q", o.Target)
				}
				targets[o.Target] = true
			}
		}
	})
}

func checkPlaces(t *testing.T, err error, document []byte) {
	var list Errors
	if !errors.As(err, &list) || len(list) == 0 || len(list) > MaxErrors+1 {
		t.Fatalf("%T with %d mistakes", err, len(list))
	}
	lines := strings.Split(string(document), "\n")
	for _, e := range list {
		if e.Line < 1 || e.Line > len(lines) || e.Col < 1 || e.Col > len(lines[e.Line-1])+1 {
			t.Errorf("there is no line %d column %d: %s", e.Line, e.Col, e.Message)
		}
		if e.Message == "" || len(e.Message) > maxMessage+3 || !utf8.ValidString(e.Message) {
			t.Errorf("the message is %q", e.Message)
		}
	}
}

func checkPath(t *testing.T, p string) {
	if p == "" || p == "." || path.IsAbs(p) || path.Clean(p) != p || strings.HasPrefix(p, "..") && (len(p) == 2 || p[2] == '/') ||
		len(p) > grid.MaxPath || strings.ContainsAny(p, "\\\x00\n") || !utf8.ValidString(p) {
		t.Errorf("the path %q was let in", p)
	}
}

func checkJob(t *testing.T, d *Document) {
	pr := d.Job.Program
	if !path.IsAbs(pr.Executable) {
		checkPath(t, pr.Executable)
	} else if path.Clean(pr.Executable) != pr.Executable {
		t.Errorf("Executable %q was let in", pr.Executable)
	}
	for _, p := range []string{pr.Directory, pr.Input, pr.Output, pr.Error} {
		if p != "" {
			checkPath(t, p)
		}
	}
	for _, v := range pr.Environment {
		if !variableName(v.Name) || strings.ContainsRune(v.Value, 0) {
			t.Errorf("the variable %q was let in", v.Name)
		}
	}
	if n := d.Job.Demand.Processes(); n < 1 || n > grid.MaxProcesses || d.Job.Demand.Cores() > grid.MaxProcesses {
		t.Errorf("%d processes on %d cores", n, d.Job.Demand.Cores())
	}
	for _, c := range d.Job.Demand.Chunks {
		if c.Count < 1 || c.Processes < 1 || c.Cores < 0 || c.Memory < 0 || c.Memory > grid.MaxMemory {
			t.Errorf("the chunk %+v was let in", c)
		}
		if err := c.CheckResources(); err != nil {
			t.Error(err)
		}
	}
	if err := grid.CheckProperties(d.Job.Demand.Properties); err != nil {
		t.Error(err)
	}
	if err := errors.Join(grid.CheckHosts(d.Job.Demand.Hosts), grid.CheckMeasures(d.Job.Demand.Measures), d.Job.Terms.Check(), d.Job.Sites.Check(), d.Job.Warning.Check(), grid.CheckAccount(d.Job.Account), d.Job.About.Check()); err != nil {
		t.Error(err)
	}
	for _, b := range d.Job.Bring {
		if err := b.Check(); err != nil {
			t.Error(err)
		}
	}
	for _, s := range d.Job.Sources {
		checkPath(t, s.Path)
		if err := grid.CheckURI(s.URI); err != nil {
			t.Error(err)
		}
	}
	if d.Job.Walltime < 0 || d.Job.Walltime > grid.MaxWalltime || grid.CheckLimits(pr.Limits) != nil {
		t.Errorf("walltime %d, limits %v", d.Job.Walltime, pr.Limits)
	}
}
