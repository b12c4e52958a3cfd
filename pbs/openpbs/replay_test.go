package openpbs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gbroker/pbs/command"
)

// answer is what a command says to arguments that match a pattern of the shell.
type answer struct {
	command, args  string
	stdout, stderr string
	exit           int
}

// recorded is an answer with what a recording in testdata says.
func recorded(t testing.TB, command, args, name string) answer {
	t.Helper()
	var r recording
	load(t, "testdata/recordings/"+name, &r)
	return answer{command, args, string(r.Stdout), string(r.Stderr), r.Exit}
}

// replay makes commands that give these answers, the first one that matches, and a client of
// them. asked is what was called, one command per line.
func replay(t testing.TB, c Config, answers ...answer) (client *Client, asked func() string) {
	t.Helper()
	dir := t.TempDir()
	scripts := map[string]string{}
	for i, a := range answers {
		base := filepath.Join(dir, fmt.Sprint(i))
		for suffix, text := range map[string]string{".out": a.stdout, ".err": a.stderr} {
			if err := os.WriteFile(base+suffix, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		pattern := strings.ReplaceAll(a.args, " ", `\ `)
		scripts[a.command] += fmt.Sprintf("case \"$*\" in %s) cat >&2 %s.err; cat %s.out; exit %d;; esac\n", pattern, base, base, a.exit)
	}
	answering, err := filepath.Abs("testdata/replay")
	if err != nil {
		t.Fatal(err)
	}
	for name, cases := range scripts {
		err := errors.Join(os.WriteFile(filepath.Join(dir, name+".cases"), []byte(cases), 0o600), os.Symlink(answering, filepath.Join(dir, name)))
		if err != nil {
			t.Fatal(err)
		}
	}
	c.Runner = command.Runner{Folders: []string{dir}}
	c.Rate = -1
	client, err = New(c)
	if err != nil {
		t.Fatal(err)
	}
	return client, func() string {
		text, _ := os.ReadFile(filepath.Join(dir, "log"))
		return string(text)
	}
}
