package torque

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gbroker/pbs/command"
	"gbroker/pbs/pbstest"
)

// replay makes commands that answer each call that is given with a recording in testdata, and all others with
// exit code 99; and tells what was called.
func replay(t *testing.T, answers map[string]string) (command.Runner, func() string) {
	t.Helper()
	dir := t.TempDir()
	log := filepath.Join(dir, "calls")
	scripts := make(map[string]string)
	for call, name := range answers {
		r := read(t, "testdata", name)
		base := filepath.Join(dir, strings.ReplaceAll(name, "/", "_"))
		for ending, text := range map[string][]byte{".out": r.stdout, ".err": r.stderr} {
			if err := os.WriteFile(base+ending, text, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		first, args, _ := strings.Cut(call, " ")
		scripts[first] += fmt.Sprintf("  '%s') cat '%s.out'; cat '%s.err' >&2; exit %d;;\n", args, base, base, r.exit)
	}
	for name, cases := range scripts {
		text := fmt.Sprintf("#!/bin/sh\ncat >/dev/null\nprintf '%%s\\n' \"%s $*\" >>'%s'\ncase \"$*\" in\n%sesac\nexit 99\n", name, log, cases)
		if err := pbstest.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	runner := command.Runner{Folders: []string{dir}, Limit: time.Minute}
	return runner, func() string {
		data, err := os.ReadFile(log)
		if err != nil {
			return ""
		}
		return string(data)
	}
}
