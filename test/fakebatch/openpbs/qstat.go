package openpbs

import (
	"fmt"
	"strings"
	"time"

	"gbroker/test/fakebatch/batch"
)

// letter is the state of a job.
func letter(j *batch.Job) byte {
	switch {
	case j.Ended():
		return 'F'
	case j.Suspended:
		return 'S'
	}
	return j.State
}

// substate as the server counts them.
func substate(j *batch.Job, now time.Time) int {
	switch {
	case j.State == batch.Held:
		return 20
	case j.State == batch.Waiting:
		return 30
	case j.Suspended:
		return 43
	case j.State == batch.Running && j.Used(now) < time.Second:
		return 41
	case j.Runs():
		return 42
	case j.Waits():
		return 10
	case j.Why == batch.Deleted:
		return 91
	case j.Why == batch.Dependency || j.Exit != nil && *j.Exit == 0:
		return 92
	}
	return 93
}

// comment is what the scheduler and the server say of a job.
func comment(s *batch.System, j *batch.Job, c *batch.Call) string {
	run := "Job run at " + j.Started.In(c.Zone()).Format("Mon Jan 02 at 15:04") + " on " + vnodes(j.Parts)
	by := " and terminated by " + j.By + "@" + s.Host
	switch {
	case j.Runs() && j.By != "", j.Ended() && j.Why == batch.Deleted && j.Starts > 0:
		return run + by
	case j.Comment != "":
		return j.Comment
	case j.Runs():
		return run
	case j.Ended() && j.Why == batch.OverWall:
		return run + " and exceeded resource walltime"
	case j.Ended() && j.Starts > 0 && j.Exit != nil && *j.Exit == 0:
		return run + " and finished"
	case j.Ended() && j.Starts > 0:
		return run + " and failed"
	case j.Ended() && j.Why == batch.Deleted && j.Reservation != "" && j.Holds == "":
		return "Not Running: Queue not started. and terminated"
	case j.State == batch.Held && j.Starts == 0 || j.Ended():
		return ""
	}
	return waits(s, j, c.Now)
}

func waits(s *batch.System, j *batch.Job, now time.Time) string {
	total, free := 0, 0
	for _, n := range s.Nodes {
		total += n.Cores
		free += n.Cores - s.UseOn(n.Name)
	}
	b := s.Reservation(j.Reservation)
	switch {
	case j.Capped:
		return "Not Running: User has reached server running job limit."
	case b != nil && !b.Runs(now):
		return "Not Running: Queue not started."
	case j.Cores() > total:
		return fmt.Sprintf("Can Never Run: Insufficient amount of resource: ncpus (R: %d A: %d T: %d)", j.Cores(), total, total)
	case j.Cores() > free:
		return fmt.Sprintf("Not Running: Insufficient amount of resource: ncpus (R: %d A: %d T: %d)", j.Cores(), free, total)
	case now.Sub(j.Created) < time.Second/2:
		return ""
	}
	return "Not Running: Not enough free nodes available"
}

// vnodes is (n01:ncpus=2:mem=1048576kb)+(n02:ncpus=2).
func vnodes(parts []batch.Part) string {
	var out []string
	for _, p := range parts {
		one := fmt.Sprintf("(%s:ncpus=%d", p.Node, len(p.Cores))
		if p.Memory > 0 {
			one += fmt.Sprintf(":mem=%dkb", p.Memory)
		}
		out = append(out, one+")")
	}
	return strings.Join(out, "+")
}

// hosts is n01/0*2+n02/0.
func hosts(parts []batch.Part) string {
	var out []string
	for _, p := range parts {
		first := 0
		if len(p.Cores) > 0 {
			first = p.Cores[0]
		}
		one := fmt.Sprintf("%s/%d", p.Node, first)
		if len(p.Cores) > 1 {
			one += fmt.Sprintf("*%d", len(p.Cores))
		}
		out = append(out, one)
	}
	return strings.Join(out, "+")
}

func truth(b bool) string {
	if b {
		return "True"
	}
	return "False"
}

// attributes are all of a job, in the order in which the server gives them.
func attributes(s *batch.System, j *batch.Job, c *batch.Call) []attr {
	var out []attr
	add := func(when bool, a attr) {
		if when {
			out = append(out, a)
		}
	}
	at := func(t time.Time) string { return batch.Long(t.In(c.Zone())) }
	ran := !j.Started.IsZero()
	polled := ran && (j.Ended() || j.Used(c.Now) >= time.Second)
	add(true, text("Job_Name", "%s", j.Name))
	add(true, text("Job_Owner", "%s@%s", j.User, s.Host))
	add(polled, group("resources_used", number("cpupercent", 0), text("cput", "%s", batch.HMS(j.CPU)), text("mem", "%dkb", j.Memory),
		number("ncpus", j.Cores()), text("vmem", "%dkb", j.Memory*2), text("walltime", "%s", batch.HMS(j.Used(c.Now)))))
	add(true, text("job_state", "%c", letter(j)))
	add(true, text("queue", "%s", j.Queue))
	add(true, text("server", "%s", s.Host))
	add(j.Account != "", text("Account_Name", "%s", j.Account))
	add(true, text("Checkpoint", "u"))
	add(true, text("ctime", "%s", at(j.Created)))
	add(j.Depend != "", text("depend", "%s@%s", j.Depend, s.Host))
	add(true, text("Error_Path", "%s", j.Err))
	add(len(j.Parts) > 0, text("exec_host", "%s", hosts(j.Parts)))
	add(len(j.Parts) > 0, text("exec_vnode", "%s", vnodes(j.Parts)))
	add(true, text("Hold_Types", "%s", j.HoldWord()))
	add(true, text("Join_Path", "%s", j.Join))
	add(true, text("Keep_Files", "%s", j.Keep))
	add(true, text("Mail_Points", "%s", j.Mail))
	add(true, text("mtime", "%s", at(j.Modified)))
	add(true, text("Output_Path", "%s", j.Out))
	add(true, number("Priority", j.Priority))
	add(true, text("qtime", "%s", at(j.Created)))
	add(true, text("Rerunable", "%s", truth(j.Rerun)))
	list := group("Resource_List")
	for _, r := range j.Resources {
		list.parts = append(list.parts, attr{name: r.Name, value: r.Value, guess: true})
	}
	add(true, list)
	add(ran, text("stime", "%s", at(j.Started)))
	add(ran && j.Ended(), text("obittime", "%s", at(j.Finished)))
	add(polled, number("session_id", j.Session))
	add(j.Shell != "", text("Shell_Path_List", "%s", j.Shell))
	add(polled, text("jobdir", "%s", j.Home))
	add(true, number("substate", substate(j, c.Now)))
	variables := group("Variable_List")
	for _, v := range append(append([]string{}, j.Environ...), j.Variables...) {
		name, value, _ := strings.Cut(v, "=")
		variables.parts = append(variables.parts, attr{name: name, value: value, guess: true})
	}
	add(true, variables)
	add(comment(s, j, c) != "", attr{name: "comment", value: comment(s, j, c), guess: true})
	add(!j.Eligible.IsZero(), text("etime", "%s", at(j.Eligible)))
	add(j.Reservation != "", text("reserve_ID", "%s", j.Reservation))
	add(j.Starts > 0, number("run_count", j.Starts))
	add(true, text("eligible_time", "%s", batch.HMS(eligible(j, c.Now))))
	add(ran && j.Ended(), number("Stageout_status", 1))
	if j.Exit != nil {
		add(true, number("Exit_status", *j.Exit))
	}
	add(true, text("Submit_arguments", "%s", strings.Join(j.Args, " ")))
	add(j.Ended(), number("history_timestamp", int(j.Finished.Unix())))
	add(true, text("project", "_pbs_project_default"))
	add(true, text("Submit_Host", "%s", s.Host))
	return out
}

// eligible is how long a job waited while it could have run.
func eligible(j *batch.Job, now time.Time) time.Duration {
	switch {
	case j.Eligible.IsZero():
		return 0
	case !j.Started.IsZero():
		return j.Started.Sub(j.Eligible)
	case j.Ended():
		return j.Finished.Sub(j.Eligible)
	}
	return now.Sub(j.Eligible)
}

func qstat(s *batch.System, c *batch.Call) batch.Answer {
	opts, ids, bad := batch.Options(c.Args, "xfF:EtQB", "")
	format := batch.Get(opts, "F")
	if bad != "" || format != "" && format != "json" {
		return batch.NotServed(c, bad)
	}
	asJSON := format == "json" && batch.Has(opts, "f")
	switch {
	case batch.Has(opts, "Q"):
		return queues(s, c, ids, asJSON)
	case batch.Has(opts, "B"):
		return serverStatus(s, c, asJSON)
	}
	list, all := chosen(s, ids, batch.Has(opts, "x"), batch.Has(opts, "E"))
	switch {
	case asJSON:
		// The trap: without -E each id is asked for alone, and only the first answer is shown.
		if len(ids) > 1 && !batch.Has(opts, "E") && len(list) > 1 {
			list = list[:1]
		}
		var entries []attr
		for _, j := range list {
			entries = append(entries, group(j.ID, attributes(s, j, c)...))
		}
		all.Stdout = []byte(document(s, c, "Jobs", entries))
	case batch.Has(opts, "f"):
		all.Stdout = []byte(full(s, c, list))
	case len(list) > 0:
		all.Stdout = []byte(table(list))
	}
	return all
}

// chosen are the jobs that are named, or all; ended ones by -x alone.
func chosen(s *batch.System, ids []string, history, together bool) ([]*batch.Job, batch.Answer) {
	var list []*batch.Job
	var all batch.Answer
	if len(ids) == 0 {
		for _, j := range s.Jobs {
			if history || !j.Ended() {
				list = append(list, j)
			}
		}
		return list, all
	}
	for _, id := range ids {
		full, ok := s.FullID(id)
		j := s.Job(full)
		switch {
		case !ok && strings.Contains(id, "."):
			all = all.And(batch.Fail(1, "qstat: illegally formed job identifier: %s\n", id))
		case !ok && s.Queue(id) == nil && s.Reservation(id+"."+s.Host) == nil:
			all = all.And(batch.Fail(170, "qstat: Unknown queue destination %s\n", id))
		case !ok:
			for _, j := range s.Jobs {
				if j.Queue == id && (history || !j.Ended()) {
					list = append(list, j)
				}
			}
		case j != nil && (history || !j.Ended()):
			list = append(list, j)
		case together: // absent is unknown
		case j == nil:
			all = all.And(batch.Fail(153, "qstat: Unknown Job Id %s\n", full))
		default:
			all = all.And(batch.Fail(35, "qstat: %s Job has finished, use -x or -H to obtain historical job information\n", full))
		}
	}
	return list, all
}

func table(list []*batch.Job) string {
	var b strings.Builder
	b.WriteString("Job id            Name             User              Time Use S Queue\n----------------  ---------------- ----------------  -------- - -----\n")
	for _, j := range list {
		used := "0"
		if !j.Started.IsZero() {
			used = batch.HMS(j.CPU)
		}
		fmt.Fprintf(&b, "%-16.16s  %-16.16s %-16.16s  %8s %c %-16s\n", j.ID, j.Name, j.User, used, letter(j), j.Queue)
	}
	return b.String()
}

// full is qstat -f as text, wrapped.
func full(s *batch.System, c *batch.Call, list []*batch.Job) string {
	var b strings.Builder
	for _, j := range list {
		b.WriteString("Job Id: " + j.ID + "\n")
		for _, a := range attributes(s, j, c) {
			if a.name == "Variable_List" {
				var pairs []string
				for _, p := range a.parts {
					pairs = append(pairs, p.name+"="+p.value)
				}
				a = text(a.name, "%s", strings.Join(pairs, ","))
			}
			for _, p := range lines(a) {
				b.WriteString(folded("    "+p.name+" = ", p.value))
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}
