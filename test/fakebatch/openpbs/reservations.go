package openpbs

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"gbroker/test/fakebatch/batch"
)

const rsubUsage = `usage: pbs_rsub [-I seconds] [-m mail_points] [-M mail_list]
                [-N reservation_name] [-u user_list] [-g group_list]
                [-U auth_user_list] [-G auth_group_list] [-H auth_host_list]
                [-R start_time] [-E end_time] [-D duration] [-q destination]
                [-r rrule_expression] [-W otherattributes=value...]
                -l resource_list | --hosts host1 [... hostn]
       pbs_rsub --version
`

const ralterUsage = `usage: pbs_ralter [-I seconds] [-m mail_points] [-M mail_list]
                [-N reservation_name] [-R start_time] [-E end_time]
                [-U (+/-)username[,(+/-)username]...]
                [-G [(+/-)group[,(+/-)group]...]]
                [-D duration]
                [-W force]
                resv_id
       pbs_ralter --version
`

// users are those who may use a reservation; its owner has the host behind.
func users(s *batch.System, b *batch.Reservation) string {
	out := append([]string{}, b.Users...)
	for i, u := range out {
		if u == b.Owner {
			out[i] = u + "@" + s.Host
		}
	}
	return strings.Join(out, ",")
}

// instant reads [[[[CC]YY]MM]DD]hhmm[.SS].
func instant(c *batch.Call, v string) (time.Time, bool) {
	for _, layout := range []string{"200601021504.05", "200601021504", "0601021504.05", "0601021504"} {
		if t, err := time.ParseInLocation(layout, v, c.Zone()); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// times reads -R, -E and -D over what a reservation has.
func times(c *batch.Call, opts []batch.Option, from, to time.Time, usage string) (time.Time, time.Time, *batch.Answer) {
	bad := failure(238, "%s: Bad time specification(s)\n", c.Command)
	length := time.Duration(0)
	if !to.IsZero() {
		length = to.Sub(from)
	}
	for _, o := range opts {
		var ok bool
		switch o.Name {
		case "R":
			if from, ok = instant(c, o.Value); !ok {
				return from, to, failure(2, "%s: illegal -R time value\n%s", c.Command, usage)
			}
		case "E":
			if to, ok = instant(c, o.Value); !ok {
				return from, to, failure(2, "%s: illegal -E time value\n%s", c.Command, usage)
			}
		case "D":
			if length, ok = batch.Seconds(o.Value); !ok {
				return from, to, failure(166, "%s: Illegal attribute or resource value Resource_List.walltime\n", c.Command)
			}
		}
	}
	// Two of the three are enough; of an existing one, a start without an end or a duration is not.
	switch {
	case from.IsZero(), batch.Has(opts, "R") && !batch.Has(opts, "E") && !batch.Has(opts, "D"):
		return from, to, bad
	case batch.Has(opts, "D"):
		to = from.Add(length)
	}
	if !to.After(from) || !to.After(c.Now) || batch.Has(opts, "R") && from.Before(c.Now.Truncate(time.Second)) {
		return from, to, bad
	}
	return from, to, nil
}

func rsub(s *batch.System, c *batch.Call) batch.Answer {
	opts, rest, bad := batch.Options(c.Args, "I:N:R:E:D:l:U:W:", "")
	switch {
	case bad != "" || len(rest) > 0:
		return batch.NotServed(c, bad)
	case c.User == "root" && s.NoRoot:
		return batch.Fail(247, "pbs_rsub: Bad effective UID for reservation\n")
	case s.NoReservations:
		return batch.Fail(159, "pbs_rsub: Unauthorized Request \n")
	}
	b := &batch.Reservation{Name: batch.Get(opts, "N"), Owner: c.User, Users: []string{c.User}}
	if b.Name == "" {
		b.Name = "NULL"
	}
	if v := batch.Get(opts, "I"); v != "" {
		if _, err := strconv.Atoi(v); err != nil {
			return batch.Fail(2, "pbs_rsub: illegal -I time value\n%s", rsubUsage)
		}
	}
	var fail *batch.Answer
	if b.From, b.To, fail = times(c, opts, time.Time{}, time.Time{}, rsubUsage); fail != nil {
		return *fail
	}
	o := order{job: &batch.Job{User: c.User}}
	for _, opt := range opts {
		switch opt.Name {
		case "l":
			if fail := o.resources(s, c, opt.Value); fail != nil {
				return *fail
			}
		case "U":
			b.Users = append(b.Users, strings.Split(opt.Value, ",")...)
		case "W":
			name, value, _ := strings.Cut(opt.Value, "=")
			d, ok := batch.Seconds(value)
			if name != "delete_idle_time" || !ok {
				return batch.Fail(154, "pbs_rsub: Undefined attribute \n")
			}
			b.Idle = d
		}
	}
	if fail := o.complete(c); fail != nil {
		return *fail
	}
	b.ID = fmt.Sprintf("R%d.%s", s.Number(), s.Host)
	return decide(s, c, b, o.job, batch.Get(opts, "I"))
}

// decide is the scheduler's word on a new reservation.
func decide(s *batch.System, c *batch.Call, b *batch.Reservation, j *batch.Job, wait string) batch.Answer {
	b.Asked, b.Place = j.Resources, j.Resource("place")
	if s.Faults.Unscheduled {
		if strings.HasPrefix(wait, "-") {
			return batch.Out("%s delete, wait period expired\n", b.ID)
		}
		s.MakeReservation(b, c.Now)
		return batch.Out("%s UNCONFIRMED\n", b.ID)
	}
	parts := s.Find(j, b.From, b.To, c.Now, nil)
	if parts != nil {
		b.Held, b.Confirmed = batch.Gather(parts), true
		s.MakeReservation(b, c.Now)
	}
	word := map[bool]string{true: "CONFIRMED", false: "DENIED"}[parts != nil]
	if wait == "" {
		word = "UNCONFIRMED" // what was decided is seen by pbs_rstat
	}
	return batch.Out("%s %s\n", b.ID, word)
}

func rstat(s *batch.System, c *batch.Call) batch.Answer {
	opts, ids, bad := batch.Options(c.Args, "FfBS", "")
	if bad != "" {
		return batch.NotServed(c, bad)
	}
	list := s.Reservations
	var all batch.Answer
	if len(ids) > 0 {
		list = nil
	}
	for _, id := range ids {
		full, ok := reservationID(s, id)
		b := s.Reservation(full)
		switch {
		case !ok:
			all = all.And(batch.Fail(1, "pbs_rstat: illegally formed reservation identifier: %s\n", id))
		case b == nil:
			all = all.And(batch.Fail(0, "pbs_rstat: Unknown Reservation Id\n"))
		default:
			list = append(list, b)
		}
	}
	out := ""
	switch {
	case batch.Has(opts, "B"):
		for _, b := range list {
			out += "Resv ID: " + b.ID + "\n"
		}
	case batch.Has(opts, "F") || batch.Has(opts, "f"):
		for _, b := range list {
			out += reservationText(s, c, b) + "\n"
		}
	case len(list) > 0:
		out = "Resv ID    Queue    User     State             Start / Duration / End              \n---------------------------------------------------------------------\n"
		for _, b := range list {
			queue, _, _ := strings.Cut(b.ID, ".")
			_, short, _ := phase(s, b, c.Now)
			out += fmt.Sprintf("%-10s %-8s %-8.8s %s %18s / %d / %-17s\n", b.ID, queue, b.Owner+"@"+s.Host, short, day(c, b.From), int(b.To.Sub(b.From).Seconds()), day(c, b.To))
		}
	}
	all.Stdout = []byte(out)
	return all
}

// day is a time as the short listing has it.
func day(c *batch.Call, t time.Time) string {
	t = t.In(c.Zone())
	if t.Format(time.DateOnly) == c.Now.In(c.Zone()).Format(time.DateOnly) {
		return t.Format("Today 15:04")
	}
	return t.Format("Mon 15:04")
}

// phase is a reservation's state in long, in short, and as a number.
func phase(s *batch.System, b *batch.Reservation, now time.Time) (long, short string, number int) {
	for _, h := range b.Held {
		if n := s.Node(h.Node); n != nil && !n.Up() && b.Confirmed && !b.Ending {
			return "RESV_DEGRADED", "DG", 10
		}
	}
	switch {
	case b.Ending:
		return "RESV_BEING_DELETED", "BD", 9
	case !b.Confirmed:
		return "RESV_UNCONFIRMED", "UN", 1
	case b.Runs(now):
		return "RESV_RUNNING", "RN", 5
	}
	return "RESV_CONFIRMED", "CO", 2
}

func reservationText(s *batch.System, c *batch.Call, b *batch.Reservation) string {
	var out strings.Builder
	say := func(name, format string, args ...any) { fmt.Fprintf(&out, name+" = "+format+"\n", args...) }
	at := func(t time.Time) string { return batch.Long(t.In(c.Zone())) }
	long, _, n := phase(s, b, c.Now)
	queue, _, _ := strings.Cut(b.ID, ".")
	out.WriteString("Resv ID: " + b.ID + "\n")
	say("Reserve_Name", "%s", b.Name)
	say("Reserve_Owner", "%s@%s", b.Owner, s.Host)
	say("reserve_state", "%s", long)
	say("reserve_substate", "%d", n)
	say("reserve_start", "%s", at(b.From))
	say("reserve_end", "%s", at(b.To))
	say("reserve_duration", "%d", int(b.To.Sub(b.From).Seconds()))
	say("queue", "%s", queue)
	for _, name := range []string{"mem", "ncpus", "nodect", "select", "place"} {
		for _, r := range b.Asked {
			if r.Name == name {
				say("Resource_List."+name, "%s", r.Value)
			}
		}
	}
	say("Resource_List.walltime", "%s", batch.HMS(b.To.Sub(b.From)))
	if b.Confirmed {
		var held []string
		for _, h := range b.Held {
			one := fmt.Sprintf("(%s:ncpus=%d", h.Node, h.Cores)
			if h.Memory > 0 {
				one += fmt.Sprintf(":mem=%dkb", h.Memory)
			}
			held = append(held, one+")")
		}
		say("resv_nodes", "%s", strings.Join(held, "+"))
	}
	say("Authorized_Users", "%s", users(s, b))
	say("server", "%s", s.Host)
	say("ctime", "%s", at(b.Created))
	say("mtime", "%s", at(b.Modified))
	say("Variable_List", "PBS_O_LOGNAME=%s,PBS_O_HOST=%s", b.Owner, s.Host)
	say("reserve_count", "1")
	if b.Idle > 0 {
		say("delete_idle_time", "%s", batch.HMS(b.Idle))
	}
	if long == "RESV_DEGRADED" {
		say("reserve_retry", "%s", at(b.From.Add(10*time.Minute)))
	}
	say("Submit_Host", "%s", s.Host)
	say("partition", "pbs-default")
	return out.String()
}

// reservation finds one that the caller may change.
func reservation(s *batch.System, c *batch.Call, id string) (*batch.Reservation, *batch.Answer) {
	full, ok := reservationID(s, id)
	b := s.Reservation(full)
	tail := map[bool]string{true: " " + full, false: ""}[c.Command == "pbs_rdel"]
	switch {
	case !ok:
		return nil, failure(1, "%s: illegally formed reservation identifier: %s\n", c.Command, id)
	case b == nil:
		return nil, failure(236, "%s: Unknown Reservation Id%s\n", c.Command, tail)
	case b.Owner != c.User && !s.Manager(c.User):
		return nil, failure(159, "%s: Unauthorized Request %s\n", c.Command, tail)
	}
	return b, nil
}

// reservationID completes R42 to R42.pbs1.
func reservationID(s *batch.System, id string) (string, bool) {
	if len(id) < 2 || !strings.ContainsRune("RSM", rune(id[0])) {
		return id, false
	}
	full, ok := s.FullID(id[1:])
	return id[:1] + full, ok
}

func rdel(s *batch.System, c *batch.Call) batch.Answer {
	_, ids, bad := batch.Options(c.Args, "", "")
	if bad != "" || len(ids) == 0 {
		return batch.NotServed(c, bad)
	}
	var all batch.Answer
	for _, id := range ids {
		b, fail := reservation(s, c, id)
		if fail != nil {
			all = all.And(*fail)
			continue
		}
		s.CloseReservation(b, c.User, c.Now)
	}
	return all
}

func ralter(s *batch.System, c *batch.Call) batch.Answer {
	opts, ids, bad := batch.Options(c.Args, "I:R:E:D:N:U:", "")
	if bad != "" || len(ids) != 1 {
		return batch.NotServed(c, bad)
	}
	if v := batch.Get(opts, "I"); v != "" {
		if n, err := strconv.Atoi(v); err != nil || n < 0 {
			return batch.Fail(2, "pbs_ralter: illegal -I time value\n%s", ralterUsage)
		}
	}
	b, fail := reservation(s, c, ids[0])
	if fail != nil {
		return *fail
	}
	from, to, fail := times(c, opts, b.From, b.To, ralterUsage)
	if fail != nil {
		return *fail
	}
	word := "CONFIRMED"
	switch parts := s.Find(same(b), from, to, c.Now, b); {
	case s.Faults.Unscheduled || !b.Confirmed:
		word = "ALTER REQUESTED"
	case b.Runs(c.Now) && !from.Equal(b.From) && len(s.Bound(b)) > 0, parts == nil:
		word = "DENIED"
	default:
		b.From, b.To, b.Modified = from, to, c.Now
		b.Held = batch.Gather(parts)
	}
	if batch.Has(opts, "N") {
		b.Name = batch.Get(opts, "N")
	}
	if u := batch.Get(opts, "U"); u != "" {
		b.Users = append(b.Users, strings.Split(strings.TrimPrefix(u, "+"), ",")...)
	}
	if changes := batch.Has(opts, "R") || batch.Has(opts, "E") || batch.Has(opts, "D"); changes && !batch.Has(opts, "I") {
		word = "ALTER REQUESTED"
	}
	s.Wake()
	return batch.Out("pbs_ralter: %s %s\n", b.ID, word)
}

// same asks for the nodes that a reservation has.
func same(b *batch.Reservation) *batch.Job {
	j := &batch.Job{User: b.Owner, Scatter: strings.Contains(b.Place, "scatter"), Exclusive: strings.Contains(b.Place, "excl"), Reservation: ""}
	for _, h := range b.Held {
		j.Chunks = append(j.Chunks, batch.Chunk{Count: 1, Cores: h.Cores, Memory: h.Memory, Lines: 1, Node: h.Node})
	}
	return j
}
