package torque

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"gbroker/test/fakebatch/batch"
)

// attr is one attribute of a job; one with parts has no value.
type attr struct {
	name, value string
	parts       []attr
}

func one(name, format string, args ...any) attr {
	return attr{name: name, value: fmt.Sprintf(format, args...)}
}

// instants are written as epoch seconds in XML, and as text elsewhere.
type instants func(time.Time) string

// attributes are those of a job that a caller is shown, in the order in which the server gives them: its variables
// are shown to its owner, to operators and managers.
func attributes(s *batch.System, j *batch.Job, c *batch.Call, at instants) []attr {
	var out []attr
	now, trusted := c.Now, s.Operator(c.User)
	add := func(when bool, name, format string, args ...any) {
		if when {
			out = append(out, one(name, format, args...))
		}
	}
	ran := !j.Started.IsZero()
	add(true, "Job_Name", "%s", j.Name)
	add(true, "Job_Owner", "%s@%s", j.User, s.Host)
	if ran && (j.Ended() || j.Used(now) >= time.Second) {
		out = append(out, attr{name: "resources_used", parts: []attr{
			one("cput", "%s", batch.HMS(j.CPU)), one("energy_used", "0"), one("mem", "%dkb", j.Memory),
			one("vmem", "%dkb", j.Memory*2), one("walltime", "%s", batch.HMS(j.Used(now)))}})
	}
	add(true, "job_state", "%c", j.State)
	add(true, "queue", "%s", j.Queue)
	add(true, "server", "%s", s.Host)
	add(j.Account != "", "Account_Name", "%s", j.Account)
	add(true, "Checkpoint", "u")
	add(true, "ctime", "%s", at(j.Created))
	add(j.Depend != "", "depend", "%s", j.Depend)
	add(true, "Error_Path", "%s", j.Err)
	add(ran, "exec_host", "%s", execHost(j))
	add(!j.After.IsZero(), "Execution_Time", "%s", at(j.After))
	add(true, "Hold_Types", "%s", j.HoldWord())
	add(true, "Join_Path", "%s", j.Join)
	add(true, "Keep_Files", "%s", j.Keep)
	add(true, "Mail_Points", "%s", j.Mail)
	add(true, "mtime", "%s", at(j.Modified))
	add(true, "Output_Path", "%s", j.Out)
	add(true, "Priority", "%d", j.Priority)
	add(true, "qtime", "%s", at(j.Created))
	add(true, "Rerunable", "%s", truth(j.Rerun))
	list := attr{name: "Resource_List"}
	for _, r := range j.Resources {
		list.parts = append(list.parts, one(r.Name, "%s", r.Value))
	}
	out = append(out, list)
	add(j.Session > 0, "session_id", "%d", j.Session)
	add(trusted && ran && !j.Ended(), "substate", "42")
	add(j.Shell != "", "Shell_Path_List", "%s", j.Shell)
	add(trusted || j.User == c.User, "Variable_List", "%s", strings.Join(variables(j), ","))
	add(true, "euser", "%s", j.User)
	add(true, "egroup", "%s", group(j.User))
	add(true, "queue_type", "E")
	add(!j.Eligible.IsZero(), "etime", "%s", at(j.Eligible))
	if j.Exit != nil {
		add(true, "exit_status", "%d", *j.Exit)
	}
	add(len(j.Args) > 0, "submit_args", "%s", strings.Join(j.Args, " "))
	add(ran, "start_time", "%s", at(j.Started))
	if j.State == batch.Running {
		left := int((j.Length() - j.Used(now)) / time.Second)
		out = append(out, attr{name: "Walltime", parts: []attr{one("Remaining", "%d", left)}})
	}
	add(j.Starts > 0, "start_count", "%d", j.Starts)
	add(true, "fault_tolerant", "False")
	add(ran && j.Ended(), "comp_time", "%s", at(j.Finished))
	add(true, "job_radix", "0")
	add(ran && j.Ended(), "total_runtime", "%.6f", j.Used(now).Seconds())
	add(true, "submit_host", "%s", s.Host)
	add(true, "init_work_dir", "%s", j.Work)
	add(true, "request_version", "1")
	add(j.Extra != "", "x", "%s", j.Extra)
	return out
}

// variables are those that the server sets, with the job's own before the last of them.
func variables(j *batch.Job) []string {
	at := slices.IndexFunc(j.Environ, func(v string) bool {
		return strings.HasPrefix(v, "PBS_O_INITDIR=") || strings.HasPrefix(v, "PBS_O_WORKDIR=")
	})
	if at < 0 {
		at = len(j.Environ)
	}
	return slices.Concat(j.Environ[:at], j.Variables, j.Environ[at:])
}

func truth(b bool) string {
	if b {
		return "True"
	}
	return "False"
}

// execHost is node02/1-2+node01/0-1.
func execHost(j *batch.Job) string {
	cores := make(map[string][]int)
	var order []string
	for _, p := range j.Parts {
		if cores[p.Node] == nil {
			order = append(order, p.Node)
		}
		cores[p.Node] = append(cores[p.Node], p.Cores...)
	}
	for i, n := range order {
		order[i] = n + "/" + ranges(cores[n])
	}
	return strings.Join(order, "+")
}

// ranges writes ascending numbers as 0-2,4.
func ranges(n []int) string {
	var out []string
	for i := 0; i < len(n); {
		k := i
		for k+1 < len(n) && n[k+1] == n[k]+1 {
			k++
		}
		text := strconv.Itoa(n[i])
		if k > i {
			text += "-" + strconv.Itoa(n[k])
		}
		out = append(out, text)
		i = k + 1
	}
	return strings.Join(out, ",")
}

func qstat(s *batch.System, c *batch.Call) batch.Answer {
	opts, ids, bad := batch.Options(c.Args, "fx1tQBanu:", "")
	if bad != "" {
		return batch.NotServed(c, "-"+bad)
	}
	switch {
	case batch.Has(opts, "Q"):
		return queues(s, c, ids, batch.Has(opts, "f"))
	case batch.Has(opts, "B"):
		return serverStatus(s, c, batch.Has(opts, "f"))
	}
	show := table
	switch {
	case batch.Has(opts, "x"):
		show = asXML
	case batch.Has(opts, "f"):
		show = func(s *batch.System, c *batch.Call, list []*batch.Job) string {
			return full(s, c, list, !batch.Has(opts, "1"))
		}
	case batch.Has(opts, "a"), batch.Has(opts, "n"):
		show = func(s *batch.System, c *batch.Call, list []*batch.Job) string {
			return wide(s, c, list, batch.Has(opts, "n"))
		}
	}
	if len(ids) == 0 {
		list := visible(s, c)
		if len(list) == 0 && !batch.Has(opts, "x") {
			return batch.Answer{}
		}
		return batch.Out("%s", show(s, c, list))
	}
	return ofIDs(s, c, ids, batch.Has(opts, "x"), show)
}

// visible are the jobs that a caller is shown.
func visible(s *batch.System, c *batch.Call) []*batch.Job {
	var out []*batch.Job
	for _, j := range s.Jobs {
		if mayQuery(s, c, j) {
			out = append(out, j)
		}
	}
	return out
}

func mayQuery(s *batch.System, c *batch.Call, j *batch.Job) bool {
	return !s.Private || j.User == c.User || s.Operator(c.User)
}

// ofIDs shows some jobs: a table has one header, XML is a document for each.
func ofIDs(s *batch.System, c *batch.Call, ids []string, apart bool, show func(*batch.System, *batch.Call, []*batch.Job) string) batch.Answer {
	var all batch.Answer
	var found []*batch.Job
	for _, id := range ids {
		full, ok := s.FullID(id)
		var list []*batch.Job
		switch {
		case !ok && s.Queue(id) != nil:
			for _, j := range visible(s, c) {
				if j.Queue == id {
					list = append(list, j)
				}
			}
		case !ok:
			all = all.And(batch.Fail(172, "qstat: Unknown queue destination %s\n", id))
		case s.Job(full) == nil:
			all = all.And(batch.Fail(153, "qstat: Unknown Job Id Error %s\n", full))
		case !mayQuery(s, c, s.Job(full)):
			all = all.And(batch.Fail(159, "qstat: Unauthorized Request  %s\n", full))
		default:
			list = append(list, s.Job(full))
		}
		if apart && len(list) > 0 {
			all.Stdout = append(all.Stdout, show(s, c, list)...)
		}
		found = append(found, list...)
	}
	if !apart && len(found) > 0 {
		all.Stdout = append(all.Stdout, show(s, c, found)...)
	}
	return all
}

func asXML(s *batch.System, c *batch.Call, list []*batch.Job) string {
	var b strings.Builder
	b.WriteString("<?xml version=\"1.0\"?>\n<Data>")
	epoch := func(t time.Time) string { return strconv.FormatInt(t.Unix(), 10) }
	for _, j := range list {
		b.WriteString("<Job><Job_Id>" + escape(j.ID) + "</Job_Id>")
		for _, a := range attributes(s, j, c, epoch) {
			writeXML(&b, a)
		}
		b.WriteString("</Job>")
	}
	b.WriteString("</Data>\n")
	return b.String()
}

func writeXML(b *strings.Builder, a attr) {
	b.WriteString("<" + a.name + ">")
	for _, p := range a.parts {
		writeXML(b, p)
	}
	b.WriteString(escape(a.value) + "</" + a.name + ">")
}

var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&apos;")

func escape(s string) string { return escaper.Replace(s) }

// full is qstat -f: wrapped in mid-word at 80 columns unless -1 is given.
func full(s *batch.System, c *batch.Call, list []*batch.Job, wrap bool) string {
	var b strings.Builder
	text := func(t time.Time) string { return batch.Long(t.In(c.Zone())) }
	for _, j := range list {
		b.WriteString("Job Id: " + j.ID + "\n")
		for _, a := range attributes(s, j, c, text) {
			if a.parts == nil {
				a.parts = []attr{{value: a.value}}
			}
			for _, p := range a.parts {
				name := a.name
				if p.name != "" {
					name += "." + p.name
				}
				b.WriteString(folded("    "+name+" = ", p.value, wrap))
			}
		}
		b.WriteString("\n")
	}
	return b.String()
}

// folded breaks a value after commas, and in mid-word where there is none.
func folded(head, value string, wrap bool) string {
	line, out := head, ""
	if !wrap {
		return head + value + "\n"
	}
	for _, word := range strings.SplitAfter(value, ",") {
		if len(line)+len(word) > 78 && line != head && line != "\t" {
			out, line = out+line+"\n", "\t"
		}
		for len(line)+len(word) > 78 {
			n := 78 - len(line)
			out, word, line = out+line+word[:n]+"\n", word[n:], "\t"
		}
		line += word
	}
	return out + line + "\n"
}

func table(s *batch.System, c *batch.Call, list []*batch.Job) string {
	var b strings.Builder
	b.WriteString("Job ID                    Name             User            Time Use S Queue\n" +
		"------------------------- ---------------- --------------- -------- - -----\n")
	for _, j := range list {
		used := "0"
		if !j.Started.IsZero() {
			used = batch.HMS(j.CPU)
		}
		name := j.Name
		if len(name) > 16 {
			name = "..." + name[len(name)-13:]
		}
		fmt.Fprintf(&b, "%-26.26s %-16s %-15.15s %8s %c %-15s\n", j.ID, name, j.User, used, j.State, j.Queue)
	}
	return b.String()
}

// wide is qstat -a, and -n with the nodes behind each line.
func wide(s *batch.System, c *batch.Call, list []*batch.Job, nodes bool) string {
	var b strings.Builder
	b.WriteString("\n" + s.Host + ": \n" +
		"                                                                                  Req'd       Req'd       Elap\n" +
		"Job ID                  Username    Queue    Jobname          SessID  NDS   TSK   Memory      Time    S   Time\n" +
		"----------------------- ----------- -------- ---------------- ------ ----- ------ --------- --------- - ---------\n")
	for _, j := range list {
		session, memory, elapsed, hosts := "  -- ", "    -- ", "      -- ", " -- "
		if j.Session > 0 {
			session = strconv.Itoa(j.Session)
		}
		if m := j.Resource("mem"); m != "" {
			memory = m
		}
		if j.State == batch.Running {
			elapsed = batch.HMS(j.Used(c.Now))
		}
		if len(j.Parts) > 0 {
			hosts = execHost(j)
		}
		line := fmt.Sprintf("%-23.23s %-11.11s %-8.8s %-16.16s %6s %5d %6d %9s %9s %c %9s", j.ID, j.User, j.Queue, j.Name,
			session, nodect(j), j.Cores(), memory, batch.HMS(j.Wall), j.State, elapsed)
		if nodes {
			line += "   " + hosts
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}
