package e2e

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gbroker/api"
	"gbroker/pbs/pbstest"
	"gbroker/test/cluster"
)

// The controller of a cluster is killed. Its broker says so and estimates nothing; what is
// handed in meanwhile goes elsewhere, or waits where only that cluster can run it. When the
// controller is back all jobs end, each having run once.
func TestSlurmControllerKilled(t *testing.T) {
	t.Parallel()
	dir := place(t)
	c := take(t, "busy")["busy"]
	a := overSlurm(t, c, dir, "a", cluster.Options{})
	b := newSite(t, dir, "b", cluster.Options{Nodes: 1, Cores: 2})
	start(t, a, b)
	introduce(t, a, b)
	sees(t, a, map[string]int{"a": 4, "b": 2})
	file := func(name string) string { return filepath.Join(dir, name) }

	// One runs on all of a, and one waits behind it; b cannot take them.
	runs := work{script: once(file("runs"), until(file("go"))), cpus: 4, walltime: 600}.submit(t, a, dir, "runs")
	starts(t, file("runs"))
	waits := work{script: once(file("waits"), ":"), cpus: 3, walltime: 60}.submit(t, a, dir, "waits")
	local(t, c, waits, "PD")
	eventually(t, "the controller is to have the jobs on disk", func() bool {
		kept, _ := os.ReadFile(filepath.Join(filepath.Dir(c.Conf), "state", "job_state"))
		return strings.Contains(string(kept), "/"+waits+"@")
	})
	c.KillController()
	eventually(t, "the broker is to tell its administrator", func() bool {
		return strings.Contains(self(t, a).Alarm, "nothing is known of the batch system")
	})
	sent := work{script: once(file("elsewhere"), ":"), cpus: 2, walltime: 60}
	asked := sent.write(t, dir, "asked")
	eventually(t, "the estimates of the last snapshot are to go", func() bool {
		return strings.Contains(client(t, a, "where", asked), "no estimate")
	})
	elsewhere := sent.submit(t, a, dir, "elsewhere")
	if r := row(t, first(t, a, elsewhere, "b"), "a"); r.Refusal == nil || !strings.Contains(r.Refusal.Reason, "no estimate") {
		t.Errorf("without a controller the site tells: %+v", r)
	}
	completed(t, a, elsewhere, "b")
	later := work{script: once(file("later"), ":"), cpus: 3, walltime: 60}.submit(t, a, dir, "later")
	touch(t, file("go"))
	eventually(t, "the running job is to end without a controller", func() bool {
		text, _ := os.ReadFile(file("runs"))
		return strings.Contains(string(text), "end")
	})
	for _, id := range []string{waits, later} {
		if st := status(t, a, id); st.Terminal() || st.Started != 0 {
			t.Errorf("%s is %s without a controller", id, st.State)
		}
	}

	must(t, c.StartController())
	for _, id := range []string{runs, waits, later} {
		completed(t, a, id, "a")
	}
	for _, name := range []string{"runs", "waits", "elsewhere", "later"} {
		ranJust(t, file(name))
	}
	eventually(t, "the alarm is to end", func() bool { return self(t, a).Alarm == "" })
	leavesQueue(t, c)
}

// The broker is killed between sbatch and its answer: after it has taken effect, and before
// it does. Started again, the broker finds the job or submits it once more; it runs once.
func TestSlurmKilledDuringSubmission(t *testing.T) {
	t.Parallel()
	dir := place(t)
	c := take(t, "small")["small"]
	sbatch, err := exec.LookPath("sbatch")
	must(t, err)
	shims := pbstest.NewShims(t, sbatch)
	s := overSlurm(t, c, dir, "s", cluster.Options{})
	configure(t, s, "  commands: "+filepath.Dir(sbatch)+"\n", "  commands: "+shims.Folder+"\n")
	start(t, s)
	sees(t, s, map[string]int{"s": 2})

	ledger := filepath.Join(dir, "unheard")
	hear, err := shims.Deafen()
	must(t, err)
	id := work{script: once(ledger, ":"), output: "out.txt"}.submit(t, s, dir, "unheard")
	starts(t, ledger)
	s.Kill()
	hear()
	start(t, s)
	exits(t, s, id, 0)
	ranJust(t, ledger)

	ledger = filepath.Join(dir, "late")
	goOn, err := shims.Stall()
	must(t, err)
	id = work{script: once(ledger, ":"), output: "out.txt"}.submit(t, s, dir, "late")
	eventually(t, "sbatch is to be on its way", func() bool {
		begun, _ := filepath.Glob(filepath.Join(filepath.Dir(shims.Folder), "trials", "*", "begun"))
		return len(begun) > 1
	})
	s.Kill()
	goOn()
	start(t, s)
	exits(t, s, id, 0)
	leavesQueue(t, c)
	ranJust(t, ledger)
}

// What the operator of the cluster does to a job is in its record: one that is cancelled by
// hand, and one that is put into the queue again, which does not run twice.
func TestSlurmOperator(t *testing.T) {
	t.Parallel()
	dir := place(t)
	c := take(t, "small")["small"]
	s := overSlurm(t, c, dir, "s", cluster.Options{})
	start(t, s)
	sees(t, s, map[string]int{"s": 2})

	ledger := filepath.Join(dir, "cancelled")
	id := work{script: once(ledger, "sleep 300"), walltime: 600}.submit(t, s, dir, "cancelled")
	starts(t, ledger)
	c.Run(t, "scancel", local(t, c, id, "R"))
	byOperator(t, ended(t, s, id))

	ledger = filepath.Join(dir, "requeued")
	id = work{script: once(ledger, "sleep 300"), walltime: 600}.submit(t, s, dir, "requeued")
	starts(t, ledger)
	number := local(t, c, id, "R")
	if said, err := c.Do("scontrol", "requeue", number); err == nil {
		t.Errorf("Slurm puts a job that may not run twice into the queue again: %s", said)
	}
	c.Run(t, "scontrol", "update", "JobId="+number, "Requeue=1")
	c.Run(t, "scontrol", "requeue", number)
	byOperator(t, ended(t, s, id))
	leavesQueue(t, c)
	if text, _ := os.ReadFile(ledger); string(text) != "start\n" {
		t.Errorf("its starts and ends: %q", text)
	}
}

// byOperator checks that the record of a job tells that its end came from the batch system.
func byOperator(t *testing.T, st api.Status) {
	t.Helper()
	if st.State != "FAILED" || !strings.Contains(st.Reason, "not by the broker") {
		t.Errorf("a job that the operator has ended is %s: %q", st.State, st.Reason)
	}
}
