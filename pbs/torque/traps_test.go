package torque

import (
	"slices"
	"strings"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/pbs/command"
	"gbroker/pbs/external"
	"gbroker/plan"
	"gbroker/test/fakebatch/batch"
)

// TORQUE 1: exit codes are error numbers modulo 256.
func TestTorque01ExitCodes(t *testing.T) {
	t.Parallel()
	r, _ := replay(t, map[string]string{
		"qdel 1.pbs1": "02-running/58-qdel-other-user", "qdel 2.pbs1": "07-nodes/21-qdel-when-mom-dead", "qdel 3.pbs1": "02-running/87-qdel-completed",
		"qdel 4.pbs1": "08-errors/38-qdel-unknown", "qstat -x 5.pbs1": "12-daemons-down/13-server-down-qstat-x", "qstat -x 6.pbs1": "12-daemons-down/38-trqauthd-down-qstat-x",
		"pbsnodes -x": "12-daemons-down/20-server-down-pbsnodes-x",
	})
	c := New(Config{Runner: r})
	kind(t, "another's job", c.Remove(t.Context(), "", "1.pbs1"), grid.ErrInvalid, "159", "Unauthorized Request")
	kind(t, "a dead node", c.Remove(t.Context(), "", "2.pbs1"), grid.ErrUnavailable, "224", "qdel -p", "could not connect to MOM")
	for _, id := range []grid.LocalID{"3.pbs1", "4.pbs1"} {
		if err := c.Remove(t.Context(), "", id); err != nil {
			t.Errorf("removing what has ended: %v", err)
		}
	}
	_, err := c.Look(t.Context(), "5.pbs1")
	kind(t, "no server", err, grid.ErrUnavailable, "111", "pbs_server", "Connection refused")
	_, err = c.Look(t.Context(), "6.pbs1")
	kind(t, "no trqauthd", err, grid.ErrUnavailable, "33", "trqauthd")
	_, err = query(t.Context(), c, parseNodes, "pbsnodes", "-x")
	kind(t, "no server", err, grid.ErrUnavailable, "error=111")
	_, err = query(t.Context(), c, parseQueues, "qdel", "1.pbs1")
	kind(t, "159 to who asks", err, grid.ErrUnavailable, "159")
	kind(t, "an unknown code", c.Remove(t.Context(), "", "99.pbs1"), grid.ErrUnavailable, "99", "it says nothing")
}

// TORQUE 2: of an unknown job qhold and qrls end with 153 and say nothing. (pbsnodes -o, which ends with 0 in any case, is never run.)
func TestTorque02SilentUnknownJob(t *testing.T) {
	t.Parallel()
	r, _ := replay(t, map[string]string{"qhold 1.pbs1": "04-held/47-qhold-unknown", "qrls -h u 1.pbs1": "04-held/47-qhold-unknown"})
	c := New(Config{Runner: r})
	for name, err := range map[string]error{"hold": c.Hold(t.Context(), "", "1.pbs1"), "release": c.Release(t.Context(), "", "1.pbs1")} {
		kind(t, name, err, grid.ErrInvalid, "does not know job 1.pbs1")
		kind(t, name, err, grid.ErrNotFound)
	}
}

// TORQUE 3: several jobs come as several documents; one that is not known is missing, and the others are read.
func TestTorque03ManyDocuments(t *testing.T) {
	t.Parallel()
	r, calls := replay(t, map[string]string{
		"qstat -x 3.pbs1 4.pbs1": "02-running/43-qstat-x-two", "qstat -x 13.pbs1 14.pbs1": "05-finished/71-qstat-x-mixed",
		"qstat -x 13.pbs1": "05-finished/69-qstat-x-purged", "qstat -x 14.pbs1": "02-running/31-serial-qstat-x",
	})
	c := New(Config{Runner: r})
	for ids, want := range map[string]int{"3.pbs1 4.pbs1": 2, "13.pbs1 14.pbs1": 1, "13.pbs1": 0, "": 0} {
		var list []grid.LocalID
		for id := range strings.FieldsSeq(ids) {
			list = append(list, grid.LocalID(id))
		}
		got, err := c.Look(t.Context(), list...)
		if err != nil || len(got) != want {
			t.Errorf("%s: %+v, %v", ids, got, err)
		}
	}
	_, err := c.Look(t.Context(), "14.pbs1")
	kind(t, "another job's answer", err, grid.ErrUnavailable, "3.pbs1, which was not asked for")
	_, err = c.Look(t.Context(), "-t")
	kind(t, "an option for an identifier", err, grid.ErrInvalid)
	if n := strings.Count(calls(), "\n"); n != 4 {
		t.Errorf("%d calls for five looks, of which one is at nothing:\n%s", n, calls())
	}
}

// TORQUE 4: walltimes have hours above 24, or days.
func TestTorque04Walltimes(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]grid.Tick{"90": 90, "01:30": 90, "00:00:15": 15, "100:00:00": 360000, "2:00:00:00": 172800, "48:00:00": 172800} {
		if got, err := span(text); err != nil || got != want*grid.Second {
			t.Errorf("%s is %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"", ":", "1:", "-5", "abc", "1:2:3:4:5", "1:9999:00", "99999999999999", "1 2"} {
		if got, err := span(text); err == nil {
			t.Errorf("%q is %d", text, got)
		}
	}
}

// TORQUE 5: text is asked for on one line each, and where it may be long, as XML.
func TestTorque05NothingIsWrapped(t *testing.T) {
	t.Parallel()
	s := onStage(t, batch.Config{})
	o := s.order("exit 0")
	o.Held = true
	o.Tag = "g" + strings.Repeat("x", nameLimit-1)
	id := s.submit(s.client, o)
	if j := s.look(id); j.Name != o.Tag || j.Mark != mark {
		t.Errorf("the job came back as %+v", j)
	}
}

// TORQUE 6 and 7: sizes come back as they were given; places have ranges.
func TestTorque06And07SizesAndPlaces(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{"1gb": 1 << 30, "2048mb": 1 << 31, "512kb": 1 << 19, "1000b": 1000, "1000": 1000, "8104kb": 8104 << 10, "2w": 16, "1kw": 8192, "3tb": 3 << 40, "0kb": 0, "4G": 4 << 30} {
		if got, err := memory(text); err != nil || got != want {
			t.Errorf("%s is %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "kb", "lots", "-1kb", "1xb", "1kbb", "9999999tb", "1.5gb", "99999999999999999999"} {
		if got, err := memory(text); err == nil {
			t.Errorf("%q is %d", text, got)
		}
	}
	for text, want := range map[string]int{"0": 1, "0-3": 4, "0-1,3": 3, "7,9-10": 3} {
		if got, err := slotCount(text); err != nil || got != want {
			t.Errorf("%s are %d slots, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "a", "3-1", "0-", "-", "0,", "0-9999999999"} {
		if got, err := slotCount(text); err == nil {
			t.Errorf("%q are %d slots", text, got)
		}
	}
	r := record{places: "n2/3+n2/2+n1/0-1+n2/0", letter: "R", memory: 600}
	r.job.State = external.Running
	got, err := r.placed(newScanner("", make([]byte, 1000)))
	if err != nil || len(got) != 2 || got[0].Node != "n1" || got[0].Cores != 2 || got[1].Cores != 3 || got[1].Memory != 360 {
		t.Errorf("placed on %+v, %v", got, err)
	}
}

// TORQUE 8 and 9: what a job's end was, also where nobody reads it soon; then it is unknown, not gone.
func TestTorque08And09Ends(t *testing.T) {
	t.Parallel()
	s := onStage(t, batch.Config{Grace: time.Second})
	for script, want := range map[string]external.End{
		"exit 0": {}, "exit 7": {ExitCode: 7},
		"sleep 1000": {ExitCode: 137, Signal: 9, Cause: grid.ByWalltime, Detail: "it was over its walltime"},
	} {
		o := s.order(script)
		if script == "sleep 1000" {
			o.Limit = 900 * grid.Millisecond * 2 // a second and a part of one: two
		}
		j := s.awaitState(s.submit(s.client, o), external.Done)
		if j.End == nil || *j.End != want || j.Started == 0 || j.Finished < j.Started || j.NeverStarted {
			t.Errorf("%s: %+v ended as %+v", script, j, j.End)
		}
	}
	running := s.submit(s.client, s.order("sleep 1000"))
	s.awaitState(running, external.Running)
	waiting := s.order("sleep 1000")
	waiting.Held = true
	held := s.submit(s.client, waiting)
	for _, id := range []grid.LocalID{running, held} {
		if err := s.client.Remove(t.Context(), "", id); err != nil {
			t.Fatal(err)
		}
		if j := s.awaitState(id, external.Done); j.End.Cause != grid.ByRequest || j.NeverStarted != (id == held) {
			t.Errorf("deleted: %+v, %+v", j, j.End)
		}
	}
	s.Lose(string(held))
	if list, err := s.client.Look(t.Context(), held, running); err != nil || len(list) != 1 {
		t.Errorf("one forgotten: %+v, %v", list, err)
	}
	for code, cause := range map[int64]grid.Cause{-1: grid.NeverRan, -3: grid.NeverRan, -4: grid.Disappeared, -99: grid.Disappeared, -10: grid.ByItself} {
		if end := failure(code); end.Cause != cause || end.Detail == "" || end.NodeFail != (code == -4) {
			t.Errorf("exit_status %d is %+v", code, end)
		}
	}
}

// TORQUE 10: nothing is handed over by -v but the mark, which has plain characters alone.
func TestTorque10PlainMark(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "a,b", "a\nb", `a"b`, "a b", "a'b", "é"} {
		o := external.Order{Tag: "g", Mark: bad, Script: []byte("x"), Limit: grid.Minute, Demand: one(1)}
		if _, err := qsub(o, false); err == nil {
			t.Errorf("the mark %q is handed over", bad)
		}
	}
	for list, want := range map[string]string{
		"A=B,GBROKER_ATTEMPT=me/x@1.0#1,C=D": "me/x@1.0#1", "GBROKER_ATTEMPT=m": "m", "NOGBROKER_ATTEMPT=m": "",
		"X=GBROKER_ATTEMPT=m": "", "NOGBROKER_ATTEMPT=m,GBROKER_ATTEMPT=n": "n", "GBROKER_ATTEMPT=a&amp;b": "", "": "",
	} {
		if got := markOf([]byte(list)); got != want {
			t.Errorf("%s has the mark %q", list, got)
		}
	}
}

// Whose variables are hidden (the live notes, 2): a job of another account is known by what it was submitted with.
func TestTorqueLive02MarkOfAnother(t *testing.T) {
	t.Parallel()
	s := onStage(t, batch.Config{})
	o := s.order("sleep 1000")
	o.As = "nobody"
	id := s.submit(s.client, o)
	if shown := s.Run("broker", "", "qstat", "-x", string(id)); strings.Contains(shown.Stdout, "Variable_List") {
		t.Errorf("the fake batch system shows another's variables: %s", shown.Stdout)
	}
	daemon := New(Config{Runner: command.Runner{Folders: []string{s.Bin}, Limit: time.Minute, Environment: []string{"PATH=" + s.Path(), "FAKEBATCH_USER=broker"}}})
	if list, err := daemon.Look(t.Context(), id); err != nil || len(list) != 1 || list[0].Mark != mark || list[0].User != "nobody" {
		t.Errorf("another's job: %+v, %v", list, err)
	}
	l, err := daemon.Listing(t.Context())
	if err != nil || len(l.Jobs) != 1 || l.Jobs[0].Mark != mark {
		t.Errorf("listed: %+v, %v", l.Jobs, err)
	}
	for args, want := range map[string]string{
		"-N a -v GBROKER_ATTEMPT=" + mark + " -h": mark, "-v GBROKER_ATTEMPT=" + mark: mark, "-v A=1,GBROKER_ATTEMPT=" + mark + " x.sh": mark,
		"-N GBROKER_ATTEMPT=" + mark: "", "-v GBROKER_ATTEMPT=a'b": "", "-v": "", "": "",
	} {
		if got := markOfArgs([]byte(args)); got != want {
			t.Errorf("of %q the mark is %q", args, got)
		}
	}
}

// TORQUE 11: arrays are listed by their parts, which hold nodes; those beyond a slot limit are held, and not by us.
func TestTorque11Arrays(t *testing.T) {
	t.Parallel()
	r, calls := replay(t, map[string]string{"qstat -x -t": "06-array/06-qstat-x-t", "qstat -B -f -1": "01-idle/23-qstat-B-f-1",
		"qstat -Q -f -1": "01-idle/20-qstat-Q-f-1", "pbsnodes -x": "01-idle/10-pbsnodes-x"})
	c := New(Config{Runner: r, Policy: plan.Policy{Kind: plan.FirstFit}})
	if tr := c.Traits(); tr.Version != "" {
		t.Errorf("before it was asked: %+v", tr)
	}
	l, err := c.Listing(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	running, held := 0, 0
	for _, j := range l.Jobs {
		running += len(j.Places)
		if j.State == external.Held && !j.OurHold {
			held++
		}
	}
	if running != 6 || held != 3 || len(l.Nodes) != 2 || l.Default != "batch" || l.Policy.Kind != plan.FirstFit {
		t.Errorf("%d places, %d held: %+v\n%s", running, held, l, calls())
	}
	if q := l.Queues; len(q) != 3 || q[0].Name != "short" || q[0].Limit != 30*grid.Minute || q[0].Closed || !q[1].Closed || q[1].Stopped || q[2].Name != "batch" {
		t.Errorf("queues: %+v", q)
	}
	if tr := c.Traits(); tr.Version != "6.1.3" || tr.Forgets != 300*grid.Second || tr.Kind != "torque" || tr.Slack != 0 {
		t.Errorf("then: %+v", tr)
	}
}

// TORQUE 12: files are never staged by TORQUE.
func TestTorque12NoStaging(t *testing.T) {
	t.Parallel()
	c, err := qsub(external.Order{Tag: "g", Mark: "m", Script: []byte("x"), Work: "/w", Log: "/l", Limit: grid.Minute, Demand: one(1)}, false)
	want := "qsub -N g -l nodes=1:ppn=1,walltime=0:01:00 -r n -d /w -j oe -o /l -S /bin/sh -m n -C #gbroker-none -v GBROKER_ATTEMPT=m"
	if err != nil || c.Name+" "+strings.Join(c.Args, " ") != want || string(c.Stdin) != "x" {
		t.Errorf("%s, %v", c, err)
	}
}

// TORQUE 13: a hold of a running job is accepted, and does nothing; of a waiting one it can be released.
func TestTorque13HoldOfARunningJob(t *testing.T) {
	t.Parallel()
	s := onStage(t, batch.Config{})
	running := s.submit(s.client, s.order("sleep 1000"))
	s.awaitState(running, external.Running)
	if err := s.client.Hold(t.Context(), "", running); err != nil {
		t.Errorf("holding a running job: %v", err)
	}
	if j := s.look(running); j.State != external.Running || j.OurHold {
		t.Errorf("it is %+v", j)
	}
	o := s.order("exit 0")
	o.Held = true
	held := s.submit(s.client, o)
	if j := s.look(held); j.State != external.Held || !j.OurHold || !j.NeverStarted {
		t.Errorf("submitted on hold: %+v", j)
	}
	for range 2 { // the second finds no hold
		if err := s.client.Release(t.Context(), "", held); err != nil {
			t.Errorf("releasing: %v", err)
		}
	}
	s.awaitState(held, external.Done)
	if err := s.client.Remove(t.Context(), "", held); err != nil {
		t.Errorf("removing what has ended: %v", err)
	}
}

// TORQUE 14: a job on a dead node stays, and is not removed: 224 (see TestTorque01ExitCodes); its node is down.
func TestTorque14DeadNode(t *testing.T) {
	t.Parallel()
	s := onStage(t, batch.Config{})
	o := s.order("sleep 1000")
	o.Demand = one(4)
	id := s.submit(s.client, o)
	node := s.awaitState(id, external.Running).Places[0].Node
	s.Node(batch.Node{Name: string(node), Down: true})
	kind(t, "removing", s.client.Remove(t.Context(), "", id), grid.ErrUnavailable, "224")
	l, err := s.client.Listing(t.Context())
	if err != nil || len(l.Jobs) != 1 || l.Jobs[0].State != external.Running {
		t.Fatalf("%+v, %v", l, err)
	}
	for _, n := range l.Nodes {
		if n.Down != (n.Name == node) {
			t.Errorf("node %s: %+v", n.Name, n)
		}
	}
}

// A queue that was just created tells nothing of itself: it takes no jobs, and the others are read.
func TestTorqueQueueInTheMaking(t *testing.T) {
	t.Parallel()
	list, err := parseQueues("qstat -Q -f -1", []byte("Queue: batch\n    queue_type = Execution\n    total_jobs = 0\n    enabled = True\n    started = True\n\n"+
		"Queue: q2\n    total_jobs = 0\n    state_count = Transit:0 Queued:0 Held:0 Waiting:0 Running:0 Exiting:0 Complete:0 \n    mtime = 1795725612\n\n"))
	if err != nil || len(list) != 2 || !list[0].enabled || !list[0].started || list[1].enabled || list[1].started {
		t.Errorf("%+v, %v", list, err)
	}
}

// A node that was made is shown with the state MOM-list-not-sent for a minute: it takes no job, and the site sees all else.
func TestTorqueNodeWithoutTheList(t *testing.T) {
	t.Parallel()
	s := onStage(t, batch.Config{})
	all, err := s.client.Listing(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	node := all.Nodes[0].Name
	for _, down := range []bool{false, true} {
		s.Node(batch.Node{Name: string(node), Down: down, Unlisted: true})
		l, err := s.client.Listing(t.Context())
		if err != nil || len(l.Nodes) != len(all.Nodes) || slices.Contains(l.Silent, node) != down {
			t.Fatalf("%+v, %v", l, err)
		}
		for _, n := range l.Nodes {
			if n.Down != (n.Name == node) {
				t.Errorf("node %s: %+v", n.Name, n)
			}
		}
	}
}

// TORQUE 15: commands that hang are ended; root cannot submit; an empty script is not handed over; a script that must not be run
// again is read back.
func TestTorque15HangsRootAndNothing(t *testing.T) {
	t.Parallel()
	s := onStage(t, batch.Config{})
	quick := New(Config{Runner: command.Runner{Folders: []string{s.Bin}, Limit: 500 * time.Millisecond}})
	s.Hang("qstat", 10*time.Minute, 0)
	_, err := quick.Listing(t.Context())
	kind(t, "a hanging command", err, grid.ErrUnavailable, "no end after 500ms")
	s.Healthy()
	o := s.order("")
	o.Script = nil
	_, err = s.client.Submit(t.Context(), o)
	kind(t, "an empty script", err, grid.ErrInvalid, "the script is empty")

	r := read(t, "testdata", "08-errors/57-qsub-as-root")
	kind(t, "root", unsubmitted(commandOf(r), r.result()), grid.ErrInvalid, "root cannot submit", "qsub can not be run as root")

	o = s.order("exit 0")
	o.Rerunnable = true
	s.submit(s.client, o)
	for rerunnable, want := range map[bool]bool{false: false, true: true} {
		o.Rerunnable = rerunnable
		if got := slices.Contains(mustQsub(t, o).Args, map[bool]string{true: "y", false: "n"}[want]); !got {
			t.Errorf("rerunnable %v is not said", rerunnable)
		}
	}
}
