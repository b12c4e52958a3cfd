package accounts

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"gbroker/test/fakebatch"
	"gbroker/test/fakebatch/batch"
)

// world is a broker that runs as gbroker, beside a batch system that is root's.
type world struct {
	*testing.T
	batch *fakebatch.Server
	file  string
}

const socket = Top + "/gbroker/socket"

// as is a command as an account, with the batch system on its PATH.
func (w *world) as(account string, words ...string) *exec.Cmd {
	cmd := exec.CommandContext(w.Context(), words[0], words[1:]...)
	cmd.Dir = Top
	cmd.Env = []string{"PATH=" + w.batch.Path(), "HOME=" + filepath.Join(Top, account), "GBROKER=unix://" + socket}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: Credential(account), Pdeathsig: syscall.SIGKILL}
	return cmd
}

// says runs a command that must end well, and gives what it prints.
func (w *world) says(account string, words ...string) string {
	w.Helper()
	cmd := w.as(account, words...)
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		w.Fatalf("%s: %v: %v\n%s%s", account, words, err, out, errs.String())
	}
	return strings.TrimSpace(string(out))
}

// begin makes the programs, a batch system with a face, and a site over it whose jobs run under the
// accounts of their users, by sudo.
func begin(t *testing.T, face string) *world {
	t.Helper()
	t.Setenv("TMPDIR", Top+"/batch")
	w := &world{T: t, batch: fakebatch.Start(t, batch.Config{Face: face, Accounts: true})}
	if err := os.Remove(filepath.Join(w.batch.Bin, "sudo")); err != nil { // the real one is to be met
		t.Fatal(err)
	}
	if err := os.Remove(Program); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"gbroker", "gclient"} {
		if err := copyProgram(filepath.Join(os.Getenv(programs), name), filepath.Join(Top, "bin", name)); err != nil {
			t.Fatal(err)
		}
	}
	pass(t, Top+"/gbroker")
	w.says("gbroker", Program, "init", "--dir", Top+"/gbroker/site", "--site", "a", "--batch", face, "--socket", socket, "--listen", "/ip4/127.0.0.1/tcp/0")
	w.file = Top + "/gbroker/site/gbroker.yaml"
	text, err := os.ReadFile(w.file)
	if err != nil {
		t.Fatal(err)
	}
	mapped := strings.Replace(string(text), "\nbatch:\n", "\nsandboxes: /mnt/gbroker/jobs\nbatch:\n  refresh: 1s\n  users: {map: {alice: alice}, otherwise: refuse}\n  as: sudo\n", 1)
	if err := os.WriteFile(w.file, []byte(mapped), 0o644); err != nil {
		t.Fatal(err)
	}
	return w
}

// serve runs the daemon until the test ends.
func (w *world) serve() {
	w.Helper()
	cmd := w.as("gbroker", Program, "run", "--config", w.file)
	var log bytes.Buffer
	cmd.Stderr = &log
	if err := cmd.Start(); err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		cmd.Wait() // killed with the test's context, if need be
		if w.Failed() {
			w.Logf("the daemon's log:\n%s", log.String())
		}
	})
	w.until("the daemon serves", func() bool {
		_, err := os.Stat(Top + "/gbroker/site/ready")
		return err == nil
	})
}

// refuses: a daemon that can never become another account says so at its start.
func (w *world) refuses() {
	w.Helper()
	setpriv, err := exec.LookPath("setpriv")
	if err != nil {
		w.Log("no setpriv (Debian package util-linux): a daemon without new privileges is not tried")
		return
	}
	cmd := w.as("gbroker", setpriv, "--no-new-privs", Program, "run", "--config", w.file)
	late := time.AfterFunc(30*time.Second, func() { cmd.Process.Kill() })
	defer late.Stop()
	if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "NoNewPrivileges=no") {
		w.Errorf("without new privileges: %v: %s", err, out)
	}
}

func (w *world) until(what string, done func() bool) {
	w.Helper()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(2 * time.Minute); !done(); <-tick.C {
		if time.Now().After(end) {
			w.Fatalf("not in two minutes: %s", what)
		}
	}
}

type status struct {
	State  string `json:"state"`
	Reason string `json:"reason"`
	Exit   *int   `json:"exit_code"`
}

func (w *world) status(id string) (s status) {
	w.Helper()
	text := w.says("alice", Top+"/bin/gclient", "status", "--json", id)
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		w.Fatalf("%v: %s", err, text)
	}
	return s
}

// hands hands in a script of alice's, with a file that it brings and those that it leaves.
func (w *world) hands(script string, brings string, takes ...string) (id string) {
	w.Helper()
	var staging strings.Builder
	stage := func(kind, name string) {
		fmt.Fprintf(&staging, "<DataStaging><FileName>%s</FileName><CreationFlag>overwrite</CreationFlag><%s><URI>%[1]s</URI></%[2]s></DataStaging>", name, kind)
	}
	stage("Source", brings)
	for _, name := range takes {
		stage("Target", name)
	}
	document := `<JobDefinition xmlns="http://schemas.ggf.org/jsdl/2005/11/jsdl" xmlns:p="http://schemas.ggf.org/jsdl/2005/11/jsdl-posix"><JobDescription>
<Application><p:POSIXApplication><p:Executable>/bin/sh</p:Executable><p:Argument>-c</p:Argument><p:Argument><![CDATA[` + strings.ReplaceAll(script, "\n", "; ") + `]]></p:Argument>
<p:Output>out</p:Output><p:Error>err</p:Error><p:WallTimeLimit>60</p:WallTimeLimit></p:POSIXApplication></Application>` + staging.String() + `</JobDescription></JobDefinition>`
	file := Top + "/alice/job.jsdl"
	if err := os.WriteFile(file, []byte(document), 0o644); err != nil {
		w.Fatal(err)
	}
	return w.says("alice", Top+"/bin/gclient", "submit", "--rerunnable", file)
}

// A whole round under the account of a user, by sudo: the doctor has nothing to mend; a job whose
// first attempt is lost runs again in a fresh sandbox, and everything comes back byte for byte, also
// what is closed to all others; one file that cannot be handed over keeps the job from its
// end, and says so, until it can; and nothing of it is left.
func TestAWholeRound(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds programs and runs jobs")
	}
	for _, face := range []string{"torque", "openpbs"} {
		t.Run(face, func(t *testing.T) {
			need(t)
			build(t)
			if !Inside(t, "root") {
				return
			}
			w := begin(t, face)
			w.examine()
			w.refuses()
			w.serve()
			data := make([]byte, 5<<20+3)
			rand.Read(data)
			if err := os.WriteFile(Top+"/alice/data", data, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chown(Top+"/alice/data", uidAlice, gidGrid); err != nil {
				t.Fatal(err)
			}
			id := w.hands(`set -e; id -un; umask 077
test ! -e sealed || exit 9
mkdir -m 700 deep deep/er; cat data > deep/er/copy; chmod 0 deep/er/copy deep; cat data > sealed; chmod 600 sealed
case $GBROKER_ATTEMPT in *"#1") kill -9 $PPID; exec sleep 100;; esac
mv `+Secret+` secret; echo done >&2; exit 3`, "data", "sealed", "deep/er/copy", "secret")
			w.until("the job says why it is not told its end", func() bool {
				s := w.status(id)
				if s.State != "FINISHED" && s.Exit != nil {
					w.says("alice", Top+"/bin/gclient", "output", id, Top+"/alice/got")
					said, _ := os.ReadFile(Top + "/alice/got/err")
					t.Fatalf("it is told %+v (%d), and its output cannot be there: %s", s, *s.Exit, said)
				}
				return strings.Contains(s.Reason, "secret") && strings.Contains(s.Reason, "permission denied")
			})
			work := Top + "/gbroker/jobs/" + id + "/work"
			if left, err := os.ReadFile(work + "/sealed"); err != nil || !bytes.Equal(left, data) {
				t.Errorf("in the sandbox are %d bytes of %d, %v", len(left), len(data), err)
			}
			if err := os.Chown(work+"/secret", uidAlice, gidGrid); err != nil { // what an administrator would do
				t.Fatal(err)
			}
			w.until("the job has ended", func() bool { return w.status(id).Exit != nil && w.status(id).State != "FINISHED" })
			if s := w.status(id); s.State != "COMPLETED" || *s.Exit != 3 || s.Reason != "" {
				t.Errorf("%+v", s)
			}
			w.says("alice", Top+"/bin/gclient", "output", id, Top+"/alice/got")
			for name, want := range map[string]string{"sealed": string(data), "deep/er/copy": string(data), "secret": "secret\n", "out": "alice\n", "err": "done\n"} {
				if got, err := os.ReadFile(filepath.Join(Top, "alice/got", name)); err != nil || string(got) != want {
					t.Errorf("%s has %d bytes and not %d, %v: %s", name, len(got), len(want), err, hex.EncodeToString(got[:min(8, len(got))]))
				}
			}
			w.until("the sandbox is cleared", func() bool { return len(leftOf(t, work)) == 0 })
			w.says("alice", Top+"/bin/gclient", "remove", id)
			w.until("nothing is left of it", func() bool { _, err := os.Stat(filepath.Dir(work)); return os.IsNotExist(err) })
		})
	}
}

// finding is a line of the doctor's.
type finding struct{ Name, Verdict, Text string }

// examine has the doctor look, who finds nothing to mend; and without the rule for taking back what
// jobs leave he says which line sudoers lacks.
func (w *world) examine() {
	w.Helper()
	found := map[string]finding{}
	look := func(args ...string) {
		cmd := w.as("gbroker", append([]string{Program, "doctor", "--config", w.file, "--json"}, args...)...)
		out, _ := cmd.Output() // its exit code is in the verdicts
		var list []finding
		if err := json.Unmarshal(out, &list); err != nil {
			w.Fatalf("%v: %s", err, out)
		}
		clear(found)
		for _, f := range list {
			found[f.Name] = f
		}
	}
	look()
	for name, f := range found {
		if f.Verdict == "mend" {
			w.Errorf("the doctor: %s: %s", name, f.Text)
		}
	}
	for _, name := range []string{"account alice", "job folders", "test job", "output"} {
		if found[name].Verdict != "ok" {
			w.Errorf("the doctor: %s: %+v", name, found[name])
		}
	}
	rule := files["sudoers"]
	w.sudoers(strings.Replace(rule, ", /mnt/bin/gbroker sandbox *", "", 1))
	look("--no-job")
	if f := found["account alice"]; f.Verdict != "mend" || !strings.Contains(f.Text, "gbroker ALL=(alice) NOPASSWD:SETENV: "+w.batch.Bin+"/qsub") || !strings.Contains(f.Text, Program+" sandbox *") {
		w.Errorf("without the rule the doctor says %+v", f)
	}
	w.sudoers(rule)
}

func (w *world) sudoers(text string) {
	w.Helper()
	if err := os.WriteFile("/etc/sudoers", []byte(text), 0o440); err != nil {
		w.Fatal(err)
	}
}
