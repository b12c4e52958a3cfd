package slurm

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/pbs/external"
)

// expectation is what one record of a recording says, as a person reads it, and a flip: a
// text of the recording and what it is replaced by, so that it says something else.
type expectation struct {
	recording string
	record    string // a job, node or reservation
	says      string
	flip      [2]string
}

// Jobs: ID NAME USER STATE limit, submitted, started, finished (seconds), pieces of cores,
// places, and what is special.
var expectations = []expectation{
	{"lifecycle/04-squeue-running-json", "9", "ok alice running 300 1795215028 1795215028 0 [1x1] [node01:1]", [2]string{`"ok"`, `"ko"`}},
	{"lifecycle/04-squeue-running-json", "1", "wrap alice done 600 1795214935 1795214935 1795214935 [1x1] [node01:1] end 0/0 itself", [2]string{"1795214935", "1795214934"}},
	{"lifecycle/06-show-running-o", "9", "ok alice running 300 1795215028 1795215028 0 [1x1] [node01:1]", [2]string{"22:50:28", "22:50:29"}},
	{"lifecycle/14-show-completed", "9", "ok alice done 300 1795215028 1795215028 1795215031 [1x1] [] end 0/0 itself", [2]string{"EndTime=2026-11-20T22:50:31", "EndTime=2026-11-20T22:50:32"}},
	{"lifecycle/22-show-11", "11", "exit3 alice done 300 1795215033 1795215033 1795215033 [1x1] [] end 3/0 itself", [2]string{"ExitCode=3:0", "ExitCode=0:0"}},
	{"lifecycle/23-show-12", "12", "sig alice done 300 1795215033 1795215033 1795215034 [1x1] [] end 137/9 itself", [2]string{"ExitCode=0:9", "ExitCode=0:15"}},
	{"lifecycle/24-show-13", "13", "noprog alice done 300 1795215033 1795215033 1795215033 [1x1] [] end 127/0 itself", [2]string{"JobName=noprog", "JobName=norpog"}},
	{"lifecycle/25-show-14", "14", "badout alice done 300 1795215033 1795215033 1795215034 [1x1] [] end 0/0 never-ran", [2]string{"ExitCode=0:53", "ExitCode=0:9"}},
	{"cancel-hold/02-show-held", "16", "held alice held(ours) 300 1795215037 0 0 [1x1] [] fresh", [2]string{"Reason=JobHeldUser", "Reason=JobHeldAdmin"}},
	{"cancel-hold/08-show-cancelled-now", "16", "held alice running 300 1795215037 1795215037 0 [1x1] [node01:1]", [2]string{"COMPLETING", "COMPLETED"}},
	{"cancel-hold/09-show-cancelled", "16", "held alice done 300 1795215037 1795215037 1795215039 [1x1] [] end 143/15 request", [2]string{"CANCELLED", "TIMEOUT"}},
	{"cancel-hold/12-show-cancelled-pending", "17", "held2 alice done 300 1795215042 1795215042 1795215042 [1x1] [] fresh end 0/0 request", [2]string{"Restarts=0", "Restarts=1"}},
	{"nodefail/04-show-nodefail", "5", "nf alice done 300 1795216862 1795216862 1795216864 [1x1] [] end 143/15 disappeared node", [2]string{"NODE_FAIL", "FAILED"}},
	{"nodefail/05-show-requeued", "6", "rq alice held 300 1795216864 0 0 [1x1] []", [2]string{"Restarts=1", "Restarts=0"}},
	{"nodefail/06-squeue-json", "5", "nf alice done 300 1795216862 1795216862 1795216864 [1x1] [node02:1] end 143/15 disappeared node", [2]string{`"NODE_FAIL"`, `"BOOT_FAIL"`}},
	{"nodefail/06-squeue-json", "6", "rq alice held 300 1795216864 0 0 [1x1] []", [2]string{`"restart_cnt": 1`, `"restart_cnt": 0`}},
	{"pending/15-squeue-json", "1", "fill alice running 600 1795215042 1795215043 0 [16x1] [node01:4 node02:4 node03:4 node04:4]", [2]string{`"node03"`, `"node07"`}},
	{"pending/15-squeue-json", "2", "pend1 alice queued 300 1795215044 0 0 [4x1] [] fresh", [2]string{`"time_limit": 5`, `"time_limit": 6`}},
	{"pending/15-squeue-json", "3", "pend2 alice queued 1200 1795215044 0 0 [16x1] [] fresh", [2]string{`"tasks": 16`, `"tasks": 8`}},
	{"pending/15-squeue-json", "4", "pend3 alice held 1200 1795215044 0 0 [1x1] [] fresh", [2]string{`"BeginTime"`, `"Priority"`}},
	{"pending/24-show-userheld", "2", "pend1 alice held(ours) 1800 1795215044 0 0 [4x1] [] fresh", [2]string{"TimeLimit=00:30:00", "TimeLimit=1-00:30:00"}},
	{"reservations/31-show-job-res", "12", "inres alice queued 1200 1795215162 0 0 [2x4] [] fresh in r1", [2]string{"Reservation=r1", "Reservation=r2"}},
	{"reservations/74-show-job-lost-resv", "21", "lostresv alice held 60 1795215232 0 0 [1x4] []", [2]string{"NumCPUs=4", "NumCPUs=3"}},
	{"reservations/76-squeue-lost-json", "20", "inshort alice done 60 1795215232 1795215233 1795215294 [1x1] [node01:1] end 143/15 walltime", [2]string{`"exit_code": 15`, `"exit_code": 9`}},
	{"timeout/03-show-after", "1", "timeout alice done 60 1795215027 1795215027 1795215114 [1x1] [] end 143/15 walltime", [2]string{"22:51:54", "22:51:55"}},
	{"arrays-multinode/03-squeue-multi-json", "1", "multi alice running 120 1795216850 1795216850 0 [3x2] [node01:2 node02:2 node03:2]", [2]string{`"1": "allocated"`, `"1": "unassigned"`}},
	{"arrays-multinode/12-squeue-json", "2_1", "arr alice running 120 1795216856 1795216857 0 [1x1] [node01:1]", [2]string{`"array_task_id": 1,`, `"array_task_id": 3,`}},
	{"arrays-multinode/12-squeue-json", "2", "arr alice queued 120 1795216856 0 0 [1x1] [] fresh", [2]string{`"cpus": 1`, `"cpus": 2`}},
	{"arrays-multinode/14-show-task", "2_0", "arr alice running 120 1795216856 1795216857 0 [1x1] [node01:1]", [2]string{"ArrayTaskId=0", "ArrayTaskId=9"}},

	{"idle/01-sinfo-json", "node04", "1 cores 2097152000 bytes x86_64 LINUX up", [2]string{`"real_memory": 2000`, `"real_memory": 2001`}},
	{"nodefail/13-sinfo-drain-json", "node01", "2 cores 2097152000 bytes x86_64 LINUX up", [2]string{`"cpus": 2`, `"cpus": 3`}},
	{"nodefail/13-sinfo-drain-json", "node02", "2 cores 2097152000 bytes x86_64 LINUX down", [2]string{`"down"`, `"mixed"`}},
	{"nodefail/13-sinfo-drain-json", "node04", "2 cores 2097152000 bytes x86_64 LINUX down", [2]string{`"DRAIN"`, `"PLANNED"`}},
	{"nodefail/25-silent-sinfo-json", "node02", "2 cores 2097152000 bytes x86_64 LINUX down", [2]string{`"down"`, `"unheard"`}},

	{"reservations/23-show-res-o", "r1", "[node01 node02] 1795215762 to 1795217562 [4 4] alice ours", [2]string{"Users=alice", "Users=bob"}},
	{"reservations/23-show-res-o", "alice_2", "[node01 node02] 1795222362 to 1795224162 [4 4] alice", [2]string{"2026-11-21T00:52:42", "2026-11-21T00:52:43"}},
	{"reservations/23-show-res-o", "c2", "[node01 node02 node03 node04] 1795225962 to 1795227762 [4 3 3 3] alice", [2]string{"CoreCnt=13", "CoreCnt=14"}},
	{"reservations/23-show-res-o", "m1", "[node01 node02 node03 node04] 1795243962 to 1795245762 [4 4 4 4] root", [2]string{"m1", "m2"}},
	{"reservations/24-show-res-1", "r1", "[node01 node02] 1795215762 to 1795217562 [4 4] alice ours", [2]string{"node[01-02]", "node[01,03]"}},
}

func TestExpectations(t *testing.T) {
	t.Parallel()
	found := map[string]recording{}
	for _, r := range recordings(t, kept) {
		found[r.name] = r
	}
	for _, e := range expectations {
		r, there := found[e.recording]
		if !there {
			t.Errorf("%s is not in %s", e.recording, kept)
			continue
		}
		says, err := describe(r, e.record)
		if err != nil || says != e.says {
			t.Errorf("%s, %s: it says\n%s, %v, not\n%s", e.recording, e.record, says, err, e.says)
		}
		flipped := r
		flipped.result.Stdout = bytes.ReplaceAll(r.result.Stdout, []byte(e.flip[0]), []byte(e.flip[1]))
		if bytes.Equal(flipped.result.Stdout, r.result.Stdout) {
			t.Errorf("%s: there is no %s to flip", e.recording, e.flip[0])
		}
		if says, err := describe(flipped, e.record); err == nil && says == e.says {
			t.Errorf("%s, %s: %s instead of %s makes no difference", e.recording, e.record, e.flip[1], e.flip[0])
		}
	}
}

var errAbsent = errors.New("it is not there")

// describe is one record of a recording in the words of the expectations.
func describe(r recording, record string) (string, error) {
	switch words := strings.Fields(r.command); {
	case words[0] == "squeue":
		jobs, _, err := parseQueue(r.result.Stdout)
		return describeJob(jobs, record, err)
	case words[0] == "sinfo":
		return describeNode(r, record)
	case strings.Contains(r.command, "show job"):
		list, err := parseJob(folded(r))
		var jobs []external.Job
		for _, j := range list {
			jobs = append(jobs, j.Job)
		}
		return describeJob(jobs, record, err)
	}
	return describeReservation(r, record)
}

func describeJob(jobs []external.Job, id string, err error) (string, error) {
	for _, j := range jobs {
		if string(j.Local) != id || err != nil {
			continue
		}
		state := map[external.State]string{
			external.Queued: "queued", external.Held: "held", external.Running: "running", external.Done: "done",
		}[j.State]
		if j.OurHold {
			state += "(ours)"
		}
		var pieces, places []string
		for _, c := range j.Demand.Chunks {
			pieces = append(pieces, fmt.Sprintf("%dx%d", c.Count, c.Cores))
		}
		for _, p := range j.Places {
			places = append(places, fmt.Sprintf("%s:%d", p.Node, p.Cores))
		}
		says := fmt.Sprintf("%s %s %s %d %d %d %d %v %v", j.Name, j.User, state, j.Limit/grid.Second, j.Submitted/grid.Second,
			j.Started/grid.Second, j.Finished/grid.Second, pieces, places)
		if j.NeverStarted {
			says += " fresh"
		}
		if j.Reservation != "" {
			says += " in " + j.Reservation
		}
		if j.End != nil {
			cause := [...]string{"itself", "walltime", "request", "never-ran", "disappeared"}[j.End.Cause]
			says += fmt.Sprintf(" end %d/%d %s", j.End.ExitCode, j.End.Signal, cause)
			if j.End.NodeFail {
				says += " node"
			}
		}
		return says, nil
	}
	return "", errors.Join(errAbsent, err)
}

func describeNode(r recording, name string) (string, error) {
	nodes, err := parseNodes(r.result.Stdout)
	for _, n := range nodes {
		if string(n.Name) != name || err != nil {
			continue
		}
		up := map[bool]string{true: "down", false: "up"}[n.Down]
		return fmt.Sprintf("%d cores %d bytes %s %s %s", n.Cores, n.Memory, n.Architecture, n.System, up), nil
	}
	return "", errors.Join(errAbsent, err)
}

func describeReservation(r recording, name string) (string, error) {
	list, err := parseReservations(folded(r), "r")
	for _, b := range list {
		if b.Native != name || err != nil {
			continue
		}
		says := fmt.Sprintf("%v %d to %d %v %s", b.Nodes, b.Start/grid.Second, b.End/grid.Second, b.Cores, b.User)
		if b.ID != "" {
			says += " ours"
		}
		return says, nil
	}
	return "", errors.Join(errAbsent, err)
}

// Recordings that are torn anywhere are never read as a shorter truth.
func TestTornRecordings(t *testing.T) {
	t.Parallel()
	for _, r := range recordings(t, kept) {
		if !strings.HasSuffix(filepath.Base(r.name), "-json") || strings.HasPrefix(r.name, "controller-down") {
			continue
		}
		parse := func(text []byte) error { _, _, err := parseQueue(text); return err }
		if strings.HasPrefix(r.command, "sinfo") {
			parse = func(text []byte) error { _, err := parseNodes(text); return err }
		}
		text := bytes.TrimSpace(r.result.Stdout)
		for cut := 0; cut < len(text); cut += 1 + len(text)/200 {
			if parse(text[:cut]) == nil {
				t.Errorf("%s, cut after %d of %d bytes, is read", r.name, cut, len(text))
			}
		}
	}
}
