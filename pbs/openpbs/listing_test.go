package openpbs

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/pbs/external"
	"gbroker/plan"
)

// waiting is one job as qstat shows it.
func waiting(id, queue, more string) string {
	return fmt.Sprintf(`"%s":{"Job_Name":"a","Job_Owner":"a@p","job_state":"Q","queue":"%s","substate":10,"ctime":"Fri Nov 20 23:07:12 2026","Resource_List":{"select":"1:ncpus=1"}%s}`, id, queue, more)
}

func listOf(list string, members ...string) string {
	return strings.Replace(emptyJSON, "\n}", ",\""+list+"\":{"+strings.Join(members, ",")+"}}", 1)
}

// Queues that take or start no jobs say so; jobs in one that is not started are held back.
func TestListingOfQueues(t *testing.T) {
	t.Parallel()
	c, _ := replay(t, Config{}, idleSystem(t, answer{"qstat", "-f -F json", listOf("Jobs", waiting("1.p", "workq", ""), waiting("2.p", "closed", ""), waiting("3.p", "stopped", ""), waiting("4.p", "R7", `,"reserve_ID":"R7.p"`)), "", 0})...)
	l, err := c.Listing(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, q := range l.Queues {
		got += fmt.Sprintf("%s %v %v %v %s\n", q.Name, q.Limit, q.Stopped, q.Closed, q.Why)
	}
	if want := "workq 0 false false \nclosed 0 false true it is not enabled\nstopped 0 true false it is not started\nsmall 3600000 false false \nacl 0 false false \n"; got != want {
		t.Errorf("queues:\n%s", got)
	}
	for i, want := range []external.Job{{State: external.Queued, Queue: "workq"}, {State: external.Queued, Queue: "closed"}, {State: external.Held, Queue: "stopped"}, {State: external.Queued, Reservation: "R7.p"}} {
		if j := l.Jobs[i]; j.State != want.State || j.Queue != want.Queue || j.Reservation != want.Reservation {
			t.Errorf("%s: %+v", j.Local, j)
		}
	}
	if tr := c.Traits(); tr.Version != "23.06.06" || tr.Forgets != grid.Day || tr.Slack != 10*grid.Second {
		t.Errorf("%+v", tr)
	}
}

// The parts of arrays are jobs of their own; the parent is none.
func TestListingOfArrays(t *testing.T) {
	t.Parallel()
	parent := waiting("20[].p", "workq", `,"array":"True"`)
	c, asked := replay(t, Config{}, idleSystem(t, answer{"qstat", "-f -F json", listOf("Jobs", parent), "", 0},
		answer{"qstat", "-t -f -F json", listOf("Jobs", parent, waiting("20[1].p", "workq", ""), waiting("20[2].p", "workq", "")), "", 0})...)
	l, err := c.Listing(t.Context())
	if err != nil || len(l.Jobs) != 2 || l.Jobs[0].Local != "20[1].p" {
		t.Errorf("%+v, %v, asked:\n%s", l.Jobs, err, asked())
	}
}

// Nodes that are bound to a queue serve it alone; boolean and text resources are properties.
func TestListingOfNodes(t *testing.T) {
	t.Parallel()
	node := func(name, state, more string) string {
		return fmt.Sprintf(`"%s":{"Mom":"%s","state":"%s","resources_available":{"ncpus":8,"mem":"1tb","host":"%s","ngpus":2,"bigmem":"True","slow":"False","rack":"r 1","scratch":"10gb"}%s}`, name, name, state, name, more)
	}
	c, _ := replay(t, Config{}, idleSystem(t, answer{"pbsnodes", "*", listOf("nodes", node("n1", "free", `,"queue":"small"`), node("n2", "job-exclusive,resv-exclusive", ""), node("n3[0]", "state-unknown,down", "")), "", 0})...)
	l, err := c.Listing(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	n := l.Nodes[0]
	if n.Cores != 8 || n.Memory != 1<<40 || !slices.Equal(n.Properties, []string{"host:n1", "bigmem"}) || !slices.Equal(n.Resources, []grid.Resource{{Name: "gpu", Amount: 2}}) {
		t.Errorf("%+v", n)
	}
	if l.Nodes[0].Down || l.Nodes[1].Down || !l.Nodes[2].Down {
		t.Errorf("%+v", l.Nodes)
	}
	if !slices.Equal(l.Queues[0].Nodes, []int{1, 2}) || !slices.Equal(l.Queues[3].Nodes, []int{0}) {
		t.Errorf("%+v", l.Queues)
	}
}

// What cannot be read in one queue, node, job or reservation of others is left out, or taken
// as unusable, and told; the rest is seen. Asked for by name, it is not understood.
func TestOneThatCannotBeRead(t *testing.T) {
	t.Parallel()
	const from, to = "Fri Nov 20 23:09:54 2026", "Fri Nov 20 23:19:54 2026"
	odd := strings.Replace(waiting("2.p", "workq", `,"Variable_List":{"GBROKER_ATTEMPT":"o/s.1@1.0#2"}`), `"Q"`, `"Z"`, 1)
	c, _ := replay(t, Config{}, idleSystem(t,
		answer{"qstat", "-Q -f -F json", listOf("Queue", `"fresh":{"queue_type":"Execution","total_jobs":0}`, `"untyped":{"total_jobs":0}`,
			`"odd":{"queue_type":"Execution","enabled":"Perhaps","started":"True"}`, `"workq":{"queue_type":"Execution","enabled":"True","started":"True"}`), "", 0},
		answer{"pbsnodes", "*", listOf("nodes", `"n1":{"Mom":"n1","state":"fine","resources_available":{"ncpus":4}}`,
			`"n2":{"Mom":"n2","state":"free","resources_available":{"ncpus":"four"}}`, `"n3":{"Mom":"n3","state":"free","resources_available":{"ncpus":4}}`), "", 0},
		answer{"qstat", "-f -F json", listOf("Jobs", waiting("1.p", "workq", ""), odd, waiting("3.p", "workq", `,"Resource_List":7`), `"x":{}`), "", 0},
		answer{"qstat", "-x -E -f -F json 2.p", listOf("Jobs", odd), "", 0},
		answer{"pbs_rstat", "-F", rstat("RESV_ODD", from, to, "(n01:ncpus=4)", "theirs") + strings.ReplaceAll(rstat("RESV_RUNNING", from, to, "(n1:ncpus=4)", "theirs"), "R45", "R46"), "", 0})...)
	l, err := c.Listing(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	got := ""
	for _, q := range l.Queues {
		got += fmt.Sprintf("%s stopped %v closed %v: %s\n", q.Name, q.Stopped, q.Closed, q.Why)
	}
	for _, n := range l.Nodes {
		got += fmt.Sprintf("%s down %v\n", n.Name, n.Down)
	}
	for _, j := range l.Jobs {
		got += fmt.Sprintf("%s %s %q\n", j.Local, stateWords[j.State], j.Mark)
	}
	want := "fresh stopped true closed true: it is neither enabled nor started\nodd stopped true closed true: it cannot be read\nworkq stopped false closed false: \n" +
		"n1 down true\nn2 down true\nn3 down false\n" + `x odd ""` + "\n" + `1.p queued ""` + "\n" + `2.p odd "o/s.1@1.0#2"` + "\n" + `3.p odd ""` + "\n"
	told := strings.Join(l.Unusable, "\n")
	if got != want || len(l.Reservations) != 1 || len(l.Unusable) != 5 || l.LeftOut != 2 {
		t.Errorf("it shows\n%s%v, and tells\n%s\nand %d more", got, l.Reservations, told, l.LeftOut)
	}
	for _, says := range []string{"queue odd", `"Perhaps"`, "node n1", `"fine"`, "node n2", "job 2.p", "job x"} {
		if !strings.Contains(told, says) {
			t.Errorf("%q is not told:\n%s", says, told)
		}
	}
	if list, err := c.Look(t.Context(), "2.p"); !errors.Is(err, grid.ErrUnavailable) {
		t.Errorf("asked for, it is %+v, %v", list, err)
	}
}

// A job that may have its cores still has them, though it cannot be read; one that waits, is suspended or stands for an array has none.
func TestPlacesOfAnOddJob(t *testing.T) {
	t.Parallel()
	const began = `,"stime":"Fri Nov 20 23:07:13 2026"`
	for state, places := range map[string]int{"Z": 1, "T": 1, "R": 1, "E": 1, "Q": 0, "H": 0, "S": 0, "F": 0} {
		for more, known := range map[string]bool{"": state != "Z", `,"Priority":"high"`: false, `,"max_run_subjobs":"many"`: false, `,"resources_used":7`: false} {
			job := strings.Replace(waiting("1.p", "workq", began+more+`,"exec_vnode":"(n1:ncpus=2)"`), `"Q"`, `"`+state+`"`, 1)
			_, list, err := plain(t).jobs([]byte(listOf("Jobs", job, strings.Replace(strings.Replace(job, "1.p", "2.p", 1), "stime", `array":"True","stime`, 1))))
			if err != nil || (list[0].unread == nil) != known || len(list[0].Places) != places || places > 0 && list[0].Started == 0 || len(list[1].Places) > 0 {
				t.Errorf("%s %s: %+v, %v", state, more, list, err)
			}
		}
	}
}

// An odd job that may be ours, and does not tell whose it is, leaves nothing to be believed; none of ours is missing without a word.
func TestOddJobOfOurs(t *testing.T) {
	t.Parallel()
	ours := waiting("2.p", "workq", `,"Variable_List":{"GBROKER_ATTEMPT":"o/s.1@1.0#2"}`)
	for _, c := range []struct {
		from, to string
		whose    bool
	}{
		{`"Q"`, `"Z"`, true}, {`{"select":"1:ncpus=1"}`, `7`, true}, {`"ctime"`, `"time"`, true}, {`"a@p"`, `"a"`, true},
		{`"Job_Name":"a",`, ``, false}, {`"Job_Owner":"a@p",`, ``, false}, {`"2.p"`, `"x"`, false}, {`"ctime"`, `"ctime":1,"ctime"`, false}, {`"o/s.1@1.0#2"}`, `"?"},"ctime":1`, false},
	} {
		_, list, err := plain(t).jobs([]byte(listOf("Jobs", waiting("1.p", "workq", ""), strings.Replace(ours, c.from, c.to, 1))))
		if (err == nil) != c.whose || c.whose && (list[1].State != external.Odd || list[1].unread == nil || list[1].Mark != "o/s.1@1.0#2" || list[1].Name != "a" || list[1].User != "a") {
			t.Errorf("%s as %s: %+v, %v", c.from, c.to, list, err)
		}
	}
}

// A routing queue is what its destinations are together.
func TestRoutingQueues(t *testing.T) {
	t.Parallel()
	q := func(name string, limit grid.Tick, takes, starts bool, route ...grid.QueueName) queue {
		return queue{Queue: plan.Queue{Name: grid.QueueName(name), Limit: limit}, takes: takes, starts: starts, route: route}
	}
	qs := []queue{
		q("a", grid.Hour, true, true), q("b", 2*grid.Hour, true, false), q("c", 0, false, true),
		q("both", 0, true, true, "a", "b", "x@elsewhere"), q("late", 0, true, true, "b"), q("none", 0, true, true, "c", "gone"),
		q("far", 0, true, true, "near"), q("near", 0, true, true, "a", "far"), q("off", 0, true, false, "a"),
	}
	ns := []node{{queue: "a"}, {queue: "b"}, {}}
	got := ""
	for _, q := range partition(qs, ns)[3:] {
		got += fmt.Sprintf("%s %v %d stopped %v closed %v %s\n", q.Name, q.Nodes, q.Limit/grid.Hour, q.Stopped, q.Closed, q.Why)
	}
	want := `both [0 1] 2 stopped false closed false 
late [1] 2 stopped true closed false none of its destinations [b] is started
none [] 0 stopped false closed true none of its destinations [c] takes jobs
far [0] 1 stopped false closed false 
near [0] 1 stopped false closed false 
off [0] 1 stopped true closed false it is not started
`
	if got != want {
		t.Errorf("they are\n%s", got)
	}
	c, _ := replay(t, Config{}, idleSystem(t, recorded(t, "qstat", "-B -f -F json", "28-routing-default.qstat-B-json"), recorded(t, "qstat", "-Q -f -F json", "28-routing-default.qstat-Q-json"))...)
	l, err := c.Listing(t.Context())
	if r := plan.Refuse(plan.Snapshot{Nodes: []plan.Node{{Name: "n", Cores: 4}}, Queues: l.Queues, Default: l.Default}, plan.Question{Demand: order().Demand, Limit: grid.Hour}); err != nil || r != nil {
		t.Errorf("a job without a queue is refused: %+v, %v", r, err)
	}
}

// While scheduling is off nothing is started, and the listing says so.
func TestSchedulingOff(t *testing.T) {
	t.Parallel()
	c, _ := replay(t, Config{}, idleSystem(t, recorded(t, "qstat", "-B -f -F json", "29-scheduling-off.qstat-B-json"))...)
	if l, err := c.Listing(t.Context()); err != nil || !l.Stopped || !strings.Contains(l.Why, "scheduling is False") {
		t.Errorf("stopped %v, %q, %v", l.Stopped, l.Why, err)
	}
}

// Reservations of ours are known by name and owner; others' that keep nothing are left out.
func TestReservationsOfOursAndOthers(t *testing.T) {
	t.Parallel()
	const from, to = "Fri Nov 20 23:09:54 2026", "Fri Nov 20 23:19:54 2026"
	text := ""
	for i, r := range []string{
		strings.Replace(rstat("RESV_CONFIRMED", from, to, "(n02:ncpus=4+n03:ncpus=2)", "gbroker-b1"), ":excl", "", 1),
		strings.ReplaceAll(rstat("RESV_RUNNING", from, to, "(n01:ncpus=4)", "gbroker-b2"), "alice@", "mallory@"),
		strings.Replace(rstat("RESV_UNCONFIRMED", from, to, "", "gbroker-b3"), "resv_nodes = \n", "", 1),
		rstat("RESV_UNCONFIRMED", from, to, "", "theirs"),
		rstat("RESV_BEING_DELETED", from, to, "(n01:ncpus=4)", "gbroker-b4"),
		rstat("RESV_DEGRADED", from, to, "(n01:ncpus=4)", "gbroker-NO"),
	} {
		text += strings.ReplaceAll(r, "R45", fmt.Sprintf("R%d", i))
	}
	c, _ := replay(t, Config{Account: "alice"}, answer{"pbs_rstat", "-F", text, "", 0})
	list, err := c.Reservations(t.Context())
	got := ""
	for _, b := range list {
		got += fmt.Sprintf("%s=%s %v %v %s\n", b.Native, b.ID, b.Nodes, b.Cores, b.User)
	}
	want := "R0.pbs1=b1 [n02 n03] [4 2] bob\nR1.pbs1= [n01] [] bob\nR2.pbs1=b3 [] [] bob\nR5.pbs1= [n01] [] bob\n"
	if err != nil || got != want {
		t.Errorf("%s%v", got, err)
	}
}

// A reservation in which something runs is left to end by itself: its end would kill it.
func TestEndReservationSparesWhatRuns(t *testing.T) {
	t.Parallel()
	const from, to = "Fri Nov 20 23:09:54 2026", "Fri Nov 20 23:19:54 2026"
	there := answer{"pbs_rstat", "-F R45.pbs1", rstat("RESV_RUNNING", from, to, "(n01:ncpus=4)", "gbroker-b1"), "", 0}
	for state, deleted := range map[string]bool{"R": false, "Q": true, "S": false} {
		job := strings.Replace(waiting("1.p", "R45", `,"reserve_ID":"R45.pbs1"`), `"Q"`, `"`+state+`"`, 1)
		c, asked := replay(t, Config{}, there, answer{"qstat", "-f -F json", listOf("Jobs", job), "", 0}, answer{"pbs_rdel", "R45.pbs1", "", "", 0})
		if err := c.EndReservation(t.Context(), "R45.pbs1"); err != nil || strings.Contains(asked(), "pbs_rdel") != deleted {
			t.Errorf("%s: %v, asked:\n%s", state, err, asked())
		}
	}
	c, _ := replay(t, Config{}, there, answer{"qstat", "-f -F json", emptyJSON, "", 0}, answer{"pbs_rdel", "*", "", "pbs_rdel: Unknown Reservation Id R45.pbs1\n", 236})
	if err := c.EndReservation(t.Context(), "R45.pbs1"); err != nil {
		t.Errorf("one that has just gone: %v", err)
	}
}

// Where most of a list is not understood, the whole of it is not: a plan without these jobs
// would tell that the site is empty.
func TestMostCannotBeRead(t *testing.T) {
	t.Parallel()
	w := plain(t)
	for _, c := range []struct {
		odd, fine int
		read      bool
	}{{3, 0, true}, {4, 4, true}, {4, 3, false}, {64, 100, true}, {65, 1000, false}} {
		var jobs, nodes, queues []string
		reservations := ""
		for i := range c.odd + c.fine {
			state, node, set := "Z", "fine", "Perhaps"
			r := rstat("RESV_ODD", "Fri Nov 20 23:09:54 2026", "Fri Nov 20 23:19:54 2026", "(n01:ncpus=4)", "theirs")
			if i >= c.odd {
				state, node, set, r = "Q", "free", "True", strings.Replace(r, "RESV_ODD", "RESV_RUNNING", 1)
			}
			jobs = append(jobs, strings.Replace(waiting(fmt.Sprintf("%d.p", i), "workq", ""), `"Q"`, `"`+state+`"`, 1))
			nodes = append(nodes, fmt.Sprintf(`"n%d":{"Mom":"n","state":"%s"}`, i, node))
			queues = append(queues, fmt.Sprintf(`"q%d":{"queue_type":"Execution","enabled":"%s"}`, i, set))
			reservations += r
		}
		for kind, text := range map[string]string{"jobs": listOf("Jobs", jobs...), "nodes": listOf("nodes", nodes...), "queues": listOf("Queue", queues...), "reservations": reservations} {
			if err := parsers(w)[kind]([]byte(text)); (err == nil) != c.read {
				t.Errorf("%d of %d %s are odd: %v", c.odd, c.odd+c.fine, kind, err)
			}
		}
	}
}
