package torque

import (
	"fmt"
	"sort"
	"strconv"
	"strings"
	"time"

	"gbroker/test/fakebatch/batch"
)

// showres shows jobs' reservations too. Without -n it hides those that the caller may not use.
func showres(s *batch.System, c *batch.Call) batch.Answer {
	opts, rest, bad := batch.Options(c.Args, "ngrsv", "format=")
	if bad != "" {
		return batch.NotServed(c, "-"+bad)
	}
	if batch.Has(opts, "n") {
		return byNode(s, c, rest)
	}
	out, n := "Reservations\n\nReservationID       Type S       Start         End    Duration    N/P    StartTime\n\n", 0
	row := func(id, kind string, state byte, from, to time.Time, nodes, procs int) {
		if len(rest) > 0 && !contains(rest, id) {
			return
		}
		n++
		when := instant(c, from)
		if batch.Has(opts, "v") {
			when = batch.Long(from.In(c.Zone()))
		}
		out += fmt.Sprintf("%-18s %5s %c %11s %11s %11s%5d/%-5d%s\n", id, kind, state, span(from.Sub(c.Now)), span(to.Sub(c.Now)), span(to.Sub(from)), nodes, procs, when)
	}
	for _, j := range jobs(s) {
		switch {
		case j.Runs():
			row(short(j), "Job", 'R', j.Started, j.Started.Add(j.Length()), len(batch.Gather(j.Parts)), j.Cores())
		case !j.Earliest.IsZero() && j.State == batch.Queued:
			row(short(j), "Job", 'I', j.Earliest, j.Earliest.Add(j.Length()), nodect(j), j.Cores())
		}
	}
	for _, b := range s.Reservations {
		if admin(s, c.User) || contains(b.Users, c.User) {
			row(b.ID, "User", '-', b.From, b.To, len(b.Held), b.Cores())
		}
	}
	return batch.Out("%s\n%d reservation%s located\n\n", out, n, plural(n, "s", ""))
}

// byNode is showres -n: everybody sees all of it.
func byNode(s *batch.System, c *batch.Call, ids []string) batch.Answer {
	out := fmt.Sprintf("reservations on %s\n\n            NodeName       Type      ReservationID   JobState Task       Start    Duration            StartTime\n\n", instant(c, c.Now))
	var rows []string
	row := func(node, kind, id, state string, tasks int, from, to time.Time) {
		if len(ids) == 0 || contains(ids, id) {
			rows = append(rows, fmt.Sprintf("%20s %10s %18s %10s %4d %11s %11s %20s\n", node, kind, id, state, tasks, span(from.Sub(c.Now)), span(to.Sub(from)), instant(c, from)))
		}
	}
	for _, n := range s.Nodes {
		for _, j := range s.On(n.Name) {
			for _, h := range batch.Gather(j.Parts) {
				if h.Node == n.Name && !s.Faults.Down {
					row(n.Name, "Job", short(j), "Running", h.Cores, j.Started, j.Started.Add(j.Length()))
				}
			}
		}
		for _, b := range s.Reservations {
			if b.Covers(n.Name) {
				row(n.Name, "User", b.ID, "N/A", 1, b.From, b.To)
			}
		}
	}
	return batch.Out("%s%s%d nodes reserved\n", out, strings.Join(rows, ""), len(rows))
}

// mdiag reads -r: reservations with who may use them.
func mdiag(s *batch.System, c *batch.Call) batch.Answer {
	opts, ids, bad := batch.Options(c.Args, "rv", "format=")
	switch {
	case !admin(s, c.User):
		return batch.Fail(1, "ERROR:    'diagnose' failed\nERROR:    user '%s' is not authorized to execute command 'diagnose'\n\n", c.User)
	case bad != "" || !batch.Has(opts, "r"):
		return batch.NotServed(c, bad)
	}
	var b strings.Builder
	b.WriteString("Diagnosing Reservations\nResID                      Type Par   StartTime     EndTime     Duration Node Task Proc\n-----                      ---- ---   ---------     -------     -------- ---- ---- ----\n")
	row := func(id, kind string, from, to time.Time, nodes, tasks, procs int) {
		fmt.Fprintf(&b, "%-26s %4s DEF %11s %11s %12s %4d %4d %4d\n", id, kind, span(from.Sub(c.Now)), span(to.Sub(c.Now)), span(to.Sub(from)), nodes, tasks, procs)
	}
	active := 0
	for _, r := range s.Reservations {
		if len(ids) > 0 && !contains(ids, r.ID) {
			continue
		}
		if r.Runs(c.Now) {
			active += r.Cores()
		}
		row(r.ID, "User", r.From, r.To, len(r.Held), len(r.Held), r.Cores())
		b.WriteString(accessText(r))
	}
	for _, j := range jobs(s) {
		if !j.Runs() || len(ids) > 0 && !contains(ids, short(j)) {
			continue
		}
		row(short(j), "Job", j.Started, j.Started.Add(j.Length()), len(batch.Gather(j.Parts)), j.Cores(), j.Cores())
		fmt.Fprintf(&b, "    ACL: JOB==%s= \n    CL:  JOB==%s USER==%s GROUP==%s CLASS==%s QOS==DEFAULT DURATION==%s PROC==%d \n", short(j), short(j), j.User, group(j.User), j.Queue, span(j.Length()), j.Cores())
	}
	if len(ids) == 0 {
		fmt.Fprintf(&b, "\nActive Reserved Processors: %d\n", active)
	}
	return batch.Out("%s\n", b.String())
}

func accessText(r *batch.Reservation) string {
	acl := "RES==" + r.Name + "= "
	for _, list := range []struct {
		kind  string
		names []string
	}{{"USER", r.Users}, {"ACCT", r.Accounts}} {
		for i, name := range list.names {
			acl += map[bool]string{true: list.kind, false: ":"}[i == 0] + "==" + name + "+"
		}
		if len(list.names) > 0 {
			acl += " "
		}
	}
	var names []string
	for _, h := range r.Held {
		names = append(names, h.Node)
	}
	kind, where := "1", strings.Join(names, "|")
	if r.ByHost {
		kind, where = "[ALL]", r.Expression
	}
	most := ""
	if r.ByHost && where == names[0] {
		most = "   MaxTasks=1"
	}
	return fmt.Sprintf("    Flags: PREEMPTEE\n    ACL: %s\n    CL:  RES==%s \n    Task Resources: PROCS: %s\n    Attributes (HostList='%s'%s)\n", acl, r.Name, kind, where, most)
}

// showbf tells what is free now, and for how long.
func showbf(s *batch.System, c *batch.Call) batch.Answer {
	opts, rest, bad := batch.Options(c.Args, "vu:d:n:r:", "format=")
	if bad != "" || len(rest) > 0 {
		return batch.NotServed(c, bad)
	}
	who, least, want := c.User, time.Duration(0), 1
	if u := batch.Get(opts, "u"); u != "" {
		who = u
	}
	if v := batch.Get(opts, "d"); v != "" {
		d, ok := length(v)
		if !ok {
			return batch.NotServed(c, "-d "+v)
		}
		least = d
	}
	if v := batch.Get(opts, "r"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil {
			return batch.NotServed(c, "-r "+v)
		}
		want = n
	}
	out := fmt.Sprintf("backfill window (user: '%s' group: '%s' partition: ALL) %s\n\n", who, group(c.User), instant(c, c.Now))
	rows := windows(s, who, want, least, c.Now)
	if len(rows) == 0 {
		rows = []string{"no procs available\n"}
	}
	return batch.Out("%s%s\n\n\n", out, strings.Join(rows, ""))
}

// windows are the largest numbers of processors that are free now, by how long.
func windows(s *batch.System, who string, want int, least time.Duration, now time.Time) []string {
	var lengths []time.Duration
	for _, b := range s.Reservations {
		if b.From.After(now) {
			lengths = append(lengths, b.From.Sub(now))
		}
	}
	for _, j := range jobs(s) {
		if j.State == batch.Queued && j.Earliest.After(now) {
			lengths = append(lengths, j.Earliest.Sub(now))
		}
	}
	sort.Slice(lengths, func(a, b int) bool { return lengths[a] < lengths[b] })
	lengths = append(lengths, endless)
	var out []string
	for _, d := range lengths {
		if d < least {
			continue
		}
		n := s.Free(who, d, now)
		if n < want {
			continue
		}
		row := fmt.Sprintf("%3d proc%s available for %13s\n", n, plural(n, "s", ""), span(d))
		if d == endless {
			row = fmt.Sprintf("%3d proc%s available with no timelimit\n", n, plural(n, "s", ""))
		}
		if len(out) > 0 && strings.HasPrefix(out[len(out)-1], row[:4]) {
			out = out[:len(out)-1]
		}
		out = append(out, row)
	}
	return out
}
