package agent

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gbroker/pbs/pool/line"
)

// escape tries every way out of a sandbox that a program has under the agent's own account, and notes those that lead out. $1 is a folder outside, $2 that of the
// agent, $3 a process that is not the job's, where signals are kept from it, and $4 the same.
const escape = `
try() { if "$@" 2>/dev/null; then echo "$*" >> escaped; fi; }
tries() {
	try touch "$1/new"; try sh -c "echo x > $1/there"; try sh -c "echo x >> $1/there"; try truncate -s 0 "$1/there"; try rm "$1/there"; try mkdir "$1/folder"; try ln -s x "$1/link"
	try touch ../beside; try touch ../../beside; try sh -c 'echo > ../job.json'
	ln -sfn "$1" out; try touch out/new; try sh -c 'echo x > out/there'; ln -sfn "$1/there" file; try sh -c 'echo x > file'
	echo x > mine; try mv mine "$1/mine"; try ln mine "$1/mine"; try ln "$1/there" taken; try mv "$1/there" taken
	try touch /proc/self/cwd/../beside; try touch "/proc/$$/root$1/new"; try sh -c "cd / && touch .$1/new"
	try cat "$2/identity/key"; try cat "/proc/self/root$2/identity/key"; try ls "$2/identity"
}
tries "$@"
setsid sh -c 'touch "$1/new"' sh "$1" 2>/dev/null && echo "a session of its own" >> escaped
(env -i setsid sh -c '(sleep 0.1; touch "$1/new" 2>/dev/null && echo "a process of nobody" >> escaped; echo > left) &' sh "$1")
[ -z "$3" ] || { try kill -0 "$3"; }; try readlink "/proc/$4/root"; try ls "/proc/$4/root/"
mkdir a b && echo x > a/f && mv a/f b/f && ln b/f c && rm b/f && : > c || echo "it cannot work in its own folder" >> escaped
echo x > /dev/null && : > /dev/shm/gbroker.$$ && rm /dev/shm/gbroker.$$ && ls /usr > list && read -r x < /proc/self/status || echo "it cannot work" >> escaped
while ! [ -e left ]; do sleep 0.05; done
`

// A job writes nowhere but in its folder, reads the key of no computer, and signals nobody, by whatever way it goes: links, /proc, processes that have left it.
func TestJobStaysInside(t *testing.T) {
	t.Parallel()
	version := landlock()
	if version == 0 {
		t.Skip("the kernel has no Landlock that is of use")
	}
	outside, other := t.TempDir(), ""
	if err := os.WriteFile(filepath.Join(outside, "there"), []byte("here"), 0o666); err != nil {
		t.Fatal(err)
	}
	if version >= scopedLandlock {
		other = fmt.Sprint(os.Getpid())
	}
	p, f := launch(t, fmt.Sprintf("while ! [ -e go ]; do sleep 0.02; done; set -- %q ../../.. %q %d\n%s", outside, other, os.Getpid(), escape))
	home := filepath.Dir(filepath.Dir(string(f)))
	for _, name := range []string{filepath.Join(identityFolder(home), "key"), filepath.Join(f.work(), "go")} {
		if err := os.WriteFile(name, []byte("secret"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if o, err := p.Wait(t.Context()); err != nil || o.Cause != line.ByItself || o.ExitCode != 0 {
		t.Fatalf("it ended %+v, %v", o.End, err)
	}
	if text, err := os.ReadFile(filepath.Join(f.work(), "escaped")); err == nil {
		t.Errorf("it has come out, or cannot do what it may:\n%s", text)
	}
	list, err := os.ReadDir(outside)
	text, err2 := os.ReadFile(filepath.Join(outside, "there"))
	if err != nil || err2 != nil || len(list) != 1 || strings.TrimSpace(string(text)) != "here" {
		t.Errorf("outside there are now %v, and the file says %q: %v, %v", list, text, err, err2)
	}
}
