package pbstest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gbroker/grid"
)

func testNeverRan(t *testing.T, k Kind) {
	s := newSite(t, k)
	for _, c := range []struct {
		name    string
		program grid.Program
		content string
		mode    os.FileMode
		detail  []string
	}{
		{"relative and not there", grid.Program{Executable: "nothere"}, "", 0, []string{`"nothere"`, "does not exist"}},
		{"not by PATH", grid.Program{Executable: "sh", Arguments: []string{"-c", "exit 0"}}, "", 0, []string{`"sh"`, "PATH is not searched"}},
		{"absolute and not there", grid.Program{Executable: "/no/such/program"}, "", 0, []string{`"/no/such/program"`, "does not exist", "here"}},
		{"no permission", grid.Program{Executable: "p"}, "#!/bin/sh\n", 0o644, []string{`"p"`, "not executable"}},
		{"bad interpreter", grid.Program{Executable: "p"}, "#!/no/interpreter -x\n", 0o755, []string{`"p"`, "/no/interpreter"}},
		{"no program", grid.Program{Executable: "p"}, "\x01\x02 hello\n", 0o755, []string{`"p"`, "neither a program"}},
		{"a folder", grid.Program{Executable: "/tmp"}, "", 0, []string{`"/tmp"`, "not executable"}},
		{"no name", grid.Program{}, "", 0, []string{"no executable"}},
		{"no input", grid.Program{Executable: "/bin/true", Input: "nothere"}, "", 0, []string{`"nothere"`, "input file"}},
		{"unknown parallel kind", grid.Program{Executable: "/bin/true", Parallel: "PVM"}, "", 0, []string{`"PVM"`, "here"}},
	} {
		j := s.job(c.program)
		if c.mode != 0 {
			s.write(j, "p", c.content, c.mode)
		}
		p := s.end(s.submit(j))
		if p.Cause != grid.NeverRan || p.Started != 0 {
			t.Errorf("%s: ended %+v", c.name, p)
		}
		for _, want := range c.detail {
			if !strings.Contains(p.Detail, want) {
				t.Errorf("%s: detail %q does not say %q", c.name, p.Detail, want)
			}
		}
	}
}

// Nothing outside the sandbox is opened, made or cut short, by whatever name.
func testStaysInSandbox(t *testing.T, k Kind) {
	s := newSite(t, k)
	outside := t.TempDir()
	precious := filepath.Join(outside, "precious")
	if err := os.WriteFile(precious, []byte("precious"), 0o644); err != nil {
		t.Fatal(err)
	}
	sh := func(p grid.Program) grid.Program {
		p.Executable, p.Arguments = "/bin/sh", []string{"-c", "echo spoilt; cat"}
		return p
	}
	for _, c := range []struct {
		name    string
		program grid.Program
		link    string // to precious
		folder  string // a link to the folder outside
	}{
		{name: "output is a link", program: sh(grid.Program{Output: "o"}), link: "o"},
		{name: "default output is a link", program: sh(grid.Program{}), link: "stdout"},
		{name: "error is a link", program: sh(grid.Program{Error: "e"}), link: "e"},
		{name: "input is a link", program: sh(grid.Program{Input: "i"}), link: "i"},
		{name: "a folder of output is a link", program: sh(grid.Program{Output: "f/precious"}), folder: "f"},
		{name: "new folders under a link", program: sh(grid.Program{Output: "f/new/o"}), folder: "f"},
		{name: "the working directory is a link", program: sh(grid.Program{Directory: "f"}), folder: "f"},
		{name: "dots", program: sh(grid.Program{Output: "../../precious"})},
		{name: "dots from the directory", program: sh(grid.Program{Directory: "a", Output: "../../x"})},
		{name: "working directory by dots", program: sh(grid.Program{Directory: "a/../.."})},
		{name: "absolute output", program: sh(grid.Program{Output: precious})},
		{name: "absolute directory", program: sh(grid.Program{Directory: outside})},
	} {
		j := s.job(c.program)
		for name, target := range map[string]string{c.link: precious, c.folder: outside} {
			if name == "" {
				continue
			}
			if err := os.Symlink(target, filepath.Join(j.Work, name)); err != nil {
				t.Fatal(err)
			}
		}
		p := s.end(s.submit(j))
		if p.Cause != grid.NeverRan || !strings.Contains(p.Detail, "sandbox") {
			t.Errorf("%s: ended %+v", c.name, p)
		}
		if data, err := os.ReadFile(precious); err != nil || string(data) != "precious" {
			t.Fatalf("%s: the file outside is now %q, %v", c.name, data, err)
		}
		if all, err := os.ReadDir(outside); err != nil || len(all) != 1 {
			t.Fatalf("%s: outside there is now %v, %v", c.name, all, err)
		}
	}
}

func testInheritsNothing(t *testing.T, k Kind) {
	s := newSite(t, k)
	j := s.submit(s.shell("ls /proc/self/fd | wc -l"))
	s.end(j)
	// ls itself has the three standard files and the folder it lists open.
	if got := s.read(j, "stdout"); got != "4\n" {
		t.Errorf("the program has inherited open files: %q", got)
	}
}
