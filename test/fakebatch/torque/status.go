package torque

import (
	"fmt"
	"slices"
	"strings"

	"gbroker/test/fakebatch/batch"
)

// counts of jobs in a queue, "" for all, by state.
func counts(s *batch.System, queue string) map[byte]int {
	out := make(map[byte]int)
	for _, j := range s.Jobs {
		if queue == "" || j.Queue == queue {
			out[j.State]++
			out[0]++
		}
	}
	return out
}

func stateCount(n map[byte]int) string {
	return fmt.Sprintf("Transit:0 Queued:%d Held:%d Waiting:%d Running:%d Exiting:%d Complete:%d ", n['Q'], n['H'], n['W'], n['R'], n['E'], n['C'])
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// queues is qstat -Q; it has no XML.
func queues(s *batch.System, c *batch.Call, names []string, whole bool) batch.Answer {
	list := s.Queues
	if len(names) > 0 {
		list = nil
	}
	var all batch.Answer
	for _, name := range names {
		q := s.Queue(name)
		if q == nil {
			all = all.And(batch.Fail(172, "qstat: Unknown queue MSG=cannot locate queue %s \n", name))
			continue
		}
		list = append(list, q)
	}
	var b strings.Builder
	if !whole && len(list) > 0 {
		b.WriteString("Queue              Max    Tot   Ena   Str   Que   Run   Hld   Wat   Trn   Ext T   Cpt\n" +
			"----------------   ---   ----    --    --   ---   ---   ---   ---   ---   --- -   ---\n")
	}
	for _, q := range list {
		n := counts(s, q.Name)
		if whole {
			b.WriteString("Queue: " + q.Name + "\n" + queueText(s, q, "    ", fmt.Sprint(s.Nodes[0].Since.Unix())) + "\n")
			continue
		}
		fmt.Fprintf(&b, "%-16.16s %5d %6d %5s %5s %5d %5d %5d %5d %5d %5d E %5d\n", q.Name, 0, n[0], yes(!q.Disabled), yes(!q.Stopped),
			n['Q'], n['R'], n['H'], n['W'], 0, n['E'], n['C'])
	}
	return batch.Out("%s", b.String()).And(all)
}

// queueText is what is told of a queue, each line with what stands before it.
func queueText(s *batch.System, q *batch.Queue, indent, mtime string) string {
	n := counts(s, q.Name)
	lines := []string{"queue_type = Execution", fmt.Sprintf("total_jobs = %d", n[0]), "state_count = " + stateCount(n)}
	lines = append(lines, limits(q)...)
	lines = append(lines, "mtime = "+mtime)
	if n['R'] > 0 || q.Name == s.Default {
		lines = append(lines, fmt.Sprintf("resources_assigned.nodect = %d", assigned(s, q.Name)))
	}
	lines = append(lines, "enabled = "+truth(!q.Disabled), "started = "+truth(!q.Stopped))
	return indent + strings.Join(lines, "\n"+indent) + "\n"
}

func limits(q *batch.Queue) []string {
	var out []string
	if q.MaxWall > 0 {
		out = append(out, "resources_max.walltime = "+batch.HMS(q.MaxWall))
	}
	if q.MaxNodes > 0 {
		out = append(out, fmt.Sprintf("resources_max.nodect = %d", q.MaxNodes))
	}
	if q.Wall > 0 {
		out = append(out, "resources_default.walltime = "+batch.HMS(q.Wall))
	}
	if q.Name == "batch" {
		out = append(out, "resources_default.nodes = 1")
	}
	return out
}

func assigned(s *batch.System, queue string) int {
	n := 0
	for _, j := range s.Jobs {
		if j.Runs() && (queue == "" || j.Queue == queue) {
			n += nodect(j)
		}
	}
	return n
}

// serverStatus is qstat -B.
func serverStatus(s *batch.System, c *batch.Call, whole bool) batch.Answer {
	n := counts(s, "")
	if whole {
		return batch.Out("Server: %s\n    %s\n\n", s.Host, strings.Join(serverLines(s), "\n    "))
	}
	return batch.Out("Server             Max   Tot   Que   Run   Hld   Wat   Trn   Ext   Com Status    \n"+
		"----------------   ---   ---   ---   ---   ---   ---   ---   ---   --- ----------\n"+
		"%-16.16s %5d %5d %5d %5d %5d %5d %5d %5d %5d %-10s\n", s.Host, 0, n[0], n['Q'], n['R'], n['H'], n['W'], 0, n['E'], n['C'], "Active")
}

// serverLines is what is told of the server.
func serverLines(s *batch.System) []string {
	n := counts(s, "")
	host := s.Host
	lines := []string{"server_state = Active", "scheduling = True", fmt.Sprintf("total_jobs = %d", n[0]), "state_count = " + stateCount(n),
		"acl_hosts = " + host, "managers = root@" + host, "operators = root@" + host, "default_queue = " + s.Default, "log_events = 2047",
		"mail_from = adm", "query_other_jobs = " + truth(!s.Private), fmt.Sprintf("resources_assigned.nodect = %d", assigned(s, "")), "node_check_rate = 60",
		"tcp_timeout = 30", "job_stat_rate = 300", "poll_jobs = True", "log_level = 1", "down_on_error = True", "mom_job_sync = True",
		"pbs_version = 6.1.3", fmt.Sprintf("keep_completed = %d", int(s.History.Seconds())), "submit_hosts = " + host,
		fmt.Sprintf("next_job_number = %d", s.Next), "net_counter = 4 0 0", "moab_array_compatible = True", "nppcu = 1",
		"timeout_for_job_delete = 120", "timeout_for_job_requeue = 120", "note_append_on_error = True"}
	if s.NodeCount > 0 {
		at := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "resources_assigned.nodect") })
		lines = slices.Insert(lines, at, fmt.Sprintf("resources_available.nodect = %d", s.NodeCount))
	}
	return lines
}

// qmgr reads: p s, l s, p q NAME, l q NAME, l n NAME.
func qmgr(s *batch.System, c *batch.Call) batch.Answer {
	opts, rest, bad := batch.Options(c.Args, "c:", "")
	f := strings.Fields(batch.Get(opts, "c"))
	if bad != "" || len(rest) > 0 || len(f) == 0 {
		return batch.NotServed(c, bad)
	}
	verb := map[string]string{"p": "print", "print": "print", "l": "list", "list": "list"}[f[0]]
	switch {
	case verb == "" && (f[0] == "set" || f[0] == "create" || f[0] == "s" || f[0] == "c"):
		return batch.NotServed(c, f[0])
	case verb == "":
		return batch.Fail(2, "qmgr: Illegal operation: %s\nTry 'help' if you are having trouble.\n", f[0])
	case len(f) == 1:
		return batch.NotServed(c, f[0])
	}
	switch what := f[1]; {
	case strings.HasPrefix("server", what) && verb == "print":
		return batch.Out("%s", printServer(s))
	case strings.HasPrefix("server", what):
		return batch.Out("Server %s\n\t%s\n\n", s.Host, strings.Join(serverLines(s), "\n\t"))
	case strings.HasPrefix("queue", what) && len(f) > 2:
		return listQueue(s, c, verb, f[2])
	case strings.HasPrefix("node", what) && verb == "list" && len(f) > 2 && s.Node(f[2]) != nil:
		n := s.Node(f[2])
		return batch.Out("Node %s\n%s\n", n.Name, nodeText(s, n, c.Now, "\t"))
	}
	return batch.NotServed(c, f[1])
}

func listQueue(s *batch.System, c *batch.Call, verb, name string) batch.Answer {
	q := s.Queue(name)
	switch {
	case strings.HasPrefix(name, "@"):
		return batch.NotServed(c, name)
	case q == nil:
		return batch.Fail(2, "qmgr obj=%s svr=default: Unknown queue MSG=cannot locate queue %s\n", name, name)
	case verb == "print":
		return batch.Out("#\n# Create queues and set their attributes.\n#\n%s", printQueue(q))
	}
	return batch.Out("Queue %s\n%s\n", q.Name, queueText(s, q, "\t", batch.Long(s.Nodes[0].Since.In(c.Zone()))))
}

func printQueue(q *batch.Queue) string {
	lines := append([]string{"queue_type = Execution"}, limits(q)...)
	lines = append(lines, "enabled = "+truth(!q.Disabled), "started = "+truth(!q.Stopped))
	out := fmt.Sprintf("#\n# Create and define queue %s\n#\ncreate queue %s\n", q.Name, q.Name)
	for _, l := range lines {
		out += "set queue " + q.Name + " " + l + "\n"
	}
	return out
}

// unprinted are the lines of a server that are not configuration.
var unprinted = []string{"server_state", "total_jobs", "state_count", "resources_assigned", "pbs_version", "net_counter"}

func printServer(s *batch.System) string {
	out := "#\n# Create queues and set their attributes.\n#\n"
	for _, q := range s.Queues {
		out += printQueue(q)
	}
	out += "#\n# Set server attributes.\n#\n"
lines:
	for _, l := range serverLines(s) {
		for _, u := range unprinted {
			if strings.HasPrefix(l, u) {
				continue lines
			}
		}
		out += "set server " + l + "\n"
	}
	return out
}
