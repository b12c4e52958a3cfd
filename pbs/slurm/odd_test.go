package slurm

import (
	"errors"
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

// What cannot be read of a job is of that job: its state is not known, and the others are seen. One of ours is known as ours.
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
		jobs, _, err = parseQueue([]byte(oddHead + fine + "," + ours + "]}"))
		if err != nil || jobs[1].State != external.Odd || jobs[1].Mark != "me/x@1.0#1" || jobs[1].Name[0] != 'a' || jobs[1].User[0] != 'b' {
			t.Errorf("%s of ours is %+v, %v", name, jobs, err)
		}
	}
	most := strings.Repeat(strings.Replace(oddJob, "RUNNING", "DREAMING", 1)+",", 4)
	if _, _, err := parseQueue([]byte(oddHead + most + fine + "]}")); err == nil || !strings.Contains(err.Error(), "4 of 5 are not understood") {
		t.Errorf("most of a list that cannot be read: %v", err)
	}
}

// says makes a client of a Slurm whose commands print such texts.
func says(t *testing.T, texts map[string]string) *Client {
	t.Helper()
	dir := t.TempDir()
	for name, text := range texts {
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
	return New(Config{Runner: command.Runner{Folders: []string{dir}}})
}

const (
	oddReservation = "ReservationName=theirs StartTime=2026-11-20T23:02:42 EndTime=2026-11-20T23:32:42 Nodes=n1 NodeCnt=1 CoreCnt=1 Flags= Users=a Accounts= State=ACTIVE\n"
	oddPartition   = "PartitionName=c Default=YES DefaultTime=NONE MaxTime=UNLIMITED Nodes=n1 RootOnly=NO ReqResv=NO State=UP\n"
	oddNode        = `{"name":"n1","state":"idle","state_flags":[],"cpus":1,"real_memory":1}`
)

// ordinary is what the commands of a small site print.
func ordinary() map[string]string {
	return map[string]string{
		"squeue":      oddHead + oddJob + "]}",
		"sinfo":       `{"meta":{},"errors":[],"nodes":[` + oddNode + "]}",
		"reservation": oddReservation,
		"config": "Configuration data as of 2026-11-20T23:20:50\nSLURM_VERSION = 22.05.8\nSchedulerType = sched/backfill\nSchedulerParameters = (null)\n" +
			"SelectType = select/cons_tres\nSelectTypeParameters = CR_CORE\nMinJobAge = 300 sec\n",
		"partition": oddPartition,
	}
}

// The listing tells of the job that it cannot read, and a reservation of others for many users is seen.
func TestListingOfOddJobs(t *testing.T) {
	t.Parallel()
	texts := ordinary()
	texts["squeue"] = strings.Replace(texts["squeue"], "RUNNING", "DREAMING", 1)
	texts["reservation"] = strings.Replace(oddReservation, "Users=a", "Users="+strings.Repeat("somebody,", 1000)+"last", 1)
	l, err := says(t, texts).Listing(t.Context())
	if err != nil || len(l.Unusable) != 1 || !strings.HasPrefix(l.Unusable[0], "job 7: not understood: ") || !strings.Contains(l.Unusable[0], `"DREAMING"`) {
		t.Errorf("%q, %v", l.Unusable, err)
	}
	if len(l.Reservations) != 1 || len(l.Reservations[0].Nodes) != 1 || l.Reservations[0].Nodes[0] != grid.NodeName("n1") {
		t.Errorf("%+v", l.Reservations)
	}
}

// What cannot be read of one node, partition or reservation of others is of that one: it is down, closed or left out, and told; the
// rest is seen. Of a reservation of ours nothing may be believed, nor of one without a name, nor where most are so.
func TestListingOfWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ list, one, from, to, told string }{
		"a node's state":       {"sinfo", oddNode, `"idle"`, `"dreaming"`, `node n1: "dreaming" is no state`},
		"a node's flag":        {"sinfo", oddNode, `[]`, `["RESUME","DREAMS"]`, `node n1: "DREAMS" is no flag`},
		"a node's cores":       {"sinfo", oddNode, `"cpus":1`, `"cpus":0`, "node n1: it has 0 CPUs"},
		"a node's resources":   {"sinfo", oddNode, `"cpus":1`, `"cpus":1,"gres":"a:b:c:4"`, "node n1: "},
		"a node's features":    {"sinfo", oddNode, `"cpus":1`, `"cpus":1,"active_features":"` + strings.Repeat("a", 5000) + `"`, "node n1: it has features"},
		"a partition's state":  {"partition", oddPartition, "State=UP", "State=DREAMS", `partition c: "DREAMS" is no state`},
		"a partition's limit":  {"partition", oddPartition, "MaxTime=UNLIMITED", "MaxTime=LONG", "partition c: MaxTime"},
		"its usual limit":      {"partition", oddPartition, "DefaultTime=NONE", "DefaultTime=5", "partition c: DefaultTime"},
		"a partition's nodes":  {"partition", oddPartition, "Nodes=n1", "Nodes=n[1", "partition c: the node list"},
		"half a partition":     {"partition", oddPartition, " ReqResv=NO", "", "partition c: ReqResv= is missing"},
		"a reservation's":      {"reservation", oddReservation, "ACTIVE", "DREAMS", `reservation theirs: "DREAMS" is no state`},
		"a reservation's end":  {"reservation", oddReservation, "2026-11-20T23:32:42", "late", `reservation theirs: "late" is no time`},
		"it ends too early":    {"reservation", oddReservation, "2026-11-20T23:32:42", "2026-11-20T22:32:42", "reservation theirs: it ends at"},
		"a reservation's size": {"reservation", oddReservation, "NodeCnt=1", "NodeCnt=2", "reservation theirs: NodeCnt=2"},
		"its cores":            {"reservation", oddReservation, "CoreCnt=1", "CoreCnt=few", "reservation theirs: CoreCnt"},
		"too many nodes":       {"reservation", oddReservation, "Nodes=n1", "Nodes=n[1-999999]", "reservation theirs: the node list"},
	} {
		texts := ordinary()
		odd := strings.Replace(c.one, c.from, c.to, 1)
		fine := strings.NewReplacer("n1", "n2", "=c ", "=d ", "=theirs", "=gbroker_a1", "YES", "NO").Replace(c.one)
		between := ","
		if c.list != "sinfo" {
			between = ""
		}
		texts[c.list] = strings.Replace(texts[c.list], c.one, odd+between+fine, 1)
		l, err := says(t, texts).Listing(t.Context())
		if err != nil || len(l.Unusable) != 1 || !strings.HasPrefix(l.Unusable[0], c.told) {
			t.Errorf("%s: %q, %v", name, l.Unusable, err)
			continue
		}
		switch c.list {
		case "sinfo":
			if len(l.Nodes) != 2 || !l.Nodes[0].Down || l.Nodes[1].Down || l.Nodes[1].Cores != 1 || len(l.Queues[0].Nodes) != 1 {
				t.Errorf("%s: %+v, %+v", name, l.Nodes, l.Queues)
			}
		case "partition":
			if len(l.Queues) != 2 || l.Default != "c" || !l.Queues[0].Closed || !l.Queues[0].Stopped || l.Queues[1].Closed || l.Queues[1].Stopped {
				t.Errorf("%s: %+v", name, l.Queues)
			}
		case "reservation":
			if len(l.Reservations) != 1 || l.Reservations[0].ID != "a1" {
				t.Errorf("%s: %+v", name, l.Reservations)
			}
		}
		most := strings.Repeat(odd+between, 4) + odd
		if c.list == "sinfo" {
			most = strings.Repeat(strings.Replace(odd, "n1", "n9", 1)+",", 4) + odd
		}
		texts[c.list] = strings.Replace(ordinary()[c.list], c.one, most, 1)
		_, err = says(t, texts).Listing(t.Context())
		kind(t, name+", five times", err, " of 5 are not understood")
	}
	for list, bad := range map[string]string{
		"sinfo": `{"meta":{},"errors":[],"nodes":[` + strings.Replace(oddNode, `"n1"`, `""`, 1) + "]}", "partition": strings.Replace(oddPartition, "=c ", "= ", 1),
		"reservation": strings.Replace(oddReservation, "=theirs", "=", 1),
	} {
		texts := ordinary()
		texts[list] = bad
		_, err := says(t, texts).Listing(t.Context())
		kind(t, list+" without a name", err, "name")
	}
	texts := ordinary()
	texts["reservation"] = strings.NewReplacer("=theirs", "=gbroker_a1", "ACTIVE", "DREAMS").Replace(oddReservation)
	_, err := says(t, texts).Listing(t.Context())
	kind(t, "one of ours", err, "reservation gbroker_a1")
}

// kind makes sure that nothing is known, with such a word.
func kind(t *testing.T, what string, err error, says string) {
	t.Helper()
	if !errors.Is(err, grid.ErrUnavailable) || !strings.Contains(strings.ToLower(err.Error()), says) {
		t.Errorf("%s: %v", what, err)
	}
}
