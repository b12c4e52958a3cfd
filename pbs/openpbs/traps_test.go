package openpbs

import (
	"errors"
	"strings"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/pbs/command"
	"gbroker/pbs/control"
	"gbroker/pbs/external"
)

const (
	emptyJSON = "{\n\t\"timestamp\":\t1795216542,\n\t\"pbs_version\":\t\"23.06.06\",\n\t\"pbs_server\":\t\"pbs1\"\n}\n"
	refused   = "Connection refused\nqstat: cannot connect to server pbs1 (errno=15010)\n"
)

// idle answers the commands of a listing of an empty system but for jobs and reservations.
func idleSystem(t *testing.T, more ...answer) []answer {
	t.Helper()
	return append(more,
		recorded(t, "qstat", "-B -f -F json", "01-idle.qstat-Bf-json"),
		recorded(t, "qstat", "-Q -f -F json", "09-errors.qstat-Qf-json"),
		recorded(t, "pbsnodes", "-a -F json", "08-node-offline.pbsnodes-a-json"),
		answer{"qstat", "-f -F json", emptyJSON, "", 0},
		answer{"pbs_rstat", "-F", "", "", 0})
}

func order() external.Order {
	return external.Order{
		Tag: "gabcdefghijklmn", Mark: "here/site.01ABCDEFGHJKMNPQRSTVWXYZ00@1.0#1", Script: []byte("#!/bin/sh\nexit 0\n"),
		Log: "/var/spool/x/log", Limit: 90 * grid.Second, Demand: grid.Demand{Chunks: []grid.Chunk{{Count: 1, Processes: 1, Cores: 1}}},
	}
}

func aReservation() external.Reservation {
	return external.Reservation{ID: "b1", Nodes: []grid.NodeName{"n02", "n03"}, Start: 1795216194_000, End: 1795216793_001, User: "bob"}
}

// Trap 1: with the server down the JSON is that of no jobs; only the exit code tells.
func TestTrap1ServerDownIsNotNoJobs(t *testing.T) {
	t.Parallel()
	idle, _ := replay(t, Config{}, idleSystem(t)...)
	l, err := idle.Listing(t.Context())
	if err != nil || len(l.Jobs) != 0 || len(l.Nodes) != 4 || l.At != 1795215946_000 || l.Default != "workq" {
		t.Fatalf("an idle system: %+v, %v", l, err)
	}
	for _, down := range []answer{
		{"qstat", "-f -F json", emptyJSON, refused, 255},
		{"qstat", "-B -f -F json", emptyJSON, refused, 255},
		{"qstat", "-Q -f -F json", emptyJSON, refused, 255},
		{"pbsnodes", "-a -F json", "", "pbsnodes: cannot connect to server pbs1, error=15010\n", 1},
		{"pbs_rstat", "-F", "", "pbs_rstat: cannot connect to server (errno=15010)\n", 162},
	} {
		c, _ := replay(t, Config{}, idleSystem(t, down)...)
		if l, err := c.Listing(t.Context()); !errors.Is(err, grid.ErrUnavailable) || !strings.Contains(err.Error(), "onnect") {
			t.Errorf("%s %s down: %+v, %v", down.command, down.args, l, err)
		}
	}
	c, _ := replay(t, Config{}, answer{"qstat", "*", emptyJSON, refused, 255}, answer{"qsub", "*", "", refused, 162}, answer{"qdel", "*", "", "Couldn't connect to cluster: pbs1\n", 162},
		answer{"pbs_rdel", "*", "", refused, 162}, answer{"qhold", "*", "", refused, 1})
	_, looked := c.Look(t.Context(), "1.pbs1")
	_, submitted := c.Submit(t.Context(), order())
	for what, err := range map[string]error{"Look": looked, "Submit": submitted, "Remove": c.Remove(t.Context(), "", "1.pbs1"),
		"Hold": c.Hold(t.Context(), "", "1.pbs1"), "rdel": c.rdel(t.Context(), "R1.pbs1")} {
		if !errors.Is(err, grid.ErrUnavailable) || errors.Is(err, grid.ErrInvalid) {
			t.Errorf("%s while the server is down: %v", what, err)
		}
	}
}

// Trap 2: of several identifiers only the first is shown without -E; an unknown one is missing.
func TestTrap2AllOfSeveralJobs(t *testing.T) {
	t.Parallel()
	c, asked := replay(t, Config{},
		recorded(t, "qstat", "-x -E -f -F json 1170.pbs1 999999.pbs1 1171.pbs1 1172.pbs1", "21-multi-id.qstat-xEf-json-with-unknown"),
		answer{"qstat", "-x -E -f -F json 999999.pbs1", emptyJSON, "qstat: Unknown Job Id 999999.pbs1\n", 153})
	list, err := c.Look(t.Context(), "1170.pbs1", "999999.pbs1", "1171.pbs1", "1172.pbs1")
	if err != nil || len(list) != 3 || list[2].Local != "1172.pbs1" || list[2].End.ExitCode != 5 {
		t.Fatalf("%+v, %v, asked:\n%s", list, err, asked())
	}
	if list, err := c.Look(t.Context(), "999999.pbs1"); err != nil || len(list) != 0 {
		t.Errorf("one that is unknown: %+v, %v", list, err)
	}
	if list, err := c.Look(t.Context()); err != nil || len(list) != 0 || strings.Count(asked(), "\n") != 2 {
		t.Errorf("none: %+v, %v, asked:\n%s", list, err, asked())
	}
	if _, err := c.Look(t.Context(), "-x"); !errors.Is(err, grid.ErrInvalid) {
		t.Errorf("an option in the place of a job: %v", err)
	}
}

// Trap 3: F does not mean that it ran.
func TestTrap3FinishedNeedNotHaveRun(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]external.End{
		"05-held.qstat-xf-json-deleted":           {Cause: grid.ByRequest},
		"10-resv-future.qstat-xf-json-after-rdel": {Cause: grid.ByRequest, Detail: "Not Running: Queue not started. and terminated"},
		"17-depend.dead-qstat":                    {Cause: grid.NeverRan},
	} {
		c, _ := replay(t, Config{}, recorded(t, "qstat", "*", name))
		list, err := c.Look(t.Context(), "1.pbs1")
		if err != nil || len(list) == 0 || list[0].State != external.Done || !list[0].NeverStarted || *list[0].End != want {
			t.Errorf("%s: %+v, %v", name, list, err)
		}
	}
	parent := `{"timestamp":1,"pbs_version":"23","pbs_server":"p","Jobs":{"20[].pbs1":{"Job_Name":"a","Job_Owner":"a@p","job_state":"F","queue":"q","ctime":"Fri Nov 20 23:07:12 2026",` +
		`"stime":"Fri Nov 20 23:07:12 2026","substate":93,"array":"True","Exit_status":0,"Resource_List":{"select":"1:ncpus=1"}}}}`
	_, list, err := plain(t).jobs([]byte(parent))
	if err != nil || list[0].End.Cause != grid.Disappeared {
		t.Errorf("an array, of which parts failed: %+v, %v", list, err)
	}
}

// Trap 4: pbs_rsub and pbs_ralter end with 0 when they are denied, and what is left is deleted.
func TestTrap4DeniedWithExitCode0(t *testing.T) {
	t.Parallel()
	for said, kind := range map[string]error{
		"R43.pbs1 DENIED\n":                      grid.ErrInvalid,
		"R61.pbs1 delete, wait period expired\n": grid.ErrUnavailable,
		"R60.pbs1 UNCONFIRMED\n":                 grid.ErrUnavailable,
		"R60.pbs1 SOMETHING\n":                   grid.ErrUnavailable,
		"":                                       grid.ErrUnavailable,
	} {
		c, asked := replay(t, Config{}, idleSystem(t, answer{"pbs_rsub", "*", said, "", 0})...)
		if id, err := c.MakeReservation(t.Context(), aReservation()); !errors.Is(err, kind) || id != "" {
			t.Errorf("%q: %q, %v", said, id, err)
		}
		// Negative: what is not decided in time is deleted by the server.
		if want := "pbs_rsub -I -10 -N gbroker-b1 -R 202611202309.54 -E 202611202319.54 -l select=1:ncpus=4:vnode=n02+1:ncpus=4:vnode=n03 -l place=scatter:excl -W delete_idle_time=00:10:00 -U bob\n"; !strings.Contains(asked(), want) {
			t.Errorf("asked was\n%s, not\n%s", asked(), want)
		}
	}
	now := rstat("RESV_CONFIRMED", "Fri Nov 20 23:09:54 2026", "Fri Nov 20 23:19:54 2026", "(n02:ncpus=4)+(n03:ncpus=4)", "gbroker-b1")
	for said, kind := range map[string]error{"pbs_ralter: R45.pbs1 DENIED\n": grid.ErrInvalid, "pbs_ralter: R45.pbs1 ALTER REQUESTED\n": grid.ErrUnavailable} {
		c, asked := replay(t, Config{Account: "alice"}, idleSystem(t, answer{"pbs_ralter", "*", said, "", 0}, answer{"pbs_rstat", "-F R45.pbs1", now, "", 0})...)
		longer := aReservation()
		longer.Native, longer.End = "R45.pbs1", longer.End+grid.Minute
		if err := c.ChangeReservation(t.Context(), longer); !errors.Is(err, kind) {
			t.Errorf("%q: %v", said, err)
		}
		if want := "pbs_ralter -I 10 -E 202611202320.54 R45.pbs1\n"; !strings.Contains(asked(), want) {
			t.Errorf("asked was\n%s, not\n%s", asked(), want)
		}
	}
}

// rstat is what pbs_rstat -F says of one reservation.
func rstat(state, start, end, nodes, name string) string {
	return "Resv ID: R45.pbs1\nReserve_Name = " + name + "\nReserve_Owner = alice@pbs1\nreserve_state = " + state + "\nreserve_start = " + start +
		"\nreserve_end = " + end + "\nqueue = R45\nResource_List.place = scatter:excl\nresv_nodes = " + nodes + "\nAuthorized_Users = alice@pbs1,bob\n\n"
}

// Trap 4: what was confirmed is read back, and goes where it is not as asked.
func TestTrap4ConfirmedIsReadBack(t *testing.T) {
	t.Parallel()
	const start, end, nodes = "Fri Nov 20 23:09:54 2026", "Fri Nov 20 23:19:54 2026", "(n02:ncpus=4)+(n03:ncpus=4)"
	for what, is := range map[string]struct {
		text string
		kind error
	}{
		"as asked":    {rstat("RESV_CONFIRMED", start, end, nodes, "gbroker-b1"), nil},
		"other zone":  {rstat("RESV_CONFIRMED", "Sat Nov 21 00:09:54 2026", "Sat Nov 21 00:19:54 2026", nodes, "gbroker-b1"), grid.ErrInvalid},
		"other nodes": {rstat("RESV_CONFIRMED", start, end, "(n02:ncpus=4)+(n01:ncpus=4)", "gbroker-b1"), grid.ErrInvalid},
		"fewer cores": {rstat("RESV_CONFIRMED", start, end, "(n02:ncpus=4)+(n03:ncpus=2)", "gbroker-b1"), grid.ErrInvalid},
		"shared":      {strings.Replace(rstat("RESV_CONFIRMED", start, end, nodes, "gbroker-b1"), ":excl", "", 1), grid.ErrInvalid},
		"for others":  {strings.Replace(rstat("RESV_CONFIRMED", start, end, nodes, "gbroker-b1"), "bob", "carol", 1), grid.ErrInvalid},
		"going":       {rstat("RESV_BEING_DELETED", start, end, nodes, "gbroker-b1"), grid.ErrUnavailable},
		"gone":        {"", grid.ErrUnavailable},
	} {
		c, asked := replay(t, Config{Account: "alice"}, idleSystem(t, answer{"pbs_rsub", "*", "R45.pbs1 CONFIRMED\n", "", 0},
			answer{"pbs_rstat", "-F R45.pbs1", is.text, "", 0}, answer{"pbs_rdel", "R45.pbs1", "", "", 0})...)
		id, err := c.MakeReservation(t.Context(), aReservation())
		if is.kind == nil && (err != nil || id != "R45.pbs1") || is.kind != nil && !errors.Is(err, is.kind) {
			t.Errorf("%s: %q, %v", what, id, err)
		}
		if gone := strings.Contains(asked(), "pbs_rdel R45.pbs1\n"); gone != (err != nil) {
			t.Errorf("%s: asked was\n%s", what, asked())
		}
	}
}

// A node that is down is not asked for: OpenPBS would confirm.
func TestReserveOnNodeThatIsDown(t *testing.T) {
	t.Parallel()
	c, asked := replay(t, Config{}, idleSystem(t, answer{"pbs_rsub", "*", "R45.pbs1 CONFIRMED\n", "", 0})...)
	b := aReservation()
	b.Nodes = []grid.NodeName{"n03", "n04"}
	if id, err := c.MakeReservation(t.Context(), b); !errors.Is(err, grid.ErrInvalid) || strings.Contains(asked(), "pbs_rsub") {
		t.Errorf("%q, %v, asked:\n%s", id, err, asked())
	}
}

// Trap 5: an unknown reservation or node is said with exit code 0.
func TestTrap5UnknownWithExitCode0(t *testing.T) {
	t.Parallel()
	c, asked := replay(t, Config{}, answer{"pbs_rstat", "-F R9999.pbs1", "", "pbs_rstat: Unknown Reservation Id\n", 0})
	if err := c.EndReservation(t.Context(), "R9999.pbs1"); err != nil || strings.Contains(asked(), "rdel") {
		t.Errorf("ending one that is not there: %v, asked:\n%s", err, asked())
	}
	b := aReservation()
	b.Native = "R9999.pbs1"
	if err := c.ChangeReservation(t.Context(), b); !errors.Is(err, grid.ErrInvalid) {
		t.Errorf("changing one that is not there: %v", err)
	}
	_, _, err := plain(t).nodes([]byte(strings.TrimSuffix(emptyJSON, "\n}\n") + `,"nodes":{"nosuch":"Unknown node "}}`))
	if err == nil {
		t.Error("an unknown node is one")
	}
}

// Trap 6: reserved ports run out: over any minute fewer than 460 commands begin.
func TestTrap6PortsLast(t *testing.T) {
	t.Parallel()
	c, err := New(Config{})
	if err != nil {
		t.Fatal(err)
	}
	start := time.Now()
	now, in := start, 0
	for now.Sub(start) < time.Minute {
		if wait := c.pace.take(now); wait > 0 {
			now = now.Add(wait)
		}
		in++
	}
	if in < 400 || in >= 460 {
		t.Errorf("%d commands in a minute", in)
	}
	for range burst { // after a rest some go at once
		if wait := c.pace.take(now.Add(time.Hour)); wait > 0 {
			t.Errorf("it waits %v after a rest", wait)
		}
	}
	if wait := c.pace.take(now.Add(time.Hour)); wait <= 0 {
		t.Error("there is no limit on what goes at once")
	}
}

// Trap 7: a second qstat in one second sleeps on purpose: a poll asks for each thing once.
func TestTrap7OneListingIsFewCommands(t *testing.T) {
	t.Parallel()
	c, asked := replay(t, Config{}, idleSystem(t)...)
	if _, err := c.Listing(t.Context()); err != nil || strings.Count(asked(), "\n") != 5 || strings.Count(asked(), "qstat") != 3 {
		t.Errorf("%v, asked:\n%s", err, asked())
	}
}

// Trap 8: types are guessed by value, keys occur twice, bytes are no UTF-8; the mark is found.
func TestTrap8JSONIsReadLoosely(t *testing.T) {
	t.Parallel()
	w := plain(t)
	job := func(variables, more string) string {
		return `{"timestamp":1,"pbs_version":23.06,"pbs_server":"p","Jobs":{"7.p":{"Job_Name":7,"Job_Owner":"a@p","job_state":"R","queue":"q","substate":"42",` +
			`"ctime":"Fri Nov 20 23:07:12 2026","run_count":"1","Resource_List":{"select":3,"walltime":60,"mem":1024},"Variable_List":` + variables + more + `}}}`
	}
	for variables, mark := range map[string]string{
		`{"GBROKER_ATTEMPT":"o/s.1@1.0#2"}`:                                       "o/s.1@1.0#2",
		`{"A":1,"A":2,"GBROKER_ATTEMPT":"o/s.1@1.0#2","B":null,"C":{"x":[1,{}]}}`: "o/s.1@1.0#2",
		"{\"A\":\"\xff\xfe\",\"\xff\":true,\"GBROKER_ATTEMPT\":\"o/s.1@1.0#2\"}":  "o/s.1@1.0#2",
		`{"GBROKER_ATTEMPT":"o/s.1@1.0#2","GBROKER_ATTEMPT":"o/s.1@1.0#2"}`:       "o/s.1@1.0#2",
		`{"GBROKER_ATTEMPT":"o/s.1@1.0#2","GBROKER_ATTEMPT":"o/s.1@1.0#3"}`:       "",
		`{"A":"GBROKER_ATTEMPT","B":"\",\"GBROKER_ATTEMPT\":\"o/s.1@1.0#2"}`:      "",
		`{"A":{"GBROKER_ATTEMPT":"o/s.1@1.0#2"}}`:                                 "",
		`{"GBROKER_ATTEMPT":"o/s.1@1.0#2 and more"}`:                              "",
		`{"GBROKER_ATTEMPT":1.2345678901234567e+19}`:                              "",
		`{"GBROKER_ATTEMPT":"` + strings.Repeat("a", 300) + `"}`:                  "",
		`"GBROKER_ATTEMPT=o/s.1@1.0#2"`:                                           "",
		`{"V7":"he said \\\"hi\\\",V9=back","GBROKER_ATTEMPT":"o\/s.1@1.0#2"}`:    "o/s.1@1.0#2",
		`{"GBROKER_ATTEMPT":"\u006f/s.1@1.0#2"}`:                                  "o/s.1@1.0#2",
		`{"GBROKER_ATTEMPT_OTHER":"o/s.1@1.0#3","GBROKER_ATTEMPT":"o/s.1@1.0#2"}`: "o/s.1@1.0#2",
	} {
		_, list, err := w.jobs([]byte(job(variables, "")))
		if err != nil || len(list) != 1 || list[0].Mark != mark || list[0].Name != "7" || list[0].Demand.Chunks[0].Count != 3 || list[0].Limit != grid.Minute {
			t.Errorf("%s: %+v, %v", variables, list, err)
		}
	}
	for _, comment := range []string{`42`, `{"x":[1]}`, `"say \"hi\" \\ back"`, `true`, `null`} {
		if _, list, err := w.jobs([]byte(job(`{}`, `,"comment":`+comment))); err != nil || list[0].Reason == "" {
			t.Errorf("comment %s: %+v, %v", comment, list, err)
		}
	}
}

// The instant is told as "" in each second whose number is a multiple of 256: it is now, and all else is read as ever.
func TestInstantThatIsNotTold(t *testing.T) {
	t.Parallel()
	server := recorded(t, "qstat", "-B -f -F json", "37-no-timestamp.qstat-B-json")
	nodes := recorded(t, "pbsnodes", "*", "37-no-timestamp.pbsnodes-json")
	c, _ := replay(t, Config{}, idleSystem(t, server, nodes, answer{"qstat", "-f -F json", strings.Replace(emptyJSON, "1795216542", `""`, 1), "", 0})...)
	before := control.Now()
	l, err := c.Listing(t.Context())
	if err != nil || l.At < before || l.At > control.Now() || len(l.Nodes) != 4 {
		t.Errorf("listed %v at %v: %v", l.Nodes, l.At, err)
	}
}

// Trap 9: pbs_rstat has no JSON.
func TestTrap9ReservationsAreText(t *testing.T) {
	t.Parallel()
	w := plain(t)
	good := rstat("RESV_RUNNING", "Fri Nov 20 23:09:54 2026", "Fri Nov 20 23:19:54 2026", "(n02:ncpus=4)", "x")
	if list, err := w.reservations([]byte(good + strings.ReplaceAll(good, "R45", "R46"))); err != nil || len(list) != 2 {
		t.Errorf("%+v, %v", list, err)
	}
	for _, bad := range []string{
		"R45.pbs1 R45 alice CO Sat 00:12 / 600 / Sat 00:39\n", strings.Replace(good, "RESV_RUNNING", "RESV_X", 1), strings.Replace(good, "Fri Nov 20 23:09", "Today 23:09", 1),
		good + "reserve_end = now\n", strings.Replace(good, "queue = R45\n", "", 1), strings.Replace(good, "queue", "reserve_end", 1), strings.Replace(good, "queue = R45\n", "queue = R45\nqueue = R45\n", 1), strings.Replace(good, "R45.pbs1", "12.pbs1", 1),
		strings.Replace(good, "(n02:ncpus=4)", "(n02:ncpus=4", 1),
	} {
		if list, err := w.reservations([]byte(bad)); err == nil && list[0].unread == nil {
			t.Errorf("%q is %+v", bad, list)
		}
	}
}

// Trap 10: -v corrupts quotes, backslashes and commas: only the mark goes there, which has none.
func TestTrap10OnlyPlainVariables(t *testing.T) {
	t.Parallel()
	for _, mark := range []string{"", "a,b", "a b", `a"b`, `a\b`, "a'b", "a\nb", "a=b", strings.Repeat("a", 257)} {
		o := order()
		o.Mark = mark
		if call, err := plain(t).submission(o); !errors.Is(err, grid.ErrInvalid) {
			t.Errorf("%q: %v, %v", mark, call, err)
		}
	}
	call, err := plain(t).submission(order())
	if err != nil || strings.Count(strings.Join(call.Args, " "), "GBROKER_ATTEMPT=here/site.01ABCDEFGHJKMNPQRSTVWXYZ00@1.0#1") != 1 {
		t.Errorf("%v, %v", call, err)
	}
}

// Output that cannot be read names command and place, and keeps its beginning.
func TestUnreadableOutputIsKept(t *testing.T) {
	t.Parallel()
	c, _ := replay(t, Config{}, answer{"qstat", "*", strings.Replace(emptyJSON, "\n}", `,"Jobs":{"1.pbs1":{"Job_Name":"a","job_state":"Z","Job_Owner":"a@b","queue":"q","substate":1,"ctime":"x"}}}`, 1), "", 0})
	_, err := c.Look(t.Context(), "1.pbs1")
	var unread *command.OutputError
	if !errors.As(err, &unread) || unread.Place != "Jobs.1.pbs1.job_state" || !strings.Contains(unread.Command, "qstat -x -E") || len(unread.Text) < 100 {
		t.Errorf("%+v, %v", unread, err)
	}
}
