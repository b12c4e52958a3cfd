package openpbs

import (
	"fmt"
	"strings"

	"gbroker/test/fakebatch/batch"
)

// counts of jobs by state.
func counts(s *batch.System, queue string) map[byte]int {
	out := make(map[byte]int)
	for _, j := range s.Jobs {
		if (queue == "" || j.Queue == queue) && !j.Ended() {
			out[j.State]++
			out[0]++
		}
	}
	return out
}

func stateCount(n map[byte]int) attr {
	return text("state_count", "Transit:0 Queued:%d Held:%d Waiting:%d Running:%d Exiting:%d Begun:0 ", n['Q'], n['H'], n['W'], n['R'], n['E'])
}

func assigned(s *batch.System, queue string) attr {
	var memory int64
	cores, parts := 0, 0
	for _, j := range s.Jobs {
		if !j.Runs() || queue != "" && j.Queue != queue {
			continue
		}
		cores += j.Cores()
		parts += chunks(j)
		for _, p := range j.Parts {
			memory += p.Memory
		}
	}
	out := group("resources_assigned")
	if memory > 0 {
		out.parts = append(out.parts, text("mem", "%s", size(memory)))
	}
	out.parts = append(out.parts, number("ncpus", cores), number("nodect", parts))
	return out
}

// queueEntry is one queue; those of reservations are queues too.
type queueEntry struct {
	name             string
	enabled, started bool
	attributes       []attr
}

func queueEntries(s *batch.System, c *batch.Call) []queueEntry {
	var out []queueEntry
	for _, q := range s.Queues {
		n := counts(s, q.Name)
		kind := "Execution"
		if q.Route != nil {
			kind = "Route"
		}
		a := []attr{text("queue_type", "%s", kind), number("total_jobs", n[0]), stateCount(n)}
		if q.Untyped {
			a = a[1:]
		}
		if q.Route != nil {
			a = append(a, text("route_destinations", "%s", strings.Join(q.Route, ",")))
		}
		if q.Users != nil {
			a = append(a, text("acl_user_enable", "True"), text("acl_users", "%s", strings.Join(q.Users, ",")))
		}
		if q.MaxWall > 0 {
			a = append(a, group("resources_max", text("walltime", "%s", batch.HMS(q.MaxWall))))
		}
		if q.Wall > 0 {
			a = append(a, group("resources_default", text("walltime", "%s", batch.HMS(q.Wall))))
		}
		if q.Route == nil && !q.Untyped && !q.Fresh {
			a = append(a, assigned(s, q.Name))
		}
		if !q.Fresh && !q.Untyped {
			a = append(a, text("enabled", "%s", truth(!q.Disabled)), text("started", "%s", truth(!q.Stopped)))
		}
		out = append(out, queueEntry{q.Name, q.Takes(), q.Starts(), a})
	}
	for _, b := range s.Reservations {
		name, _, _ := strings.Cut(b.ID, ".")
		n := counts(s, name)
		cores := group("resources_max", number("ncpus", b.Cores()))
		free := group("resources_available", number("ncpus", b.Cores()))
		out = append(out, queueEntry{name, b.Confirmed, b.Runs(c.Now), []attr{text("queue_type", "Execution"), number("total_jobs", n[0]), stateCount(n),
			text("acl_user_enable", "True"), text("acl_users", "%s", users(s, b)), cores, free,
			text("enabled", "%s", truth(b.Confirmed)), text("started", "%s", truth(b.Runs(c.Now))), text("partition", "pbs-default")}})
	}
	return out
}

func queues(s *batch.System, c *batch.Call, names []string, asJSON bool) batch.Answer {
	var all batch.Answer
	var list []queueEntry
	known := queueEntries(s, c)
	for _, q := range known {
		if len(names) == 0 || contains(names, q.name) {
			list = append(list, q)
		}
	}
	for _, name := range names {
		found := false
		for _, q := range known {
			found = found || q.name == name
		}
		if !found {
			all = all.And(batch.Fail(170, "qstat: Unknown queue %s\n", name))
		}
	}
	if asJSON {
		var entries []attr
		for _, q := range list {
			entries = append(entries, group(q.name, q.attributes...))
		}
		all.Stdout = []byte(document(s, c, "Queue", entries))
		return all
	}
	var b strings.Builder
	b.WriteString("Queue              Max   Tot Ena Str   Que   Run   Hld   Wat   Trn   Ext Type\n---------------- ----- ----- --- --- ----- ----- ----- ----- ----- ----- ----\n")
	word := map[bool]string{true: "yes", false: "no"}
	for _, q := range list {
		n := counts(s, q.name)
		fmt.Fprintf(&b, "%-16.16s %5d %5d %3s %3s %5d %5d %5d %5d %5d %5d Exe*\n", q.name, 0, n[0], word[q.enabled], word[q.started], n['Q'], n['R'], n['H'], n['W'], 0, n['E'])
	}
	all.Stdout = []byte(b.String())
	return all
}

// serverAttributes are those of qstat -B.
func serverAttributes(s *batch.System) []attr {
	n := counts(s, "")
	state := "Active"
	if s.Faults.Unscheduled {
		state = "Idle"
	}
	out := []attr{text("server_state", "%s", state), text("server_host", "%s", s.Host), text("scheduling", "%s", truth(!s.Faults.Unscheduled))}
	if s.MaxRun > 0 {
		out = append(out, text("max_run", "[u:PBS_GENERIC=%d]", s.MaxRun))
	}
	return append(out,
		number("total_jobs", n[0]), stateCount(n), text("managers", "root@*"), text("default_queue", "%s", s.Default), number("log_events", 511),
		text("mailer", "/usr/sbin/sendmail"), text("mail_from", "pbs"), text("query_other_jobs", "True"),
		group("resources_default", number("ncpus", 1)), group("default_chunk", number("ncpus", 1)), assigned(s, ""),
		number("scheduler_iteration", 600), text("flatuid", "True"), text("resv_enable", "%s", truth(!s.NoReservations)), number("node_fail_requeue", 10),
		number("max_array_size", 10000), number("resend_term_delay", 5), number("pbs_license_min", 0), number("pbs_license_max", 2147483647),
		number("pbs_license_linger_time", 31536000), text("license_count", "Avail_Global:1000000 Avail_Local:1000000 Used:0 High_Use:0"),
		text("pbs_version", "23.06.06"), text("eligible_time_enable", "True"), text("job_history_enable", "True"),
		text("job_history_duration", "%s", batch.HMS(s.History)), number("max_concurrent_provision", 5), number("backfill_depth", 10),
		text("clear_topjob_estimates_enable", "False"), number("max_job_sequence_id", 9999999))
}

func serverStatus(s *batch.System, c *batch.Call, asJSON bool) batch.Answer {
	if asJSON {
		return batch.Out("%s", document(s, c, "Server", []attr{group(s.Host, serverAttributes(s)...)}))
	}
	n := counts(s, "")
	return batch.Out("Server             Max   Tot   Que   Run   Hld   Wat   Trn   Ext Status\n---------------- ----- ----- ----- ----- ----- ----- ----- ----- -----------\n"+
		"%-16.16s %5d %5d %5d %5d %5d %5d %5d %5d %s\n", s.Host, 0, n[0], n['Q'], n['R'], n['H'], n['W'], 0, n['E'], "Active")
}

// printed are the attributes of a server that qmgr prints.
func printServer(s *batch.System) string {
	out := "#\n# Create queues and set their attributes.\n#\n"
	for _, q := range s.Queues {
		out += fmt.Sprintf("#\n# Create and define queue %s\n#\ncreate queue %s\nset queue %s queue_type = Execution\nset queue %s enabled = %s\nset queue %s started = %s\n",
			q.Name, q.Name, q.Name, q.Name, truth(!q.Disabled), q.Name, truth(!q.Stopped))
	}
	out += "#\n# Set server attributes.\n#\n"
	for _, a := range serverAttributes(s) {
		switch a.name {
		case "server_state", "server_host", "total_jobs", "state_count", "resources_assigned", "license_count", "pbs_version":
			continue
		}
		for _, l := range lines(a) {
			out += "set server " + l.name + " = " + l.value + "\n"
		}
	}
	return out
}

func pbsnodes(s *batch.System, c *batch.Call) batch.Answer {
	opts, names, bad := batch.Options(c.Args, "aF:vlo:r:C:", "")
	asJSON := batch.Get(opts, "F") == "json"
	switch {
	case bad != "" || batch.Get(opts, "F") != "" && !asJSON:
		return batch.NotServed(c, bad)
	case batch.Has(opts, "o") || batch.Has(opts, "r"):
		return mark(s, c, opts, names)
	case batch.Has(opts, "l"):
		out := ""
		for _, n := range s.Nodes {
			if !n.Up() {
				out += strings.TrimRight(fmt.Sprintf("%-20s %s %s", n.Name, state(s, n), n.Note), " ") + "\n"
			}
		}
		return batch.Out("%s", out)
	}
	if len(names) == 0 {
		for _, n := range s.Nodes {
			names = append(names, n.Name)
		}
	}
	var entries []attr
	for _, name := range names {
		n := s.Node(name)
		if n == nil {
			entries = append(entries, group(name, text(name, "Unknown node ")))
			continue
		}
		entries = append(entries, group(name, nodeAttributes(s, n)...))
	}
	if asJSON {
		return batch.Out("%s", document(s, c, "nodes", entries))
	}
	out := ""
	for _, e := range entries {
		out += e.name + "\n"
		for _, a := range e.parts {
			for _, l := range lines(a) {
				if l.list != nil {
					l.value = strings.Join(l.list, ", ")
				}
				out += "     " + l.name + " = " + l.value + "\n"
			}
		}
		out += "\n"
	}
	return batch.Out("%s", out)
}

// mark sets nodes offline (-o) or clears that (-r).
func mark(s *batch.System, c *batch.Call, opts []batch.Option, names []string) batch.Answer {
	verb, offline := batch.Get(opts, "r"), false
	if batch.Has(opts, "o") {
		verb, offline = batch.Get(opts, "o"), true
	}
	var all batch.Answer
	for _, name := range append([]string{verb}, names...) {
		n := s.Node(name)
		switch {
		case n == nil:
			all = all.And(batch.Fail(1, "Error marking node %s - Unknown node \n", name))
		case !s.Manager(c.User):
			all = all.And(batch.Fail(1, "Error marking node %s - Unauthorized Request \n", name))
		default:
			n.Offline, n.Since = offline, c.Now
			if batch.Has(opts, "C") {
				n.Note = batch.Get(opts, "C")
			}
			s.Wake()
		}
	}
	return all
}

func state(s *batch.System, n *batch.Node) string {
	busy := s.UseOn(n.Name)
	for _, j := range s.On(n.Name) {
		if j.Exclusive {
			return "job-exclusive"
		}
	}
	switch {
	case n.Down && n.Offline:
		return "down,offline"
	case n.Down:
		return "down"
	case n.Offline:
		return "offline"
	case busy >= n.Cores:
		return "job-busy"
	}
	return "free"
}

func nodeAttributes(s *batch.System, n *batch.Node) []attr {
	out := []attr{text("Mom", "%s", n.Name), text("ntype", "PBS"), text("state", "%s", state(s, n)), number("pcpus", n.Cores)}
	var ids, reserved []string
	var memory int64
	cores := 0
	for _, j := range s.On(n.Name) {
		ids = append(ids, j.ID)
		for _, p := range j.Parts {
			if p.Node == n.Name {
				memory, cores = memory+p.Memory, cores+len(p.Cores)
			}
		}
	}
	for _, b := range s.Reservations {
		if b.Confirmed && b.Covers(n.Name) {
			reserved = append(reserved, b.ID)
		}
	}
	if ids != nil {
		out = append(out, attr{name: "jobs", list: ids})
	}
	if reserved != nil {
		out = append(out, text("resv", "%s", strings.Join(reserved, ", ")))
	}
	used := group("resources_assigned")
	if memory > 0 {
		used.parts = append(used.parts, text("mem", "%dkb", memory))
	}
	if cores > 0 {
		used.parts = append(used.parts, number("ncpus", cores))
	}
	out = append(out, group("resources_available", text("arch", "linux"), text("host", "%s", n.Name), text("mem", "%s", n.Memory),
		number("ncpus", n.Cores), text("vnode", "%s", n.Name)), used)
	if n.Note != "" {
		out = append(out, text("comment", "%s", n.Note))
	}
	return append(out, text("resv_enable", "True"), text("sharing", "default_shared"), text("license", "l"), number("last_state_change_time", int(n.Since.Unix())))
}
