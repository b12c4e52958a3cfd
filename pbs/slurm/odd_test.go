package slurm

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/pbs/command"
	"gbroker/pbs/external"
	"gbroker/pbs/pbstest"
)

const (
	oddHead = `{"meta":{"Slurm":{"release":"22.05.8"}},"errors":[],"jobs":[`
	oddJob  = `{"job_id":7,"name":"a","user_name":"b","partition":"c","job_state":"RUNNING","exit_code":0,"restart_cnt":0,"nodes":"n1","node_count":1,"start_time":5,` +
		`"time_limit":2,"job_resources":{"allocated_nodes":[{"nodename":"n1","sockets":{"0":{"cores":{"0":"allocated"}}}}]}}`
)

// What cannot be read of a job of others is of that job: its state is not known, and the others are seen.
// Of one of ours nothing may be believed.
func TestJobThatCannotBeRead(t *testing.T) {
	t.Parallel()
	fine := strings.Replace(oddJob, `"job_id":7`, `"job_id":8`, 1)
	for name, c := range map[string]struct {
		from, to string
		places   int
	}{
		"a state":       {`"RUNNING"`, `"DREAMING"`, 1},
		"huge":          {`"node_count":1`, `"node_count":99999999999`, 1},
		"negative":      {`"exit_code":0`, `"exit_code":-1`, 1},
		"a long name":   {`"name":"a"`, `"name":"` + strings.Repeat("a", 5000) + `"`, 1},
		"a long user":   {`"user_name":"b"`, `"user_name":"` + strings.Repeat("b", 500) + `"`, 1},
		"resources":     {`"node_count":1`, `"node_count":1,"tres_per_node":"a:b:c:4"`, 1},
		"its instants":  {`"start_time":5`, `"start_time":-5`, 0},
		"a core":        {`"allocated"`, `"borrowed"`, 0},
		"a place":       {`"nodename":"n1",`, ``, 0},
		"it has ended":  {`"RUNNING","exit_code":0`, `"FAILED","exit_code":-1`, 0},
		"no such limit": {`"time_limit":2`, `"time_limit":-2`, 1},
	} {
		odd := strings.Replace(oddJob, c.from, c.to, 1)
		jobs, _, err := parseQueue([]byte(oddHead + odd + "," + fine + "]}"))
		if err != nil || len(jobs) != 2 {
			t.Errorf("%s: %+v, %v", name, jobs, err)
			continue
		}
		if j := jobs[0]; j.Local != "7" || j.State != external.Odd || len(j.Places) != c.places || j.Limit <= 0 || j.NeverStarted || j.End != nil || !strings.HasPrefix(j.Reason, "not understood: ") {
			t.Errorf("%s: %+v", name, j)
		}
		if jobs[1].State != external.Running {
			t.Errorf("%s: the other is %+v", name, jobs[1])
		}
		ours := strings.Replace(odd, "{", `{"comment":"me/x@1.0#1",`, 1)
		if jobs, _, err := parseQueue([]byte(oddHead + fine + "," + ours + "]}")); err == nil {
			t.Errorf("%s of ours is %+v", name, jobs)
		}
	}
	most := strings.Repeat(strings.Replace(oddJob, "RUNNING", "DREAMING", 1)+",", 4)
	if _, _, err := parseQueue([]byte(oddHead + most + fine + "]}")); err == nil || !strings.Contains(err.Error(), "4 of 5 are not understood") {
		t.Errorf("most of a list that cannot be read: %v", err)
	}
}

// The listing tells of the job that it cannot read, and a reservation of others for many users is seen.
func TestListingOfOddJobs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	users := strings.Repeat("somebody,", 1000) + "last"
	says := map[string]string{
		"squeue": oddHead + strings.Replace(oddJob, "RUNNING", "DREAMING", 1) + "]}",
		"sinfo":  `{"meta":{},"errors":[],"nodes":[{"name":"n1","state":"idle","cpus":1,"real_memory":1}]}`,
		"reservation": "ReservationName=theirs StartTime=2026-11-20T23:02:42 EndTime=2026-11-20T23:32:42 Nodes=n1 NodeCnt=1 CoreCnt=1 Flags= Users=" + users +
			" Accounts= State=ACTIVE\n",
		"config": "Configuration data as of 2026-11-20T23:20:50\nSLURM_VERSION = 22.05.8\nSchedulerType = sched/backfill\nSchedulerParameters = (null)\n" +
			"SelectType = select/cons_tres\nSelectTypeParameters = CR_CORE\nMinJobAge = 300 sec\n",
		"partition": "PartitionName=c Default=YES DefaultTime=NONE MaxTime=UNLIMITED Nodes=n1 RootOnly=NO ReqResv=NO State=UP\n",
	}
	for name, text := range says {
		if err := os.WriteFile(filepath.Join(dir, name+".out"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"squeue", "sinfo", "scontrol"} {
		script := "#!/bin/sh\nfor last; do :; done\n[ " + name + " = scontrol ] || last=" + name + "\nexec cat '" + dir + "'/$last.out\n"
		if err := pbstest.WriteFile(filepath.Join(dir, name), []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	l, err := New(Config{Runner: command.Runner{Folders: []string{dir}}}).Listing(t.Context())
	if err != nil || len(l.Unusable) != 1 || !strings.HasPrefix(l.Unusable[0], "job 7: not understood: ") || !strings.Contains(l.Unusable[0], `"DREAMING"`) {
		t.Errorf("%q, %v", l.Unusable, err)
	}
	if len(l.Reservations) != 1 || len(l.Reservations[0].Nodes) != 1 || l.Reservations[0].Nodes[0] != grid.NodeName("n1") {
		t.Errorf("%+v", l.Reservations)
	}
}
