package torque

import (
	"fmt"
	"strings"
	"time"

	"gbroker/test/fakebatch/batch"
)

func pbsnodes(s *batch.System, c *batch.Call) batch.Answer {
	opts, names, bad := batch.Options(c.Args, "axlno:c:r:N:", "")
	if bad != "" {
		return batch.NotServed(c, "-"+bad)
	}
	for _, o := range opts {
		if o.Name == "o" || o.Name == "c" || o.Name == "r" {
			return mark(s, c, o, opts, names)
		}
	}
	list, fail := some(s, names)
	if fail.Exit != 0 {
		return fail
	}
	var b strings.Builder
	switch {
	case batch.Has(opts, "l"):
		for _, n := range list {
			if n.Up() {
				continue
			}
			fmt.Fprintf(&b, "%-20s %s", n.Name, state(s, n))
			if batch.Has(opts, "n") && n.Note != "" {
				fmt.Fprintf(&b, "%*s%s", 27-len(state(s, n)), "", n.Note)
			}
			b.WriteString("\n")
		}
	case batch.Has(opts, "x"):
		b.WriteString("<Data>")
		for _, n := range list {
			b.WriteString("<Node><name>" + n.Name + "</name>")
			for _, a := range nodeAttributes(s, n, c.Now) {
				writeXML(&b, a)
			}
			b.WriteString("</Node>")
		}
		b.WriteString("</Data>\n")
	default:
		for _, n := range list {
			b.WriteString(n.Name + "\n" + nodeText(s, n, c.Now, "     ") + "\n")
		}
	}
	return batch.Out("%s", b.String())
}

// some are the nodes that are named, or all.
func some(s *batch.System, names []string) ([]*batch.Node, batch.Answer) {
	if len(names) == 0 {
		return s.Nodes, batch.Answer{}
	}
	var out []*batch.Node
	for _, name := range names {
		n := s.Node(name)
		if n == nil {
			return nil, batch.Fail(1, "pbsnodes: Unknown node  MSG=cannot locate specified node\n")
		}
		out = append(out, n)
	}
	return out, batch.Answer{}
}

// mark sets nodes offline, or clears that. It ends with 0 whatever happened.
func mark(s *batch.System, c *batch.Call, o batch.Option, opts []batch.Option, names []string) batch.Answer {
	var all batch.Answer
	for _, name := range append([]string{o.Value}, names...) {
		n := s.Node(name)
		switch {
		case n == nil:
			all = all.And(batch.Fail(0, "Error setting note attribute for %s - Unknown node \n", name))
		case !s.Manager(c.User):
			all = all.And(batch.Fail(0, "Error setting note attribute for %s - Unauthorized Request  MSG=error in permissions (PERM_OPorMGR)\n", name))
		default:
			n.Offline, n.Since = o.Name == "o", c.Now
			if batch.Has(opts, "N") {
				n.Note = batch.Get(opts, "N")
			}
			s.Wake()
		}
	}
	return all
}

func state(s *batch.System, n *batch.Node) string {
	var not []string
	for _, w := range []struct {
		is   bool
		word string
	}{{n.Down, "down"}, {n.Offline, "offline"}, {n.Unlisted, "MOM-list-not-sent"}} {
		if w.is {
			not = append(not, w.word)
		}
	}
	switch {
	case len(not) > 0:
		return strings.Join(not, ",")
	case s.UseOn(n.Name) >= n.Cores:
		return "job-exclusive"
	}
	return "free"
}

func nodeAttributes(s *batch.System, n *batch.Node, now time.Time) []attr {
	out := []attr{one("state", "%s", state(s, n)), one("power_state", "Running"), one("np", "%d", n.Cores)}
	if len(n.Properties) > 0 {
		out = append(out, one("properties", "%s", strings.Join(n.Properties, ",")))
	}
	out = append(out, one("ntype", "cluster"))
	var held, ids, sessions []string
	for _, j := range s.On(n.Name) {
		ids = append(ids, j.ID)
		sessions = append(sessions, fmt.Sprint(j.Session))
		for _, p := range j.Parts {
			if p.Node == n.Name {
				held = append(held, ranges(p.Cores)+"/"+j.ID)
			}
		}
	}
	if len(held) > 0 {
		out = append(out, one("jobs", "%s", strings.Join(held, ",")))
	}
	memory := batch.KiB(n.Memory)
	busy := "nsessions=0,nusers=0,"
	if len(ids) > 0 {
		busy = fmt.Sprintf("sessions=%s,nsessions=%d,nusers=1,", strings.Join(sessions, " "), len(ids))
	}
	status := fmt.Sprintf("opsys=linux,uname=Linux %s 6.1.0-amd64 #1 SMP PREEMPT_DYNAMIC @0 x86_64,%sidletime=69880,totmem=%dkb,"+
		"availmem=%dkb,physmem=%dkb,ncpus=%d,loadave=0.00,gres=,netload=0,state=free,varattr= ,cpuclock=Fixed,version=6.1.3,rectime=%d,jobs=%s",
		n.Name, busy, memory, memory*9/10, memory, n.Cores, now.Unix(), strings.Join(ids, " "))
	out = append(out, one("status", "%s", status))
	if n.Note != "" {
		out = append(out, one("note", "%s", n.Note))
	}
	return append(out, one("mom_service_port", "15002"), one("mom_manager_port", "15003"))
}

func nodeText(s *batch.System, n *batch.Node, now time.Time, indent string) string {
	out := ""
	for _, a := range nodeAttributes(s, n, now) {
		out += indent + a.name + " = " + a.value + "\n"
	}
	return out
}
