package wrapper

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gbroker/grid"
	"gbroker/pbs/control"
	"gbroker/pbs/pbstest"
)

// No command is substituted in a form that bash 5.2 reads anew while a trap may be due.
func TestSubstitutionsAreInBackQuotes(t *testing.T) {
	t.Parallel()
	n := newNode(t, nil, sh("\n"))
	script, err := Script(n.Spec)
	if err != nil {
		t.Fatal(err)
	}
	for number, line := range strings.Split(string(script), "\n") {
		if strings.Contains(strings.ReplaceAll(line, "$((", ""), "$(") {
			t.Errorf("line %d: %s", number+1, line)
		}
	}
}

// commands are those of the wrapper up to its program.
const commands = "awk cat date dd env grep ln ls mkdir mv od rm sed sleep sync tr uname"

// TERM that comes while any one of the wrapper's commands runs, at the barrier, with the token or at the program's start, ends
// the attempt as told to end.
func TestTermAtEachCommand(t *testing.T) {
	t.Parallel()
	overShells(t, func(t *testing.T, shell []string) {
		for whom, process := range map[string]string{"the wrapper": `"$leader"`, "all": "0"} { // batch systems do the one or the other
			t.Run(whom, func(t *testing.T) {
				t.Parallel()
				for nth := 1; termAt(t, shell, nth, process); nth++ {
				}
			})
		}
	})
}

// termAt runs a part whose others have arrived, and sends TERM to a process, a word of the shell, with the wrapper's nth command.
// It tells whether there are so many.
func termAt(t *testing.T, shell []string, nth int, process string) bool {
	n := newNode(t, shell, grid.Program{Executable: "program", Parallel: "MPICH"})
	n.write("program", "#!/bin/sh\n", 0o755)
	n.Processes, n.Ports, n.Path, n.Reached = 2, grid.DefaultPorts, t.TempDir(), true
	n.Part = &grid.Part{
		Of: "home.01ABCDEFGHJKMNPQRSTVWXYZ00", Sites: []grid.PartSite{{Name: "here", Processes: 2}},
		Start: control.Now(), Grace: grid.Minute, Within: grid.Minute,
	}
	starter := "#!/bin/sh\n[ \"$1\" != --version ] || { echo HYDRA; exit; }\necho ran > ran\nexec sleep 100\n"
	if err := errors.Join(
		pbstest.WriteFile(filepath.Join(n.Path, "mpirun"), []byte(starter), 0o755),
		control.WriteGo(n.Control, n.ID, []grid.Gathered{{Site: "here", Hosts: []string{"here:2"}, Rendezvous: "here:20007"}}),
		control.WriteBegun(n.Control, n.ID),
	); err != nil {
		t.Fatal(err)
	}
	last := tellAt(n, nth, process)
	cmd := n.command()
	said := filepath.Join(t.TempDir(), "said")
	file, err := os.Create(said)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	cmd.Stderr = file
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		cmd.Wait()
		close(done)
	}()
	t.Cleanup(func() {
		syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		<-done
	})
	told := func() bool { _, err := os.Stat(last); return err == nil }
	n.until("it is told to end or its program runs", func() bool {
		_, runs, _ := control.ReadRun(n.Control, n.ID)
		return told() || runs && n.exists("ran")
	})
	more := told()
	if !more {
		cmd.Process.Signal(syscall.SIGTERM)
	}
	n.await(done)
	what, _ := os.ReadFile(last)
	words, _ := os.ReadFile(said)
	end, ended, err := control.ReadEnd(n.Control, n.ID)
	if code := cmd.ProcessState.ExitCode(); code != 143 || err != nil || ended != n.started() || ended && (end.Signal != 15 || end.Cause != grid.Disappeared) {
		t.Errorf("TERM with command %d, %s: it ended with %d, and says %+v, %v, %v: %s", nth, what, code, end, ended, err, words)
	}
	return more
}

// tellAt makes the wrapper's nth command send TERM to a process first, and returns the file that is there once it has.
func tellAt(n *node, nth int, process string) (last string) {
	n.Helper()
	folder := n.TempDir()
	last = filepath.Join(folder, "told")
	for name := range strings.FieldsSeq(commands) {
		script := fmt.Sprintf(`#!/bin/sh
cd %s
echo >>count
nth=0
while read -r _; do nth=$((nth + 1)); done <count
if [ $nth -ge %d ] && (set -C; echo "%[3]s $*" >told) 2>/dev/null; then
	read -r _ _ _ _ _ leader _ </proc/self/stat
	kill -TERM %[4]s
fi
cd "$OLDPWD"
exec /usr/bin/%[3]s "$@"
`, folder, nth, name, process)
		if err := pbstest.WriteFile(filepath.Join(folder, name), []byte(script), 0o755); err != nil {
			n.Fatal(err)
		}
	}
	n.env = append([]string{"PATH=" + folder + ":/usr/bin:/bin"}, n.env[1:]...)
	return last
}
