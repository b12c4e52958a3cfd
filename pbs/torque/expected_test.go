package torque

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/pbs/external"
	"gbroker/plan"
)

var states = map[external.State]string{external.Odd: "odd", external.Queued: "queued", external.Held: "held", external.Running: "running", external.Done: "done"}

// sayJob tells all of a job in one line, leaving out what is nothing.
func sayJob(j external.Job, rerunnable bool) string {
	var b strings.Builder
	say := func(is bool, format string, args ...any) {
		if is {
			fmt.Fprintf(&b, " "+format, args...)
		}
	}
	fmt.Fprintf(&b, "%s %q of %s in %s: %s", j.Local, j.Name, j.User, j.Queue, states[j.State])
	say(j.OurHold, "by our hold")
	say(j.NeverStarted, "never started")
	say(!rerunnable, "never again")
	say(true, "asks %s", sayDemand(j.Demand))
	say(true, "for %ds", j.Limit/grid.Second)
	for _, p := range j.Places {
		say(true, "on %s:%d", p.Node, p.Cores)
		say(p.Memory > 0, "with %d bytes", p.Memory)
	}
	say(true, "submitted %d", j.Submitted/grid.Second)
	say(j.Started > 0, "started %d", j.Started/grid.Second)
	say(j.Finished > 0, "finished %d", j.Finished/grid.Second)
	say(j.Usage != external.Usage{}, "used %ds of %ds and %d bytes", j.Usage.CPU/grid.Second, j.Usage.Wall/grid.Second, j.Usage.Memory)
	say(j.Priority != 0, "priority %d", j.Priority)
	say(j.Mark != "", "marked %s", j.Mark)
	say(j.Reservation != "", "bound to %s", j.Reservation)
	say(j.Reason != "", "(%s)", j.Reason)
	if j.End != nil {
		say(true, "ended with %d signal %d cause %d: %s", j.End.ExitCode, j.End.Signal, j.End.Cause, j.End.Detail)
		say(j.End.Unsure, "(unsure)")
	}
	return b.String()
}

func sayDemand(d grid.Demand) string {
	var parts []string
	for _, c := range d.Chunks {
		parts = append(parts, fmt.Sprintf("%dx%d", c.Count, c.Cores))
		if c.Memory > 0 {
			parts[len(parts)-1] += fmt.Sprintf("(%d bytes)", c.Memory)
		}
	}
	return strings.Join(append(parts, d.Properties...), "+")
}

// jobs tells of those with the identifiers, or of all.
func jobs(ids ...string) func(recording) (string, error) {
	return func(r recording) (string, error) {
		list, err := parseJobs(r.command, r.stdout)
		var out []string
		for i, j := range list.jobs {
			if len(ids) == 0 || slices.Contains(ids, string(j.Local)) {
				out = append(out, sayJob(j, list.rerunnable[i]))
			}
		}
		return strings.Join(out, "\n"), err
	}
}

func nodes(r recording) (string, error) {
	list, err := parseNodes(r.command, r.stdout)
	var out []string
	for _, n := range list {
		out = append(out, fmt.Sprintf("%s %d cores %d bytes %v%v", n.Name, n.Cores, n.Memory, n.Properties, map[bool]string{true: " down"}[n.Down]))
	}
	return strings.Join(out, "\n"), err
}

func order(r recording) (string, error) {
	m, err := parseQueue(r.command, r.stdout)
	out := make([]string, len(m))
	for id, p := range m {
		out[p.rank] = strings.TrimSpace(id + " " + p.blocked)
	}
	return strings.Join(out, ", "), err
}

// reserved tells of showres -n at the time of its head.
func reserved(at grid.Tick) func(recording) (string, error) {
	return func(r recording) (string, error) {
		list, err := parseHeld(at*grid.Second)(r.command, r.stdout)
		var out []string
		for _, b := range joined(list, nil, nil) {
			out = append(out, fmt.Sprintf("%s %v from %d for %ds", b.Native, b.Nodes, b.Start/grid.Second, (b.End-b.Start)/grid.Second))
		}
		return strings.Join(out, "\n"), err
	}
}

func text[T any](parse func(call string, text []byte) (T, error)) func(recording) (string, error) {
	return func(r recording) (string, error) {
		v, err := parse(r.command, r.stdout)
		return fmt.Sprintf("%+v", v), err
	}
}

// expected is what recordings say, read by people; each flip of the recording must be seen.
var expected = []struct {
	recording string
	read      func(recording) (string, error)
	want      string
	flip      [2]string
}{
	{"01-idle/06-qstat-x", jobs(), "", [2]string{"</Data>", ""}},
	{"02-running/31-serial-qstat-x", jobs(),
		`3.pbs1 "sleeper" of alice in batch: running asks 1x1 for 600s on node02:1 submitted 1795216436 started 1795216437 used 0s of 5s and 8298496 bytes`,
		[2]string{"<job_state>R", "<job_state>Q"}},
	{"02-running/37-multi-qstat-x", jobs(),
		`4.pbs1 "mpi" of alice in batch: running asks 2x2 for 1200s on node01:2 on node02:2 submitted 1795216436 started 1795216437 used 0s of 5s and 12337152 bytes`,
		[2]string{"node02/1-2", "node02/1-3"}},
	{"02-running/76-after-serial-qstat-x", jobs(),
		`3.pbs1 "sleeper" of alice in batch: done asks 1x1 for 600s submitted 1795216436 started 1795216437 finished 1795216453 used 0s of 16s and 8298496 bytes ended with 140 signal 12 cause 0: `,
		[2]string{"<exit_status>268", "<exit_status>12"}},
	{"03-queued/39-wide-qstat-x", jobs(), `7.pbs1 "wide" of alice in batch: queued never started asks 2x4 for 3600s submitted 1795216472`, [2]string{"2:ppn=4", "2:ppn=3"}},
	{"04-held/23-userheld-qstat-x", jobs(), `10.pbs1 "held" of alice in batch: held by our hold never started asks 1x1 for 600s submitted 1795216507`, [2]string{"Types>u<", "Types>s<"}},
	{"04-held/32-waiting-qstat-x", jobs(), `11.pbs1 "later" of alice in batch: held never started asks 1x1 for 600s submitted 1795216515`, [2]string{">W<", ">Q<"}},
	{"05-finished/27-ok-qstat-x", jobs(),
		`13.pbs1 "ok.sh" of alice in batch: done asks 1x1 for 3600s submitted 1795216534 started 1795216534 finished 1795216534 ended with 0 signal 0 cause 0: `,
		[2]string{"<comp_time>1795216534", "<comp_time>1795216535"}},
	{"05-finished/30-fail3-qstat-x", jobs(),
		`14.pbs1 "fail.sh" of alice in batch: done asks 1x1 for 3600s submitted 1795216534 started 1795216534 finished 1795216534 used 0s of 0s and 3375104 bytes ended with 3 signal 0 cause 0: `,
		[2]string{"<exit_status>3", "<exit_status>4"}},
	{"05-finished/33-sigkill-qstat-x", jobs(),
		`15.pbs1 "kill.sh" of alice in batch: done asks 1x1 for 3600s submitted 1795216534 started 1795216534 finished 1795216535 ended with 137 signal 0 cause 0: `,
		[2]string{"<start_time>1795216534", "<start_time>1795216533"}},
	{"05-finished/39-notfound-qstat-x", jobs(),
		`17.pbs1 "nf.sh" of alice in batch: done asks 1x1 for 3600s submitted 1795216534 started 1795216534 finished 1795216535 ended with 127 signal 0 cause 0: `,
		[2]string{"alice</euser>", "bob</euser>"}},
	{"05-finished/45-walltime-qstat-x", jobs(),
		`19.pbs1 "long.sh" of alice in batch: done asks 1x1 for 15s submitted 1795216534 started 1795216535 finished 1795216552 used 0s of 17s and 8077312 bytes ended with 137 signal 9 cause 1: it was over its walltime`,
		[2]string{"<exit_status>-11", "<exit_status>-10"}},
	{"05-finished/48-cpu-qstat-x", jobs(),
		`20.pbs1 "cpu.sh" of alice in batch: done asks 1x1(67108864 bytes) for 300s submitted 1795216534 started 1795216535 finished 1795216560 used 22s of 24s and 6541312 bytes ended with 0 signal 0 cause 0: `,
		[2]string{"<mem>64mb", "<mem>64kb"}},
	{"05-finished/51-qdel-qstat-x", jobs(),
		`21.pbs1 "long.sh" of alice in batch: done asks 1x1 for 300s submitted 1795216534 started 1795216536 finished 1795216538 used 0s of 2s and 8220672 bytes ended with 143 signal 15 cause 2: it was deleted while it ran`,
		[2]string{"<walltime>00:00:02", "<walltime>00:05:00"}},
	{"05-finished/57-qdel-queued-qstat-x", jobs(),
		`23.pbs1 "sleeper" of alice in batch: done never started asks 1x1 for 3600s submitted 1795216538 ended with 0 signal 0 cause 2: it was deleted before it started`,
		[2]string{"</job_state>", "</job_state><start_count>1</start_count>"}},
	{"06-array/06-qstat-x-t", jobs("26[2].pbs1", "26[5].pbs1"),
		`26[2].pbs1 "arr-2" of alice in batch: running asks 1x1 for 300s on node01:1 submitted 1795216567 started 1795216568 used 0s of 4s and 8421376 bytes
26[5].pbs1 "arr-5" of alice in batch: held never started asks 1x1 for 300s submitted 1795216567`,
		[2]string{"Types>l<", "Types>u<"}},
	{"10-submit-options/41-qstat-x-all", jobs("44.pbs1", "46.pbs1", "47.pbs1", "48.pbs1"),
		`44.pbs1 "a<b&c" of alice in batch: held by our hold never started asks 1x1 for 3600s submitted 1795216666
46.pbs1 "ok.sh" of alice in batch: held by our hold never started asks 1x1 for 3600s submitted 1795216666 priority 100
47.pbs1 "ok.sh" of alice in batch: held by our hold never started never again asks 1x1 for 3600s submitted 1795216666
48.pbs1 "ok.sh" of alice in batch: held by our hold never started asks 1x1(1073741824 bytes) for 3600s submitted 1795216666`,
		[2]string{"a&lt;b&amp;c</Job_Name>", "a&lt;b&apos;c</Job_Name>"}},
	{"10-submit-options/41-qstat-x-all", jobs("51.pbs1", "53.pbs1", "54.pbs1", "55.pbs1", "56.pbs1", "65.pbs1", "72.pbs1"),
		`51.pbs1 "ok.sh" of alice in batch: held by our hold never started asks 1x1 for 172800s submitted 1795216666
53.pbs1 "ok.sh" of alice in batch: held by our hold never started asks 1x2 for 3600s submitted 1795216666
54.pbs1 "ok.sh" of alice in batch: held by our hold never started asks 3x1 for 3600s submitted 1795216666
55.pbs1 "ok.sh" of alice in batch: held by our hold never started asks 1x1+1x2 for 3600s submitted 1795216666
56.pbs1 "ok.sh" of alice in batch: held by our hold never started asks 2x1+compute for 3600s submitted 1795216666
65.pbs1 "ok.sh" of alice in batch: held by our hold never started asks 1x1 for 3600s submitted 1795216666 bound to alice.0
72.pbs1 "dep1" of alice in batch: held never started asks 1x1 for 3600s submitted 1795216667`,
		[2]string{"48:00:00", "2:00:00:01"}},
	{"15-other-users/05-bob-qstat-x", jobs(),
		`528.pbs1 "seen" of alice in batch: running asks 1x2 for 600s on node04:2 submitted 1795324346 started 1795324348`,
		[2]string{"-v SECRET=hunter2,", "-v SECRET=hunter2,GBROKER_ATTEMPT=it,"}},
	{"16-mom-restart/43-end-qstat-x", jobs("530.pbs1", "531.pbs1", "532.pbs1"),
		`530.pbs1 "plain" of alice in batch: done asks 1x1 for 1800s submitted 1795324361 started 1795324369 finished 1795324632 used 0s of 263s and 0 bytes ended with 0 signal 0 cause 0:  (unsure)
531.pbs1 "q" of alice in batch: done asks 1x1 for 1800s submitted 1795324361 started 1795324506 finished 1795324632 used 0s of 124s and 6696960 bytes ended with 143 signal 15 cause 2: it was deleted while it ran
532.pbs1 "qnorerun" of alice in batch: done never again asks 1x1 for 1800s submitted 1795324361 started 1795324369 finished 1795324505 used 0s of 136s and 0 bytes ended with 0 signal 0 cause 4: its node was started again (exit_status -4)`,
		[2]string{"<walltime>00:04:23", "<walltime>00:00:23"}},
	{"16-mom-restart/17-down-pbsnodes-x", text(func(call string, text []byte) ([]grid.NodeName, error) {
		f, err := parseFarm(call, text)
		return f.silent, err
	}), "[node01 node02 node03 node04]", [2]string{"<state>down", "<state>offline"}},
	{"01-idle/10-pbsnodes-x", nodes, "node01 4 cores 25276510208 bytes [compute]\nnode02 4 cores 25276510208 bytes [compute]", [2]string{"<np>4", "<np>8"}},
	{"07-nodes/04-off-pbsnodes-x", nodes, "node01 4 cores 25276510208 bytes [compute] down\nnode02 4 cores 25276510208 bytes [compute]", [2]string{"<state>offline", "<state>free"}},
	{"07-nodes/24-down-pbsnodes-x", nodes, "node01 4 cores 25276510208 bytes [compute]\nnode02 4 cores 25276510208 bytes [compute] down", [2]string{"<state>down", "<state>busy"}},
	{"03-queued/20-pbsnodes-x", nodes, "node01 4 cores 25276510208 bytes [compute]\nnode02 4 cores 25276510208 bytes [compute]", [2]string{"<state>job-exclusive", "<state>job-excluded"}},
	{"01-idle/23-qstat-B-f-1", text(parseServer), "{name:pbs1 version:6.1.3 queue:batch keep:300000 limit:0 idle:false pieces:0}", [2]string{"scheduling = True", "scheduling = False"}},
	{"01-idle/20-qstat-Q-f-1", text(parseQueues),
		"[{name:short limit:1800000 property: enabled:true started:true} {name:closed limit:0 property: enabled:false started:true} {name:batch limit:0 property: enabled:true started:true}]",
		[2]string{"00:30:00", "01:30:00"}},
	{"03-queued/21-showq", order, "7, 8", [2]string{"7                     alice", "17                    alice"}},
	{"04-held/44-showq-sysheld", order, "11 Hold, 12 Hold", [2]string{" Hold ", " Held "}},
	{"12-daemons-down/28-server-down-later-showq", order, "", [2]string{"Total Jobs: 0", "Total Jobs: -1"}},
	{"11-reservations/22-showres", text(parseSizes),
		"[{native:alice.0 nodes:1 cores:4} {native:grid.77.0 nodes:2 cores:8} {native:grid77.0 nodes:2 cores:8} {native:onhost.0 nodes:1 cores:4} {native:onhosts.0 nodes:2 cores:8}]",
		[2]string{"1/4 ", "1/2 "}},
	{"11-reservations/102-showres-n", reserved(1795216628), "later.0 [node02] from 1795218401 for 1200s\nnow.0 [node02] from 1795216601 for 1200s", [2]string{"23:16:41", "23:16:42"}},
	{"11-reservations/23-showres-n", reserved(1795216595),
		`alice.0 [node02] from 1795217194 for 3600s
grid.77.0 [node01 node02] from 1795223794 for 1800s
grid77.0 [node01 node02] from 1795227394 for 108000s
maint.0 [node01 node02] from 1795288595 for 3600s
onhost.0 [node01] from 1795245394 for 3600s
onhosts.0 [node01 node02] from 1795252595 for 3600s`,
		[2]string{"1:06:00:00", "2:06:00:00"}},
	{"11-reservations/38-mdiag-r", text(parseAccess), "map[alice.0:{user:alice account:} grid.77.0:{user: account:} grid77.0:{user:alice account:} maint.0:{user: account:} onhost.0:{user:alice account:} onhosts.0:{user:alice account:}]", [2]string{"onhost= USER==alice+", "onhost= USER==bob+"}},
	{"19-reservation-names/10-mdiag-r", text(parseAccess),
		"map[acct.0:{user: account:grid77} accth.0:{user: account:grid79} acctx.0:{user: account:grid78} both.0:{user:alice account:grid77} excl.0:{user:alice account:} exclh.0:{user:alice account:} usr.0:{user:alice account:}]",
		[2]string{"ACCT==grid77+ \n    CL:  RES==acct", "ACCT==grid77+:==grid78+ \n    CL:  RES==acct"}},
	{"01-idle/78-showconfig", text(parseConfig), "{version:3.5-TempleHPC policy:{Kind:2 Order:0 Reservations:10 Overtakes:0} node: multi:false backfill:FIRSTFIT reserve:CURRENTHIGHEST depth:10 looks:10000}", [2]string{"RESDEPTH[0]                       10", "RESDEPTH[0]                       0"}},
	{"11-reservations/03-setres-as-broker", text(parseMade), "{native:perm.0 nodes:[node02]}", [2]string{"'perm.0'", "'perm.1'"}},
	{"11-reservations/16-setres-hosts", text(parseMade), "{native:onhosts.0 nodes:[node01 node02]}", [2]string{"node02:1\n", ""}},
	{"11-reservations/07-releaseres-as-alice", text(parseReleased("perm.0")), "true", [2]string{"'perm.0'", "'perm.1'"}},
}

func TestWhatRecordingsSay(t *testing.T) {
	t.Parallel()
	for _, e := range expected {
		r := read(t, "testdata", e.recording)
		got, err := e.read(r)
		if err != nil || got != e.want {
			t.Errorf("%s says\n%s\nnot\n%s\n(%v)", e.recording, got, e.want, err)
		}
		flipped := strings.Replace(string(r.stdout), e.flip[0], e.flip[1], 1)
		if flipped == string(r.stdout) {
			t.Errorf("%s does not hold %q", e.recording, e.flip[0])
		}
		r.stdout = []byte(flipped)
		if got, err := e.read(r); err == nil && got == e.want {
			t.Errorf("%s says the same with %q for %q", e.recording, e.flip[1], e.flip[0])
		}
	}
}

// A reservation on part of its nodes' processors keeps those alone.
func TestPartOfNodes(t *testing.T) {
	t.Parallel()
	list := joined([]held{{"a.0", "n1", 1, 2}, {"a.0", "n2", 1, 2}, {"b.0", "n2", 1, 2}, {"c.0", "n1", 1, 2}},
		[]size{{"a.0", 2, 5}, {"b.0", 1, 4}, {"c.0", 9, 1}, {"d.0", 1, 1}}, []plan.Node{{Name: "n1", Cores: 4}, {Name: "n2", Cores: 4}})
	if got := fmt.Sprintf("%v %v %v", list[0].Cores, list[1].Cores, list[2].Cores); got != "[4 1] [] []" {
		t.Errorf("processors %s", got)
	}
}
