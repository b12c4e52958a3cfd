package accounts

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"gbroker/grid"
	"gbroker/pbs/command"
	"gbroker/pbs/control"
	"gbroker/pbs/wrapper"
	"gbroker/stage"
)

// The folders of a job are its account's alone: another one of the same group forges no end, no
// start and no usage, and neither reads nor writes the sandbox, whatever modes its program chose.
func TestAnotherOfTheGroupHasNoPart(t *testing.T) {
	for name, c := range map[string]struct{ as, root string }{
		"root": {"root", Top + "/root/jobs"}, "sudo": {"gbroker", Top + "/gbroker/jobs"}, "root without lists": {"root", Top + "/ramfs/jobs"},
	} {
		t.Run(name, func(t *testing.T) {
			if !Inside(t, c.as) {
				return
			}
			pass(t, filepath.Dir(c.root))
			s := open(t, c.root)
			s.prepare(t, grid.Job{ID: job})
			Do(t, "alice", "umask 0; cd "+s.work+"; echo mine > mine; chmod 666 mine; mkdir open; chmod 777 open; echo x > "+s.control+"/usage.x")
			for _, try := range []string{
				"ls %[1]s", "ls %[2]s", "cat %[1]s/mine", "echo forged > %[1]s/mine", "touch %[1]s/open/forged", "touch %[1]s/forged",
				"touch %[2]s/end.1.0.1", "touch %[2]s/start.1.0.1", "echo forged > %[2]s/usage.x", "rm -f %[2]s/usage.x", "cat %[2]s/usage.x",
			} {
				if said, code := Run(t, "bob", fmt.Sprintf(try, s.work, s.control)); code == 0 {
					t.Errorf("another of the group: %s: %s", try, said)
				}
			}
			if got := Do(t, "alice", "cat "+s.work+"/mine"); got != "mine" {
				t.Errorf("it is %q now", got)
			}
			for _, dir := range []string{s.work, s.control} {
				if info, err := os.Stat(dir); err != nil || info.Mode().Perm()&0o007 != 0 {
					t.Errorf("%s has the mode %v, %v", dir, info.Mode(), err)
				}
			}
		})
	}
}

// Where a file system has no access control lists, a daemon that is not root cannot open folders to
// one account alone, and says so.
func TestNoLists(t *testing.T) {
	if !Inside(t, "gbroker") {
		return
	}
	pass(t, Top+"/ramfs/gbroker")
	s := open(t, Top+"/ramfs/gbroker/jobs")
	if err := s.Prepare(t.Context(), grid.Job{ID: job}, true); err != nil {
		t.Fatal(err)
	}
	if err := s.Lend(t.Context(), job, "alice"); !errors.Is(err, grid.ErrUnavailable) || !strings.Contains(err.Error(), "access control lists") {
		t.Errorf("%v", err)
	}
	if _, code := Run(t, "alice", "touch "+s.work+"/x"); code == 0 {
		t.Error("it is open all the same")
	}
	if err := s.Lend(t.Context(), job, "nosuch"); !errors.Is(err, grid.ErrInvalid) {
		t.Errorf("an account that there is not: %v", err)
	}
}

// A sandbox that one account has had is not opened to another for the same job.
func TestOneAccountForAJob(t *testing.T) {
	if !Inside(t, "gbroker") {
		return
	}
	pass(t, Top+"/gbroker")
	s := open(t, Top+"/gbroker/jobs")
	s.prepare(t, grid.Job{ID: job})
	s.prepare(t, grid.Job{ID: job})
	if err := s.Lend(t.Context(), job, "bob"); !errors.Is(err, grid.ErrInvalid) || !strings.Contains(err.Error(), "alice") {
		t.Errorf("%v", err)
	}
}

// What a program links into its sandbox, where the system lets it, is neither given to its
// account nor handed out, nor shown while the job runs, if it belongs to another; and its own files
// with another name are copied, so that nobody changes them afterwards.
func TestHardLinks(t *testing.T) {
	for _, as := range []string{"root", "gbroker"} {
		t.Run(as, func(t *testing.T) {
			if !Inside(t, as) {
				return
			}
			pass(t, filepath.Join(Top, as))
			s := open(t, filepath.Join(Top, as, "jobs"))
			j := grid.Job{ID: job, Outputs: outputs("stolen", "own")}
			s.prepare(t, j)
			key := filepath.Join(Top, as, "identity.key") // of the daemon; links to it are as if they were allowed
			if err := os.WriteFile(key, []byte("secret"), 0o600); err != nil {
				t.Fatal(err)
			}
			for _, to := range []string{s.work + "/stolen", s.control + "/end.1.0.1"} {
				if err := os.Link(key, to); err != nil {
					t.Fatal(err)
				}
			}
			if err := s.Lend(t.Context(), job, "alice"); err != nil {
				t.Fatal(err)
			}
			if said, code := Run(t, "alice", "cat "+s.work+"/stolen || mv "+s.work+"/stolen "+s.work+"/again && cat "+s.work+"/again"); code == 0 {
				t.Fatalf("the account reads %q", said)
			}
			Do(t, "alice", "cd "+s.work+"; test -e stolen || mv again stolen; echo first > own; ln own "+Top+"/alice/kept || ln own kept")
			if m, err := s.Live(j); err != nil || len(m) != 1 || m[0].Path != "own" {
				t.Errorf("shown while it runs: %v, %v", m, err)
			}
			if _, _, err := s.Collect(t.Context(), j); !errors.Is(err, grid.ErrUnavailable) || !strings.Contains(err.Error(), "stolen") {
				t.Errorf("collected: %v", err)
			}
			if got := string(s.collected(t, "own")); got != "first\n" {
				t.Errorf("it is %q", got)
			}
			Do(t, "alice", "for f in "+Top+"/alice/kept "+s.work+"/kept; do test ! -e $f || echo second > $f; done")
			if got := string(s.collected(t, "own")); got != "first\n" {
				t.Errorf("through its other name it became %q", got)
			}
			if _, _, err := control.ReadEnd(s.control, grid.AttemptID{Job: job, Epoch: grid.Epoch{Term: 1}, Attempt: 1}); err == nil || strings.Contains(err.Error(), "secret") {
				t.Errorf("read as a control file: %v", err)
			}
			if info, err := os.Stat(key); err != nil || info.Mode().Perm() != 0o600 || info.Sys().(*syscall.Stat_t).Uid != uint32(os.Geteuid()) {
				t.Errorf("the key: %v, %v", info, err)
			}
		})
	}
}

// A wrapper that runs as another account does all that it has to, and cannot take back what
// the broker has decided.
func TestTheWrapperOfAnotherAccount(t *testing.T) {
	for _, as := range []string{"root", "gbroker"} {
		t.Run(as, func(t *testing.T) {
			if !Inside(t, as) {
				return
			}
			pass(t, filepath.Join(Top, as))
			s := open(t, filepath.Join(Top, as, "jobs"))
			in, err := s.Receive(t.Context(), job, "in", 3, 0o600, 0, strings.NewReader("in\n"))
			if err != nil {
				t.Fatal(err)
			}
			j := grid.Job{ID: job, Inputs: grid.Manifest{in}, Outputs: outputs("stdout")}
			for attempt := range uint32(2) {
				if err := s.Discard(job, stage.Work); err != nil {
					t.Fatal(err)
				}
				s.prepare(t, j)
				id := grid.AttemptID{Job: job, Epoch: grid.Epoch{Term: 1}, Attempt: attempt + 1}
				if err := control.WriteSubmit(s.control, id); err != nil {
					t.Fatal(err)
				}
				script, err := wrapper.Script(wrapper.Spec{
					ID: id, Work: s.work, Control: s.control, Limit: grid.Minute, Path: "/bin", Environment: []string{"PATH=/usr/bin:/bin"},
					Program: grid.Program{Executable: "/bin/sh", Arguments: []string{"-c", "id -un; cat in; echo new > new"}},
				})
				if err != nil {
					t.Fatal(err)
				}
				got, err := command.Runner{}.Run(t.Context(), command.Call{Name: "/bin/sh", Stdin: script, As: "alice"})
				if err != nil || got.Exit != 0 {
					t.Fatalf("%d, %v: %s", got.Exit, err, got.Said())
				}
				if end, there, err := control.ReadEnd(s.control, id); !there || err != nil || end.Cause != grid.ByItself || end.ExitCode != 0 {
					t.Errorf("the end: %+v, %v, %v", end, there, err)
				}
				next := id
				next.Attempt += 10
				if taken, _, err := control.Take(s.control, next, control.Broker, control.Process{}); !taken || err != nil {
					t.Fatal(err)
				}
				for _, script := range []string{"rm -f %s/start.*", "rm -rf %s", "echo x > %s/start.1.0." + fmt.Sprint(next.Attempt)} {
					Run(t, "alice", fmt.Sprintf(script, s.control))
					if held, there, err := control.ReadToken(s.control, next); !there || err != nil || held.Holder != control.Broker {
						t.Errorf("%s: the broker's token: %v, %v", script, there, err)
					}
				}
			}
			if _, missing, err := s.Collect(t.Context(), j); err != nil || len(missing) > 0 || string(s.collected(t, "stdout")) != "alice\nin\n" {
				t.Errorf("its output: %v, missing %v", err, missing)
			}
		})
	}
}
