package slurm

import (
	"os"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/pbs/external"
)

// Whose jobs a limit counts follows of its name; one that cannot be counted here holds its job.
func TestReasonsThatAreLimits(t *testing.T) {
	t.Parallel()
	job := external.Job{User: "alice", Account: "ocean", QOS: "fast"}
	for reason, want := range map[string]struct {
		state external.State
		key   external.LimitKey
	}{
		"QOSMaxJobsPerUserLimit":  {external.Queued, external.LimitKey{Name: "Slurm's MaxJobsPerUser", User: "alice", QOS: "fast"}},
		"QOSMaxCpuPerUserLimit":   {external.Queued, external.LimitKey{Name: "Slurm's MaxCpuPerUser", User: "alice", QOS: "fast", Cores: true}},
		"QOSGrpJobsLimit":         {external.Queued, external.LimitKey{Name: "Slurm's GrpJobs", QOS: "fast"}},
		"QOSGrpCpuLimit":          {external.Queued, external.LimitKey{Name: "Slurm's GrpCpu", QOS: "fast", Cores: true}},
		"AssocGrpCpuLimit":        {external.Queued, external.LimitKey{Name: "Slurm's GrpCpu", Account: "ocean", Cores: true}},
		"AssocGrpJobsLimit":       {external.Queued, external.LimitKey{Name: "Slurm's GrpJobs", Account: "ocean"}},
		"AssocMaxJobsLimit":       {external.Queued, external.LimitKey{Name: "Slurm's MaxJobs", Account: "ocean", User: "alice"}},
		"MaxJobsPerAccount":       {external.Queued, external.LimitKey{Name: "Slurm's MaxJobsPerAccount", Account: "ocean", QOS: "fast"}},
		"Resources":               {state: external.Queued},
		"Priority":                {state: external.Queued},
		"JobArrayTaskLimit":       {state: external.Queued},
		"QOSMaxCpuPerJobLimit":    {state: external.Held},
		"QOSGrpMemLimit":          {state: external.Held},
		"AssocGrpCPUMinutesLimit": {state: external.Held},
		"PartitionTimeLimit":      {state: external.Held},
	} {
		state, err := stateOf("PENDING", reason)
		if err != nil || state != want.state {
			t.Errorf("%s: %v, %v", reason, state, err)
		}
		job.Reason = reason
		if key, is := limitOf(&job); is != (want.key != external.LimitKey{}) || is && key != want.key {
			t.Errorf("%s: %+v, %v", reason, key, is)
		}
	}
}

// limitedListing has the jobs of a recording, with their limits.
func limitedListing(t *testing.T, name string) external.Listing {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name + ".stdout")
	if err != nil {
		t.Fatal(err)
	}
	jobs, _, err := parseQueue(text)
	if err != nil {
		t.Fatal(err)
	}
	l := external.Listing{Jobs: jobs}
	New(Config{}).limit(&l, time.Now())
	return l
}

// What a real Slurm says of jobs that wait for limits of a QOS that nobody is told.
func TestLimitsOfQOS(t *testing.T) {
	t.Parallel()
	l := limitedListing(t, "limits/01-squeue-json")
	want := map[string]int64{"Slurm's MaxJobsPerUser of user alice of QOS lim": 2, "Slurm's GrpCpu of QOS cpu": 4, "running tasks of array 8": 1}
	if len(l.Caps) != len(want) {
		t.Errorf("the limits are %+v", l.Caps)
	}
	for _, j := range l.Jobs {
		of := map[string]string{"lim": "Slurm's MaxJobsPerUser of user alice of QOS lim", "cpu": "Slurm's GrpCpu of QOS cpu", "normal": "running tasks of array 8"}[j.QOS]
		if len(j.Caps) != 1 || l.Caps[j.Caps[0]].Why != of || l.Caps[j.Caps[0]].Most != want[of] {
			t.Errorf("job %s of QOS %s falls under %v", j.Local, j.QOS, j.Caps)
		}
		if j.State == external.Held {
			t.Errorf("job %s is taken to be held: %s", j.Local, j.Reason)
		}
	}
}

// The tasks of an array that wait, and how many of it may run.
func TestArrayThrottle(t *testing.T) {
	t.Parallel()
	l := limitedListing(t, "arrays-multinode/12-squeue-json")
	if len(l.Caps) != 1 || l.Caps[0].Most != 2 || l.Caps[0].Cores {
		t.Fatalf("the limits are %+v", l.Caps)
	}
	for _, j := range l.Jobs {
		want := map[grid.LocalID][2]int{"1": {0, 0}, "2_0": {1, 0}, "2_1": {1, 0}, "2": {1, 7}}[j.Local]
		if len(j.Caps) != want[0] || j.More != want[1] {
			t.Errorf("job %s falls under %d limits, and stands for %d more", j.Local, len(j.Caps), j.More)
		}
	}
}

func TestTasks(t *testing.T) {
	t.Parallel()
	for list, want := range map[string]int{
		"": 0, "3": 1, "2-9%2": 8, "0,4-10:2": 5, "1-3,7,9-10%1": 6, "5-3": 0, "x": 0, "1-x": 0, "0-8:0": 0, "0-3,5,...": 5, "0-999999999": maxJobs,
	} {
		if n := tasks(list); n != want {
			t.Errorf("%q names %d tasks, not %d", list, n, want)
		}
	}
}
