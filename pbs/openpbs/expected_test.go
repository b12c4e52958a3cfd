package openpbs

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/pbs/command"
	"gbroker/pbs/external"
)

// expected is what a recording means, worked out by hand from its text, and changes of that
// text which must be seen: "old => new".
type expected struct {
	name  string // in testdata/recordings
	read  func(w words, r recording) (string, error)
	want  string
	flips []string
}

var byHand = []expected{
	{"02-running.qstat-f-json-job", readJobs,
		"1.pbs1 simjob of alice running in workq, 1x(2c 1p 1048576K) on n01(2c 1p 1048576K), limit 600s, submitted 23:05:46, started 23:05:46",
		[]string{`"R" => "Q"`, `(n01:ncpus=2:mem=1048576kb)", => (n02:ncpus=2:mem=1048576kb)",`, `alice@pbs1 => bob@pbs1`, `"00:10:00" => "00:10:01"`, `"1.pbs1":	{ => "2.pbs1":	{`, `"simjob" => "simjop"`}},
	{"03-multichunk.qstat-f-json", readJobs,
		"2.pbs1 chunkfree of alice running in workq, 2x(2c 1p 0K) on n01(2c 1p 0K) n02(2c 1p 0K), limit 600s, submitted 23:05:50, started 23:05:50",
		[]string{`"2:ncpus=2" => "2:ncpus=3"`, `(n02:ncpus=2)", => (n02:ncpus=1)",`, `"stime":	"Fri Nov 20 23:05:50 => "stime":	"Fri Nov 20 23:05:51`}},
	{"04-queued.chunks", readJobs, // two jobs cut from a longer listing
		"3.pbs1 chunkscat of alice running in workq, 2x(2c 2p 524288K) on n02(2c 2p 524288K) n03(2c 2p 524288K), limit 600s, submitted 23:05:50, started 23:05:50\n" +
			"4.pbs1 chunkhet of alice running in workq, 1x(3c 1p 0K)+2x(1c 1p 0K) on n03(2c 2p 0K) n04(3c 1p 0K), limit 600s, submitted 23:05:50, started 23:05:50",
		[]string{`mpiprocs=2 => mpiprocs=1`, `(n04:ncpus=3)+(n03 => (n04:ncpus=3)+(n02`, `1:ncpus=3+2 => 1:ncpus=3+3`}},
	{"05-held.qstat-f-json", readJobs,
		"11.pbs1 held of alice held in workq, ours, 1x(1c 1p 0K), limit 60s, submitted 23:05:55, never started",
		[]string{`"Hold_Types":	"u" => "Hold_Types":	"s"`, `"H" => "W", "stime":	"Fri Nov 20 23:05:55 2026`}},
	{"05-held.qstat-f-json-hold-running", readJobs,
		"9.pbs1 ncpusonly of alice running in workq, ours, 1x(1c 1p 102400K) on n04(1c 1p 102400K), limit 157680000s, submitted 23:05:52, started 23:05:52",
		[]string{`"Hold_Types":	"u" => "Hold_Types":	"n"`, `"place":	"pack" => "place":	"pack:excl"`}},
	{"05-held.qstat-xf-json-deleted", readJobs,
		"11.pbs1 held of alice done in workq, ours, 1x(1c 1p 0K), limit 60s, submitted 23:05:55, finished 23:05:56, never started, ended by request",
		[]string{`"substate":	91 => "substate":	92`, `1795215956, => 1795215957,`}},
	{"06-finished.qstat-xf-json-ok", readJobs,
		"12.pbs1 ok of alice done in workq, 1x(1c 1p 0K), limit 60s, submitted 23:06:53, started 23:06:53, finished 23:06:56, used 0s 2s 6316K, ended by itself 0",
		[]string{`"Exit_status":	0 => "Exit_status":	1`, `"6316kb" => "6317kb"`, `23:06:56 2026",` + "\n\t\t\t" + `"session => 23:06:57 2026",` + "\n\t\t\t" + `"session`}},
	{"06-finished.qstat-xf-json-exit3", readJobs,
		"13.pbs1 exit3 of alice done in workq, 1x(1c 1p 0K), limit 60s, submitted 23:06:53, started 23:06:53, finished 23:06:53, ended by itself 3",
		[]string{`"Exit_status":	3 => "Exit_status":	259`}},
	{"06-finished.qstat-xf-json-deleted", readJobs,
		"16.pbs1 todelete of alice done in workq, 1x(1c 1p 0K), limit 60s, submitted 23:06:53, started 23:06:53, finished 23:06:56, used 0s 3s 6332K, ended by request 143 signal 15",
		[]string{`"Exit_status":	271 => "Exit_status":	265`, `"substate":	91 => "substate":	93`}},
	{"06-finished.qstat-xf-json-badshell", readJobs,
		"19.pbs1 noshell of alice done in workq, 1x(1c 1p 0K), limit 60s, submitted 23:06:53, started 23:06:53, finished 23:06:54, ended by itself 254",
		[]string{`"Exit_status":	254 => "Exit_status":	-2`}},
	{"12-resv-run.qstat-overtime", readJobs,
		"39.pbs1 overtime of alice done in workq, 1x(1c 1p 0K) host:n04, limit 5s, submitted 23:09:38, started 23:09:38, finished 23:09:49, used 0s 10s 6532K, ended by walltime",
		[]string{`"Exit_status":	-29 => "Exit_status":	-28`, `host=n04 => host=n03`, `"00:00:10" => "00:00:11"`}},
	{"12-resv-run.qstat-long-after-end-12s", readJobs,
		`67.pbs1 long of alice done in "", 1x(2c 1p 0K), limit 40s, submitted 23:11:08, started 23:11:14, finished 23:12:17, used 0s 62s 5736K, bound to R64.pbs1, ended by walltime`,
		[]string{`"reserve_ID":	"R64.pbs1" => "reserve_ID":	"R65.pbs1"`, `"R64" => "R64x"`}},
	{"10-resv-future.qstat-xf-json-after-rdel", readJobs,
		`46.pbs1 inresv of alice done in "", 1x(2c 1p 0K), limit 120s, submitted 23:09:52, finished 23:09:55, never started, bound to R42.pbs1, ended by request`,
		[]string{`"substate":	91 => "substate":	91, "run_count":	1`}},
	{"17-depend.dead-qstat", readJobs,
		"1211.pbs1 dead1 of alice done in workq, 1x(1c 1p 0K), limit 60s, submitted 23:30:05, finished 23:30:05, never started, ended as never ran\n" +
			"1212.pbs1 dead2 of alice done in workq, 1x(1c 1p 0K), limit 60s, submitted 23:30:05, finished 23:30:05, never started, ended as never ran",
		[]string{`"substate":	92 => "Exit_status":	0, "substate":	92`}},
	{"18-json-quirks.qstat-f-json-numname", readJobs,
		"109.pbs1 12345 of alice held in workq, ours, 1x(1c 1p 0K), limit 157680000s, submitted 23:14:59, never started",
		[]string{`"Job_Name":	"12345" => "Job_Name":	12346`}},
	{"18-json-quirks.qstat-f-json-oddenv", readJobs,
		"110.pbs1 odd of alice held in workq, ours, 1x(1c 1p 0K), limit 157680000s, submitted 23:14:59, never started",
		[]string{`"V2":	7 => "GBROKER_ATTEMPT":	"o/j@1.1#1"`}},
	{"18-json-quirks.qstat-f-json-sel1", readJobs,
		"114.pbs1 sel1 of alice held in workq, ours, 1x(1c 1p 0K), limit 157680000s, submitted 23:15:00, never started",
		[]string{`"select":	1 => "select":	2`}},
	{"19-move-signal.qstat-suspended", readJobs,
		"118.pbs1 mv of alice running in workq, 1x(1c 1p 0K), limit 100s, submitted 23:15:06, started 23:15:06",
		[]string{`"S" => "H"`, `"S" => "R"`}},
	{"19-move-signal.qstat-rerun", readJobs,
		"118.pbs1 mv of alice running in workq, 1x(1c 1p 0K) on n01(1c 1p 0K), limit 100s, submitted 23:15:06, started 23:15:19",
		[]string{`"stime":	"Fri Nov 20 23:15:19 => "stime":	"Fri Nov 20 23:15:06`}},
	{"16-stage.qstat-missing", readJobs,
		"98.pbs1 stgbad of alice running in workq, 1x(1c 1p 0K) on n01(1c 1p 0K), limit 60s, submitted 23:14:36, never started",
		[]string{`"substate":	15 => "run_count":	1, "substate":	15`}},
	{"21-multi-id.qstat-xEf-json-with-unknown", readJobs,
		"1170.pbs1 m1 of alice running in workq, 1x(1c 1p 0K) on n01(1c 1p 0K), limit 100s, submitted 23:22:04, started 23:22:04\n" +
			"1171.pbs1 m2 of alice held in workq, ours, 1x(1c 1p 0K), limit 100s, submitted 23:22:04, never started\n" +
			"1172.pbs1 m3 of alice done in workq, 1x(1c 1p 0K), limit 100s, submitted 23:22:04, started 23:22:04, finished 23:22:05, ended by itself 5",
		[]string{`"1171.pbs1":	{ => "1173.pbs1":	{`, `"Exit_status":	5 => "Exit_status":	6`}},
	{"24-peer-scheduling.qstat-x-after@pbs1", readJobs,
		"1181.pbs1 peerjob of alice odd in workq@pbs2, 1x(2c 1p 0K), limit 60s, submitted 23:25:36, never started",
		[]string{`"M" => "F"`}},
	{"08-node-offline.pbsnodes-a-json", readNodes,
		"n01 4c 16777216K host:n01 down\nn02 4c 16777216K host:n02\nn03 4c 16777216K host:n03\nn04 4c 16777216K host:n04 down",
		[]string{`"offline" => "free"`, `"free" => "job-busy,offline"`, `"free" => "fine"`, `"ncpus":	4 => "ncpus":	5`, `"16gb" => "17gb"`}},
	{"09-errors.qstat-Qf-json", readQueues,
		"workq 0s takes starts\nclosed 0s starts\nstopped 0s takes\nsmall 3600s takes starts\nacl 0s takes starts",
		[]string{`"enabled":	"False" => "enabled":	"True"`, `"01:00:00" => "02:00:00"`, `"Execution" => "Rooting"`, `"workq" => "workr"`}},
	{"27-queue-states.qstat-Q-json-untyped", readQueues, // of a queue that is made step by step, most is absent; one without a type is none
		"workq 0s takes starts\nfresh 0s takes starts",
		[]string{`"enabled":	"True" => "other":	"True"`, `"queue_type":	"Execution" => "queue":	"Execution"`}},
	{"28-routing-default.qstat-Q-json", readQueues,
		"workq 0s takes starts\nsmall 600s takes starts\nroute 0s takes starts to [small workq]",
		[]string{`"small,workq" => "small"`}},
	{"28-routing-default.qstat-B-json", readServer,
		"23.06.06 at 22 05:24:16, queue route, keeps 1209600s, depth 1, stopped false", []string{`"route" => "workq"`}},
	{"29-scheduling-off.qstat-B-json", readServer,
		"23.06.06 at 22 05:20:31, queue workq, keeps 1209600s, depth 1, stopped true", []string{`"False" => "True"`}},
	{"32-suspended.qstat-f-json", readJobs, // it holds no cores
		"204.pbs1 susp of alice running in workq, 1x(4c 1p 0K) host:n02, limit 600s, submitted 22 05:13:43, started 22 05:13:43", []string{`"S" => "R"`}},
	{"33-mom-lost.qstat-x-f-json-end", readJobs, // -4, its mom was started again; -20, its mom was away; the others were deleted
		"255.pbs1 again-n of alice done in workq, 1x(1c 1p 0K) host:n01, limit 1000s, submitted 22 05:22:03, started 22 05:22:03, finished 22 05:22:13, disappeared\n" +
			"256.pbs1 again-y of alice done in workq, 1x(1c 1p 0K) host:n01, limit 1000s, submitted 22 05:22:03, started 22 05:22:13, finished 22 05:23:21, used 0s 67s 6504K, ended by request 143 signal 15\n" +
			"257.pbs1 lost-n of alice done in workq, 1x(1c 1p 0K) host:n02, limit 1000s, submitted 22 05:22:03, started 22 05:22:03, finished 22 05:22:42, disappeared\n" +
			"258.pbs1 lost-y of alice done in workq, 1x(1c 1p 0K) host:n02, limit 1000s, submitted 22 05:22:03, started 22 05:23:14, finished 22 05:23:25, used 0s 10s 0K, ended by request 143 signal 15\n" +
			"260.pbs1 deleted-n of alice done in workq, 1x(1c 1p 0K) host:n02, limit 1000s, submitted 22 05:23:05, started 22 05:23:05, finished 22 05:23:09, ended by request", []string{`"Exit_status":	-4 => "Exit_status":	-3`, `"Exit_status":	-20 => "Exit_status":	-21`}},
	{"36-exec-host-down.pbsnodes-json-stale-down", readNodes,
		"n01 4c 16777216K fast host:n01\nn02 4c 16777216K host:n02\nn03 4c 16777216K host:n03\nn04 4c 16777216K host:n04 down\nn04[0] 2c 4194304K host:n04 down", []string{`"down,Stale" => "free"`, `"down,Stale" => "Odd"`}},
	{"01-idle.qstat-Bf-json", readServer,
		"23.06.06 at 23:05:46, queue workq, keeps 86400s, depth 10, stopped false",
		[]string{`"24:00:00" => "12:00:00"`, `"backfill_depth":	10 => "backfill_depth":	0`, `1795215946 => 1795215947`, `"scheduling":	"True" => "scheduling":	"False"`}},
	{"14-resv-vs-jobs.rstat-auth", readReservations,
		"R85.pbs1 NULL of alice for bob, RESV_CONFIRMED, 21 00:12:54 to 21 00:22:54, [n02] [1]",
		[]string{`alice@pbs1,bob => alice@pbs1,rob`, `(n02: => (n03:`, `RESV_CONFIRMED => RESV_RUNNING`, `00:22:54 => 00:22:55`, `R85.pbs1 => R86.pbs1`}},
	{"11-resv-errors.schedoff-rstat-F", readReservations,
		"R59.pbs1 NULL of alice for alice, RESV_UNCONFIRMED, 21 00:09:58 to 21 00:19:58, [] []",
		[]string{`RESV_UNCONFIRMED => RESV_OTHER`}},
	{"14-resv-vs-jobs.rstat-degraded-offline", readReservations,
		"R120.pbs1 NULL of alice for alice, RESV_DEGRADED, 21 00:15:25 to 21 00:25:25, [n01 n02 n03 n04] [4 4 4 4]",
		[]string{`(n04:ncpus=4) => (n04:ncpus=3)`}},
	{"10-resv-future.pbs_rsub-denied-I", readDecision, "R43.pbs1: refused", []string{`DENIED => CONFIRMED`}},
	{"11-resv-errors.schedoff-rsub-I-3", readDecision, "R61.pbs1: nothing is known", []string{`delete, wait period expired => DENIED`}},
	{"13-ralter.ralter-duration", readDecision, "R70.pbs1: confirmed", []string{`CONFIRMED => ALTER REQUESTED`, `R70 => R71`}},
	{"35-rsub-other-user.root", readRefusal, "refused: an account of its own", nil},
	{"09-errors.qsub-root", readRefusal, "refused: as another account", nil},
	{"20-server-down.qsub", readRefusal, "nothing is known: Connection refused", nil},
	{"06-finished.qdel-finished", readRefusal, "not there: Job has finished", nil},
}

func ten(t grid.Tick) string { return strings.TrimPrefix(t.Time().Format("02 15:04:05"), "20 ") }

var stateWords = map[external.State]string{external.Odd: "odd", external.Queued: "queued", external.Held: "held", external.Running: "running", external.Done: "done"}

func readJobs(w words, r recording) (string, error) {
	_, list, err := w.jobs(r.Stdout)
	var lines []string
	for _, j := range list {
		lines = append(lines, shown(j))
	}
	return strings.Join(lines, "\n"), err
}

func shown(j job) string {
	queue := string(j.Queue)
	if queue == "" {
		queue = `""`
	}
	parts := []string{fmt.Sprintf("%s %s of %s %s in %s", j.Local, j.Name, j.User, stateWords[j.State], queue)}
	add := func(is bool, format string, args ...any) {
		if is {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	add(j.OurHold, "ours")
	add(j.Mark != "", "mark %s", j.Mark)
	var chunks []string
	for _, c := range j.Demand.Chunks {
		chunks = append(chunks, fmt.Sprintf("%dx(%dc %dp %dK)", c.Count, c.Cores, c.Processes, c.Memory>>10))
	}
	demand := strings.Join(chunks, "+")
	if j.Demand.Exclusive {
		demand += " alone"
	}
	for _, p := range j.Demand.Properties {
		demand += " " + p
	}
	for i, p := range j.Places {
		if i == 0 {
			demand += " on"
		}
		demand += fmt.Sprintf(" %s(%dc %dp %dK)", p.Node, p.Cores, p.Processes, p.Memory>>10)
	}
	add(true, "%s", demand)
	add(true, "limit %ds", j.Limit/grid.Second)
	add(true, "submitted %s", ten(j.Submitted))
	add(j.Started != 0, "started %s", ten(j.Started))
	add(j.Finished != 0, "finished %s", ten(j.Finished))
	add(j.NeverStarted, "never started")
	add(j.State == external.Done && j.Usage != (external.Usage{}), "used %ds %ds %dK", j.Usage.CPU/1000, j.Usage.Wall/1000, j.Usage.Memory>>10)
	add(j.Reservation != "", "bound to %s", j.Reservation)
	if e := j.End; e != nil {
		end := [...]string{"ended by itself", "ended by walltime", "ended by request", "ended as never ran", "disappeared"}[e.Cause]
		if e.Cause == grid.ByItself || e.ExitCode != 0 {
			end += fmt.Sprintf(" %d", e.ExitCode)
		}
		if e.Signal != 0 {
			end += fmt.Sprintf(" signal %d", e.Signal)
		}
		add(true, "%s", end)
	}
	return strings.Join(parts, ", ")
}

func readNodes(w words, r recording) (string, error) {
	_, list, err := w.nodes(r.Stdout)
	var lines []string
	for _, n := range list {
		line := fmt.Sprintf("%s %dc %dK %s", n.Name, n.Cores, n.Memory>>10, strings.Join(n.Properties, " "))
		if n.Down {
			line += " down"
		}
		if n.unread != nil {
			line += " unread"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n"), err
}

func readQueues(_ words, r recording) (string, error) {
	list, err := queues(r.Stdout)
	var lines []string
	for _, q := range list {
		line := fmt.Sprintf("%s %ds", q.Name, q.Limit/grid.Second)
		if q.takes {
			line += " takes"
		}
		if q.starts {
			line += " starts"
		}
		if q.route != nil {
			line += fmt.Sprint(" to ", q.route)
		}
		if q.unread != nil {
			line += " unread"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n"), err
}

func readServer(_ words, r recording) (string, error) {
	h, s, err := servers(r.Stdout)
	return fmt.Sprintf("%s at %s, queue %s, keeps %ds, depth %d, stopped %v", h.version, ten(h.at), s.standard, s.keeps/1000, s.depth, s.stopped), err
}

func readReservations(w words, r recording) (string, error) {
	list, err := w.reservations(r.Stdout)
	var lines []string
	for _, b := range list {
		lines = append(lines, fmt.Sprintf("%s %s of %s for %s, %s, %s to %s, %v %v", b.Native, b.name, b.owner, b.User, b.state, ten(b.Start), ten(b.End), b.Nodes, b.cores))
	}
	return strings.Join(lines, "\n"), err
}

func readDecision(_ words, r recording) (string, error) {
	id, _, _ := strings.Cut(strings.TrimPrefix(string(r.Stdout), "pbs_ralter: "), " ")
	_, err := decided(r.call(), r.Result)
	return id + ": " + kindOf(err), nil
}

func kindOf(err error) string {
	var unread *command.OutputError
	switch {
	case err == nil:
		return "confirmed"
	case errors.As(err, &unread):
		return "unreadable"
	case errors.Is(err, grid.ErrInvalid):
		return "refused"
	case errors.Is(err, grid.ErrNotFound):
		return "not there"
	case errors.Is(err, grid.ErrUnavailable):
		return "nothing is known"
	}
	return err.Error()
}

func readRefusal(_ words, r recording) (string, error) {
	err := trouble(r.call(), r.Result)
	for _, said := range []string{"an account of its own", "as another account", "Connection refused", "Job has finished"} {
		if strings.Contains(err.Error(), said) {
			return kindOf(err) + ": " + said, nil
		}
	}
	return err.Error(), nil
}

// compared reads a recording and says whether it means what it should.
func (e expected) compared(w words, r recording) error {
	got, err := e.read(w, r)
	if err == nil && got != e.want {
		err = fmt.Errorf("it is\n%s\nand should be\n%s", got, e.want)
	}
	return err
}

// What recordings mean, by hand; and a changed value in one of them is noticed.
func TestExpectedByHand(t *testing.T) {
	t.Parallel()
	w := plain(t)
	for _, e := range byHand {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			r := recording{line: e.name}
			load(t, "testdata/recordings/"+e.name, &r)
			if err := e.compared(w, r); err != nil {
				t.Fatal(err)
			}
			for _, flip := range e.flips {
				from, to, _ := strings.Cut(flip, " => ")
				changed := r
				changed.Stdout = []byte(strings.Replace(string(r.Stdout), from, to, 1))
				if string(changed.Stdout) == string(r.Stdout) {
					t.Errorf("%q is not in the recording", from)
				} else if e.compared(w, changed) == nil {
					t.Errorf("nobody sees %s", flip)
				}
			}
		})
	}
}
