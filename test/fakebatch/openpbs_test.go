package fakebatch

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gbroker/test/fakebatch/batch"
)

// job is one job in OpenPBS's JSON.
func job(t *testing.T, s *Server, id string) map[string]any {
	t.Helper()
	a := want(t, s, 0, "alice", "", "qstat", "-x", "-E", "-f", "-F", "json", id)
	var doc struct{ Jobs map[string]map[string]any }
	if err := json.Unmarshal([]byte(a.Stdout), &doc); err != nil {
		t.Fatalf("%v\n%s", err, a.Stdout)
	}
	return doc.Jobs[id]
}

// TestOpenPBSJobs: jobs run, with their environment, and end as the real ones did.
func TestOpenPBSJobs(t *testing.T) {
	t.Parallel()
	s := Start(t, batch.Config{Face: "openpbs"})
	out := filepath.Join(s.Dir, "log")
	script := "sort $PBS_NODEFILE | uniq -c | sed 's/^ *//'; echo $PBS_JOBID $PBS_O_LOGNAME $MORE; echo wrong >&2; exit 3"
	id := submit(t, s, "alice", script, "-l", "select=2:ncpus=4:mpiprocs=4", "-l", "place=scatter", "-l", "walltime=60",
		"-o", out, "-j", "oe", "-v", "MORE=more", "-N", "tag")
	s.Await(id, over)
	text, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	if got := string(text); got != "4 n01\n4 n02\n"+id+" alice more\nwrong\n" {
		t.Errorf("the job wrote %q", got)
	}
	j := job(t, s, id)
	for name, value := range map[string]string{"job_state": "F", "Exit_status": "3", "exec_vnode": "(n01:ncpus=4)+(n02:ncpus=4)",
		"Job_Name": "tag", "run_count": "1", "substate": "93"} {
		if got := fmt.Sprint(j[name]); got != value {
			t.Errorf("%s is %s, not %s", name, got, value)
		}
	}

	long := submit(t, s, "alice", "sleep 1000", "-l", "walltime=1")
	doomed := submit(t, s, "alice", "trap '' TERM; sleep 1000 & wait", "-l", "walltime=1000")
	held := submit(t, s, "alice", "true", "-h")
	s.Await(doomed, running)
	want(t, s, 0, "alice", "", "qdel", doomed, held)
	for id, status := range map[string]string{long: "-29", doomed: "271", held: "<nil>"} {
		s.Await(id, over)
		if got := fmt.Sprint(job(t, s, id)["Exit_status"]); got != status {
			t.Errorf("job %s ended with %s, not %s", id, got, status)
		}
	}
	want(t, s, 35, "alice", "", "qstat", "-f", "-F", "json", long)
	want(t, s, 35, "alice", "", "qdel", long)
}

// TestOpenPBSReservations: a reservation keeps its nodes for its users, runs their jobs, and ends them.
func TestOpenPBSReservations(t *testing.T) {
	t.Parallel()
	s := Start(t, batch.Config{Face: "openpbs"})
	at := func(d time.Duration) string { return time.Now().UTC().Add(d).Format("200601021504.05") }
	args := func(from, length time.Duration, nodes int) []string {
		return []string{"-I", "-10", "-R", at(from), "-D", fmt.Sprint(int(length.Seconds())), "-l", fmt.Sprintf("select=%d:ncpus=4", nodes), "-l", "place=scatter:excl"}
	}
	far := want(t, s, 0, "alice", "", "pbs_rsub", args(time.Hour, time.Hour, 4)...).Stdout
	id := strings.Fields(far)[0]
	if far != id+" CONFIRMED\n" {
		t.Fatalf("pbs_rsub said %q", far)
	}
	if got := want(t, s, 0, "bob", "", "pbs_rsub", args(90*time.Minute, time.Hour, 1)...).Stdout; !strings.HasSuffix(got, " DENIED\n") {
		t.Errorf("an overlapping reservation was answered by %q", got)
	}
	blocked := submit(t, s, "bob", "true", "-l", "walltime=2:00:00")
	quick := submit(t, s, "bob", "true", "-l", "walltime=60")
	s.Await(quick, over)
	if j, _ := s.Job(blocked); j.State != batch.Queued {
		t.Errorf("a job that would reach into the reservation is in state %c", j.State)
	}
	queue, _, _ := strings.Cut(id, ".")
	want(t, s, 159, "bob", "true", "qsub", "-q", queue)
	inside := submit(t, s, "alice", "true", "-q", queue, "-l", "walltime=60")
	want(t, s, 159, "bob", "", "pbs_rdel", id)
	want(t, s, 0, "alice", "", "pbs_rdel", id)
	s.Await(inside, func(j batch.Job) bool { return j.Ended() && j.Exit == nil })
	s.Await(blocked, over)
	want(t, s, 236, "alice", "", "pbs_rdel", id)

	var soon Answer
	for lead := 2 * time.Second; ; lead *= 2 { // on a busy machine the instant may be past before it is asked for
		if soon = s.Run("alice", "", "pbs_rsub", args(lead, 3*time.Second, 1)...); soon.Exit == 0 || lead > time.Minute {
			break
		}
	}
	queue, _, _ = strings.Cut(soon.Stdout, ".")
	cut := submit(t, s, "alice", "sleep 1000", "-q", queue, "-l", "walltime=1")
	s.Await(cut, over)
}
