package pbstest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Shims are scripts in place of the commands of a batch system, for Hand.Stall and
// Hand.Deafen: each is the command itself, but while a shim stalls or is deaf.
type Shims struct {
	Folder string // of the scripts: the first on the path of whoever is to be troubled
	trials string // folder of the calls that are in trouble
}

// shim runs a command in a session of its own, so that it takes effect whatever becomes of
// the client, and hands its answer over when nobody stands in the way.
const shim = `#!/bin/sh
if [ ! -e %[1]s/stall ] && [ ! -e %[1]s/deaf ]; then exec %[2]s "$@"; fi
d=$(mktemp -d %[1]s/trials/XXXXXXXX) || exit 1
cat > "$d/in"
setsid sh -c 'd=$0
: > "$d/begun"
while [ -e %[1]s/stall ]; do sleep 0.05; done
"$@" < "$d/in" > "$d/out" 2> "$d/err"
echo $? > "$d/exit"' "$d" %[2]s "$@" < /dev/null > /dev/null 2>&1 &
while [ ! -s "$d/exit" ] || [ -e %[1]s/deaf ]; do sleep 0.05; done
cat "$d/out"
cat "$d/err" >&2
exit $(cat "$d/exit")
`

// NewShims makes them for commands, by their absolute paths. All calls have ended when
// the test has.
func NewShims(t testing.TB, commands ...string) *Shims {
	t.Helper()
	dir := folder(t)
	s := &Shims{Folder: filepath.Join(dir, "bin"), trials: filepath.Join(dir, "trials")}
	for _, d := range []string{s.Folder, s.trials} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(s.trials, 0o777); err != nil { // commands run under other accounts too
		t.Fatal(err)
	}
	for _, name := range commands {
		if strings.ContainsAny(dir+name, " '\"$\\\n") {
			t.Fatalf("a path that no script could hold: %s, %s", dir, name)
		}
		if err := WriteFile(filepath.Join(s.Folder, filepath.Base(name)), fmt.Appendf(nil, shim, dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() { s.settle(t) })
	return s
}

// settle waits until all calls that were in trouble have taken effect.
func (s *Shims) settle(t testing.TB) {
	for _, name := range []string{"stall", "deaf"} {
		os.Remove(filepath.Join(filepath.Dir(s.Folder), name))
	}
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(time.Minute); ; <-tick.C {
		begun, _ := filepath.Glob(filepath.Join(s.trials, "*", "begun"))
		done, _ := filepath.Glob(filepath.Join(s.trials, "*", "exit"))
		if len(begun) == len(done) {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("%d of %d commands in trouble never end", len(begun)-len(done), len(begun))
			return
		}
	}
}

// Stall is Hand.Stall.
func (s *Shims) Stall() (end func(), err error) { return s.trouble("stall") }

// Deafen is Hand.Deafen.
func (s *Shims) Deafen() (end func(), err error) { return s.trouble("deaf") }

func (s *Shims) trouble(name string) (end func(), err error) {
	name = filepath.Join(filepath.Dir(s.Folder), name)
	return func() { os.Remove(name) }, os.WriteFile(name, nil, 0o644)
}
