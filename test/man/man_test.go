package man

import (
	"context"
	"gbroker/test/cluster"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
)

var least = map[string]int{"gclient": 14, "gbroker": 15, "gsim": 5, "gbroker-agent": 6}

// sources reads what the programs' commands are made of: so go test knows what a kept result depends on.
func sources(t *testing.T) {
	for _, dir := range []string{"../../cmd", "../../internal/cli"} {
		err := filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(p, ".go") {
				return err
			}
			_, err = os.ReadFile(p)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestEveryCommandHasAPage(t *testing.T) {
	t.Parallel()
	sources(t)
	for program, n := range least {
		t.Run(program, func(t *testing.T) {
			t.Parallel()
			pages := manual(t, program)
			if len(pages) < n {
				t.Fatalf("%d pages", len(pages))
			}
			for _, p := range pages {
				check(t, p)
			}
		})
	}
}

func TestMain(m *testing.M) {
	code := m.Run()
	os.RemoveAll(own)
	os.Exit(code)
}

// own is a folder for programs that are built here.
var own string

// built is the folder of the programs, once for all tests.
var built = sync.OnceValues(func() (string, error) {
	var err error
	if own, err = os.MkdirTemp("", "gb-man-"); err != nil {
		return "", err
	}
	p, err := cluster.Build(context.Background(), "../..", own)
	return filepath.Dir(p.Gbroker), err
})

// manual has a program write its pages.
func manual(t *testing.T, program string) []string {
	programs, err := built()
	if err != nil {
		t.Fatal(err)
	}
	dir, exe := t.TempDir(), filepath.Join(programs, program)
	if out, err := exec.CommandContext(t.Context(), exe, "man", dir).CombinedOutput(); err != nil || len(out) > 0 {
		t.Fatalf("%v: %s", err, out)
	}
	pages, err := filepath.Glob(filepath.Join(dir, program+"*.1"))
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

var codes = regexp.MustCompile(`(?m)^\.SH EXIT STATUS\n.*[0-9]`)

// check looks for the parts of a page. A command that only holds others needs no example.
func check(t *testing.T, file string) {
	b, err := os.ReadFile(file)
	text := string(b)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.TrimSuffix(filepath.Base(file), ".1")
	for _, part := range []string{".SH NAME\n", ".SH SYNOPSIS\n", ".SH DESCRIPTION\n"} {
		if !strings.Contains(text, part) {
			t.Errorf("%s lacks %q", name, part)
		}
	}
	if !strings.Contains(text, ".SH EXAMPLES\n.nf\n") && !strings.Contains(text, ".SH COMMANDS\n") {
		t.Errorf("%s has no example", name)
	}
	if !codes.MatchString(text) {
		t.Errorf("%s tells no exit codes", name)
	}
	groff, err := exec.LookPath("groff")
	if err != nil {
		return
	}
	out, err := exec.CommandContext(t.Context(), groff, "-man", "-Tutf8", "-ww", "-rLL=80n", file).CombinedOutput()
	if err != nil || strings.Contains(string(out), "warning") && strings.Contains(string(out), file) {
		t.Errorf("%s: %v: %s", name, err, out)
	}
}
