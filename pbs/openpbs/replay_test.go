package openpbs

import (
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
		scripts[a.command] += fmt.Sprintf("%s) cat >&2 %s.err; cat %s.out; exit %d;;\n", pattern, base, base, a.exit)
	}
	log := filepath.Join(dir, "log")
	for name, cases := range scripts {
		text := fmt.Sprintf("#!/bin/sh\necho \"${0##*/} $*\" >>%s\n[ $# -gt 0 ] || set -- ''\ncase \"$*\" in\n%s*) echo \"nobody expected $*\" >&2; exit 99;;\nesac\n", log, cases)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	c.Runner = command.Runner{Folders: []string{dir}}
	c.Rate = -1
	client, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return client, func() string {
		text, _ := os.ReadFile(log)
		return string(text)
	}
}
