package fakebatch

import (
	"encoding/xml"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gbroker/test/fakebatch/batch"
)

func over(j batch.Job) bool    { return j.Ended() }
func running(j batch.Job) bool { return j.State == batch.Running }

// want runs a command and demands its exit code.
func want(t *testing.T, s *Server, exit int, user, stdin, name string, args ...string) Answer {
	t.Helper()
	a := s.Run(user, stdin, name, args...)
	if a.Exit != exit {
		t.Fatalf("%s %q ended with %d, not %d\n%s%s", name, args, a.Exit, exit, a.Stdout, a.Stderr)
	}
	return a
}

// submit gives a job's identifier.
func submit(t *testing.T, s *Server, user, script string, args ...string) string {
	t.Helper()
	return strings.TrimSpace(want(t, s, 0, user, script, "qsub", args...).Stdout)
}

// field reads one element of a TORQUE job.
func field(t *testing.T, s *Server, id, name string) string {
	t.Helper()
	a := want(t, s, 0, "alice", "", "qstat", "-x", id)
	d := xml.NewDecoder(strings.NewReader(a.Stdout))
	for {
		tok, err := d.Token()
		if err != nil {
			return ""
		}
		if e, ok := tok.(xml.StartElement); ok && e.Name.Local == name {
			var text string
			if err := d.DecodeElement(&text, &e); err != nil {
				t.Fatal(err)
			}
			return text
		}
	}
}

// TestTorqueJobs: jobs run, with their environment, and end as the real ones did.
func TestTorqueJobs(t *testing.T) {
	t.Parallel()
	s := Start(t, batch.Config{Face: "torque"})
	out := filepath.Join(s.Dir, "log")
	script := "cat $PBS_NODEFILE | sort | uniq -c | sed 's/^ *//'; echo $PBS_JOBID $PBS_O_LOGNAME $MORE; pwd; echo wrong >&2; exit 3"
	id := submit(t, s, "alice", script, "-l", "nodes=2:ppn=4,walltime=60", "-o", out, "-j", "oe", "-d", s.Dir, "-v", "MORE=more", "-N", "tag")
	j := s.Await(id, over)
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(text); got != "4 node01\n4 node02\n"+id+" alice more\n"+s.Dir+"\nwrong\n" {
		t.Errorf("the job wrote %q", got)
	}
	if j.Exit == nil || *j.Exit != 3 || j.User != "alice" {
		t.Errorf("it ended as %+v", j)
	}
	for name, value := range map[string]string{"job_state": "C", "exit_status": "3", "exec_host": "node02/0-3+node01/0-3",
		"nodes": "2:ppn=4", "Job_Name": "tag", "start_count": "1", "euser": "alice"} {
		if got := field(t, s, id, name); got != value {
			t.Errorf("%s is %q, not %q", name, got, value)
		}
	}

	long := submit(t, s, "alice", "sleep 1000", "-l", "walltime=1")
	doomed := submit(t, s, "alice", "trap '' TERM; sleep 1000 & wait", "-l", "walltime=1000")
	held := submit(t, s, "alice", "true", "-h")
	s.Await(doomed, running)
	want(t, s, 0, "alice", "", "qdel", doomed)
	want(t, s, 0, "alice", "", "qdel", held)
	for id, status := range map[string]string{long: "-11", doomed: "271", held: ""} {
		s.Await(id, over)
		if got := field(t, s, id, "exit_status"); got != status {
			t.Errorf("job %s ended with %q, not %q", id, got, status)
		}
	}
	if got := field(t, s, held, "start_count"); got != "" {
		t.Errorf("a job that never ran has start_count %s", got)
	}
}

// TestTorqueHolds: held jobs wait, running ones run on, and another user may do nothing.
func TestTorqueHolds(t *testing.T) {
	t.Parallel()
	s := Start(t, batch.Config{Face: "torque"})
	id := submit(t, s, "alice", "sleep 1000", "-h")
	if got := field(t, s, id, "Hold_Types"); got != "u" {
		t.Errorf("Hold_Types is %q", got)
	}
	want(t, s, 159, "bob", "", "qrls", id)
	want(t, s, 0, "alice", "", "qrls", id)
	s.Await(id, running)
	want(t, s, 0, "alice", "", "qhold", id)
	if got := field(t, s, id, "job_state"); got != "R" {
		t.Errorf("qhold has stopped a running job: %s", got)
	}
	want(t, s, 159, "bob", "", "qdel", id)
	want(t, s, 159, "alice", "", "qrerun", id)
	want(t, s, 0, "root", "", "qrerun", id)
	s.Await(id, func(j batch.Job) bool { return j.State == batch.Running && j.Starts == 2 })
	want(t, s, 0, "alice", "", "qdel", id)
	s.Await(id, over)
	want(t, s, 170, "alice", "", "qdel", id)
}
