package torque

import (
	_ "embed"
	"fmt"
	"sort"
	"strings"
	"time"

	"gbroker/test/fakebatch/batch"
)

// configuration is what the real Maui said of its own.
//
//go:embed showconfig.txt
var configuration string

func showconfig(s *batch.System, c *batch.Call) batch.Answer {
	if len(c.Args) > 0 {
		return batch.NotServed(c, c.Args[0])
	}
	text := strings.ReplaceAll(configuration, "pbs1", s.Host)
	if s.ExactNodes {
		text = strings.Replace(text, "JOBNODEMATCHPOLICY[0]             ", "JOBNODEMATCHPOLICY[0]             EXACTNODE", 1)
	}
	if s.Looks > 0 {
		text = strings.Replace(text, "RMPOLLINTERVAL                  00:00:10", "RMPOLLINTERVAL                  "+span(s.Looks), 1)
	}
	if s.MultiReq {
		text = strings.Replace(text, "ENABLEMULTIREQJOBS[0]             FALSE", "ENABLEMULTIREQJOBS[0]             TRUE", 1)
	}
	return batch.Out("%s", text)
}

// span is a duration as Maui writes it.
func span(d time.Duration) string {
	n := int64(d.Round(time.Second) / time.Second)
	if n < 0 {
		return "-" + span(-d)
	}
	switch {
	case n > 10*365*86400:
		return "INFINITY"
	case n >= 86400:
		return fmt.Sprintf("%d:%02d:%02d:%02d", n/86400, n/3600%24, n/60%60, n%60)
	case n >= 3600:
		return fmt.Sprintf("%d:%02d:%02d", n/3600, n/60%60, n%60)
	}
	return fmt.Sprintf("00:%02d:%02d", n/60, n%60)
}

// instant is a time without its year.
func instant(c *batch.Call, t time.Time) string { return t.In(c.Zone()).Format("Mon Jan _2 15:04:05") }

// short is a job's identifier without the server.
func short(j *batch.Job) string { return strings.SplitN(j.ID, ".", 2)[0] }

// find reads a job of Maui's, by its short or full identifier.
func find(s *batch.System, id string) *batch.Job {
	for _, j := range jobs(s) {
		if j.ID == id || short(j) == id {
			return j
		}
	}
	return nil
}

// admin reports that a user may make reservations, and sees all.
func admin(s *batch.System, user string) bool {
	return user == "root" || s.Schedulers == nil || contains(s.Schedulers, user)
}

func contains(list []string, one string) bool {
	for _, s := range list {
		if s == one {
			return true
		}
	}
	return false
}

func mauiState(j *batch.Job) string {
	switch {
	case j.Runs():
		return "Running"
	case j.Blocked != "":
		return j.Blocked
	case j.State == batch.Queued:
		return "Idle"
	}
	return "Hold"
}

func showq(s *batch.System, c *batch.Call) batch.Answer {
	opts, rest, bad := batch.Options(c.Args, "birvu:", "format=")
	switch {
	case bad != "":
		return batch.Fail(1, "Usage: showq [FLAGS]\n  --about\n  --configfile=<FILENAME>\n  --format=<FORMAT>\n  --help\n  --host=<SERVERHOSTNAME>\n  --keyfile=<FILENAME>\n  --loglevel=<LOGLEVEL>\n  --port=<SERVERPORT>\n  --version\n\n  -b // BLOCKED QUEUE\n  -i // IDLE QUEUE\n  -r // ACTIVE QUEUE\n  -u [<USER>]\n  -v // VERBOSE\n")
	case len(rest) > 0:
		return batch.NotServed(c, rest[0])
	case (batch.Has(opts, "i") || batch.Has(opts, "r")) && !admin(s, c.User):
		return batch.Fail(1, "ERROR:    'showq' failed\nERROR:  not authorized to run this command\n\n")
	case batch.Has(opts, "i") || batch.Has(opts, "r"):
		return batch.NotServed(c, "-i, -r")
	}
	var running, idle, blocked []*batch.Job
	for _, j := range jobs(s) {
		switch mauiState(j) {
		case "Running":
			running = append(running, j)
		case "Idle":
			idle = append(idle, j)
		default:
			blocked = append(blocked, j)
		}
	}
	if batch.Has(opts, "b") {
		out := "           JobName      User               Reason\n\n"
		for _, j := range blocked {
			out += fmt.Sprintf("%18s %9s %s\n", short(j), j.User, reason(j))
		}
		return batch.Out("%s", out)
	}
	sort.SliceStable(running, func(a, b int) bool {
		return running[a].Started.Add(running[a].Length()).Before(running[b].Started.Add(running[b].Length()))
	})
	return batch.Out("%s", queueTable(s, c, running, idle, blocked))
}

// reason is why Maui does not consider a job, as showq -b has it.
func reason(j *batch.Job) string {
	switch j.Blocked {
	case "BatchHold":
		return "active"
	case "Deferred":
		return "state 'Deferred'"
	}
	return "'" + mauiState(j) + "'"
}

func queueTable(s *batch.System, c *batch.Call, running, idle, blocked []*batch.Job) string {
	var b strings.Builder
	row := func(j *batch.Job, d time.Duration, t time.Time) {
		fmt.Fprintf(&b, "%-18s %8s %10s %5d %11s %20s\n", short(j), j.User, mauiState(j), j.Cores(), span(d), instant(c, t))
	}
	busy, cores, nodes, up := 0, 0, 0, 0
	for _, n := range s.Nodes {
		if !n.Up() && s.UseOn(n.Name) == 0 {
			continue
		}
		up, cores = up+1, cores+n.Cores
		if use := s.UseOn(n.Name); use > 0 && !s.Faults.Down {
			busy, nodes = busy+use, nodes+1
		}
	}
	b.WriteString("ACTIVE JOBS--------------------\nJOBNAME            USERNAME      STATE  PROC   REMAINING            STARTTIME\n\n")
	for _, j := range running {
		row(j, j.Length()-j.Used(c.Now), j.Started)
	}
	fmt.Fprintf(&b, "\n%6d Active Job%s %7d of %4d Processors Active (%.2f%%)\n", len(running), plural(len(running), "s", " "), busy, cores, percent(busy, cores))
	fmt.Fprintf(&b, "%26d of %4d Nodes Active      (%.2f%%)\n", nodes, up, percent(nodes, up))
	b.WriteString("\nIDLE JOBS----------------------\nJOBNAME            USERNAME      STATE  PROC     WCLIMIT            QUEUETIME\n\n")
	for _, j := range idle {
		row(j, j.Length(), j.Created)
	}
	fmt.Fprintf(&b, "\n%d Idle Job%s\n\nBLOCKED JOBS----------------\nJOBNAME            USERNAME      STATE  PROC     WCLIMIT            QUEUETIME\n\n", len(idle), plural(len(idle), "s", ""))
	for _, j := range blocked {
		row(j, j.Length(), j.Created)
	}
	fmt.Fprintf(&b, "\nTotal Jobs: %d   Active Jobs: %d   Idle Jobs: %d   Blocked Jobs: %d\n", len(running)+len(idle)+len(blocked), len(running), len(idle), len(blocked))
	return b.String()
}

func plural(n int, many, single string) string {
	if n == 1 {
		return single
	}
	return many
}

func percent(a, b int) float64 {
	if b == 0 {
		return 0
	}
	return 100 * float64(a) / float64(b)
}

// showstart tells the start of a job, or of a hypothetical one: PROCS@TIME.
func showstart(s *batch.System, c *batch.Call) batch.Answer {
	if len(c.Args) != 1 || strings.HasPrefix(c.Args[0], "-") {
		return batch.NotServed(c, strings.Join(c.Args, " "))
	}
	name := c.Args[0]
	none := func(name string) batch.Answer {
		return batch.Fail(1, "ERROR:    'showstart' failed\nERROR:    cannot determine earliest start time for job '%s'\n\n", name)
	}
	j := find(s, name)
	var at time.Time
	if procs, length, ok := strings.Cut(name, "@"); ok {
		var n int
		d, fine := batch.Seconds(length)
		if _, err := fmt.Sscan(procs, &n); err != nil || !fine || n < 1 {
			return none(name)
		}
		j = &batch.Job{User: c.User, Wall: d, Chunks: []batch.Chunk{{Count: n, Cores: 1, Lines: 1}}}
		at = s.Start(j, c.Now)
	} else if j == nil {
		return batch.Fail(1, "ERROR:    'showstart' failed\nERROR:    cannot locate job '%s'\n\n", name)
	} else if at = j.Earliest; j.Runs() {
		at = j.Started
	}
	if !strings.Contains(name, "@") {
		name = short(j)
	}
	if at.IsZero() {
		return none(name)
	}
	end := at.Add(j.Length())
	return batch.Out("job %s requires %d proc%s for %s\nEarliest start in     %12s on %s\nEarliest completion in %11s on %s\nBest Partition: DEFAULT\n\n",
		name, j.Cores(), plural(j.Cores(), "s", ""), span(j.Length()), span(at.Sub(c.Now)), instant(c, at), span(end.Sub(c.Now)), instant(c, end))
}

func checkjob(s *batch.System, c *batch.Call) batch.Answer {
	opts, ids, bad := batch.Options(c.Args, "v", "")
	if bad != "" || len(ids) != 1 || len(opts) > 0 {
		return batch.NotServed(c, bad)
	}
	j := find(s, ids[0])
	switch {
	case j == nil:
		return batch.Fail(1, "ERROR:    'checkjob' failed\nERROR:  cannot locate job '%s'\n\n", ids[0])
	case j.User != c.User && !admin(s, c.User):
		return batch.Fail(1, "ERROR:    'checkjob' failed\nuser %s is not authorized to check status of job '%s'\n\n", c.User, short(j))
	}
	return batch.Out("%s", jobText(s, c, j))
}

func jobText(s *batch.System, c *batch.Call, j *batch.Job) string {
	var b strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&b, format, args...) }
	queued, partition := c.Now.Sub(j.Created), "ALL"
	if j.Runs() {
		queued, partition = j.Started.Sub(j.Created), "DEFAULT"
	}
	eligible := queued
	if mauiState(j) == "Hold" {
		eligible = 0
	}
	say("\n\nchecking job %s\n\nState: %s\nCreds:  user:%s  group:%s  class:%s  qos:DEFAULT\n", short(j), mauiState(j), j.User, group(j.User), j.Queue)
	say("WallTime: %s of %s\nSubmitTime: %s\n  (Time Queued  Total: %s  Eligible: %s)\n\n", span(j.Used(c.Now)), span(j.Length()), instant(c, j.Created), span(queued), span(eligible))
	if j.Runs() {
		say("StartTime: %s\n", instant(c, j.Started))
	}
	say("Total Tasks: %d\n\nReq[0]  TaskCount: %d  Partition: %s\n", j.Cores(), j.Cores(), partition)
	say("Network: [NONE]  Memory >= 0  Disk >= 0  Swap >= 0\nOpsys: [NONE]  Arch: [NONE]  Features: [NONE]\n")
	if j.Runs() {
		held := batch.Gather(j.Parts)
		say("NodeCount: %d\nAllocated Nodes:\n", len(held))
		for _, h := range held {
			say("[%s:%d]", h.Node, h.Cores)
		}
		say("\n")
	}
	flags := "RESTARTABLE"
	if !j.Rerun {
		flags = ""
	}
	if j.Reservation != "" {
		flags = "ADVRES:" + j.Reservation + " " + flags
	}
	say("\n\nIWD: [NONE]  Executable:  [NONE]\nBypass: 0  StartCount: %d\nPartitionMask: [ALL]\nFlags:       %s\n\n", j.Starts, flags)
	at := j.Earliest
	if j.Runs() {
		at = j.Started
	}
	if !at.IsZero() && mauiState(j) != "Hold" {
		say("Reservation '%s' (%s -> %s  Duration: %s)\n", short(j), span(at.Sub(c.Now)), span(at.Add(j.Length()).Sub(c.Now)), span(j.Length()))
	}
	say("PE:  %d.00  StartPriority:  1\n", j.Cores())
	switch mauiState(j) {
	case "Hold":
		say("cannot select job %s for partition DEFAULT (non-idle state 'Hold')\n\n", short(j))
	case "Idle":
		say("job cannot run in partition DEFAULT (insufficient idle procs available: 0 < %d)\n\n", j.Cores())
	}
	return b.String() + "\n"
}
