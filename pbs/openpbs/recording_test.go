package openpbs

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"gbroker/pbs/command"
)

// fixtures is where the recordings of a real OpenPBS lie, beside the repository.
const fixtures = "../../../shared/fixtures/openpbs"

// recording is one command as it was run, and what it left.
type recording struct {
	folder, name, account string
	line                  string // as it was typed
	command.Result
}

func (r recording) call() command.Call { return command.Call{Name: r.line} }

// entry is a line of a README: NAME (as ACCOUNT): COMMAND.
var entry = regexp.MustCompile(`^(\S+) \(as (\w+)(?: on \w+)?\): ?(.*)$`)

// recordings reads all of them.
func recordings(t testing.TB) []recording {
	t.Helper()
	readmes, err := filepath.Glob(fixtures + "/*/README")
	if err != nil || len(readmes) == 0 {
		t.Skipf("no recordings in %s", fixtures)
	}
	var all []recording
	for _, path := range readmes {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range strings.Split(string(text), "\n") {
			m := entry.FindStringSubmatch(line)
			if m == nil {
				continue
			}
			// One that is named was not kept.
			if _, err := os.Stat(filepath.Join(filepath.Dir(path), m[1]+".exit")); err == nil {
				all = append(all, read(t, filepath.Dir(path), m))
			}
		}
	}
	return append(all, later(t)...)
}

// later are the recordings of folders whose commands lie in files NAME.cmd.
func later(t testing.TB) (all []recording) {
	t.Helper()
	commands, err := filepath.Glob(fixtures + "/*/*.cmd")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range commands {
		line, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		base := strings.TrimSuffix(path, ".cmd")
		r := recording{folder: filepath.Base(filepath.Dir(path)), name: filepath.Base(base), line: strings.TrimSpace(string(line))}
		load(t, base, &r)
		all = append(all, r)
	}
	return all
}

func read(t testing.TB, folder string, m []string) recording {
	t.Helper()
	r := recording{folder: filepath.Base(folder), name: m[1], account: m[2], line: m[3]}
	load(t, filepath.Join(folder, m[1]), &r)
	return r
}

func load(t testing.TB, base string, r *recording) {
	t.Helper()
	var exit []byte
	for suffix, to := range map[string]*[]byte{".stdout": &r.Stdout, ".stderr": &r.Stderr, ".exit": &exit} {
		text, err := os.ReadFile(base + suffix)
		if err != nil {
			t.Fatal(err)
		}
		*to = text
	}
	var err error
	if r.Exit, err = strconv.Atoi(strings.TrimSpace(string(exit))); err != nil {
		t.Fatal(err)
	}
}
