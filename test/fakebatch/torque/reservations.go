package torque

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"gbroker/test/fakebatch/batch"
)

const setresUsage = `Usage: setres [FLAGS] <RES_EXP>
  --about
  --configfile=<FILENAME>
  --format=<FORMAT>
  --help
  --host=<SERVERHOSTNAME>
  --keyfile=<FILENAME>
  --loglevel=<LOGLEVEL>
  --port=<SERVERPORT>
  --version

  -a <ACCOUNT>[:<ACCOUNT>]...
  -A <CHARGEACCOUNT>
  -c <CLASS>[:<CLASS>]...
  -d <TIME_EXP> // DURATION
  -e <TIME_EXP> // ENDTIME
  -f <FEATURE>[:<FEATURE>]...
  -g <GROUP>[:<GROUP>]...
  -j <JOBFEATURE>[:<JOBFEATURE>]...
  -n <NAME>
  -p <PARTITION>
  -q <QOS>[:<QOS>...]
  -r <RES_DESC>
  -s <TIME_EXP> // STARTTIME
  -u <USER>[:<USER>]...
  -x <FLAG>[:<FLAG>]...

(TIME_EXP: [HH[:MM[:SS]]][_MO[/DD[/YY]]] ie 14:30_06/20)
(   or     +[[[DD:]HH:]MM:]SS
(RES_EXP:  ALL | TASKS{==|>=}<TASKCOUNT> | <HOST_REGEX>)
(RES_DESC: [PROCS=<X>][;MEM=<X>][;DISK=<X>][;SWAP=<X>;])
`

func setresFailed(format string, args ...any) batch.Answer {
	return batch.Fail(1, "ERROR:    'setres' failed\n"+format+"\n\n", args...)
}

func setres(s *batch.System, c *batch.Call) batch.Answer {
	opts, rest, bad := batch.Options(c.Args, "a:d:e:n:r:s:u:x:", "")
	switch {
	case bad != "":
		return batch.NotServed(c, "-"+bad)
	case len(rest) == 0:
		return batch.Fail(1, "%s", setresUsage)
	case !admin(s, c.User):
		return setresFailed("user %s is not authorized create reservation", c.User)
	}
	b, ok := window(c, opts)
	if !ok {
		return setresFailed("cannot create reservation (invalid timeframe)")
	}
	if flag := batch.Get(opts, "x"); flag != "" && flag != "BYNAME" { // which both Mauis take, and ignore
		return batch.NotServed(c, "-x "+flag)
	}
	if a := batch.Get(opts, "a"); a != "" {
		b.Accounts = strings.Split(a, ":")
	}
	if u := batch.Get(opts, "u"); u != "" {
		b.Users = strings.Split(u, ":")
	}
	var parts []batch.Part
	var fail *batch.Answer
	if count, is := strings.CutPrefix(rest[0], "TASKS"); is {
		parts, fail = tasks(s, c, b, count, batch.Get(opts, "r"))
	} else {
		parts, fail = hosts(s, b, rest[0])
	}
	if fail != nil {
		return *fail
	}
	b.Name = batch.Get(opts, "n")
	if b.Name == "" && len(b.Users) > 0 {
		b.Name = b.Users[0]
	}
	b.ID = s.ReservationName(b.Name)
	b.Held = batch.Gather(parts)
	s.MakeReservation(b, c.Now)
	out := fmt.Sprintf("reservation created\n\n\nreservation '%s' created on %d node%s (%d tasks)\n", b.ID, len(b.Held), plural(len(b.Held), "s", ""), b.Cores())
	for _, h := range b.Held {
		shown := h.Cores
		if b.ByHost {
			shown = 1
		}
		out += fmt.Sprintf("%s:%d\n", h.Node, shown)
	}
	return batch.Out("%s\n\n", out)
}

// endless is the length of a reservation that has none.
const endless = 20 * 365 * 24 * time.Hour

// window reads -s, -d and -e.
func window(c *batch.Call, opts []batch.Option) (*batch.Reservation, bool) {
	b := &batch.Reservation{Owner: c.User, Confirmed: true, From: c.Now.Truncate(time.Second), Asked: nil}
	var ok bool
	if v := batch.Get(opts, "s"); v != "" {
		if b.From, ok = moment(c, v); !ok {
			return nil, false
		}
	}
	b.To = b.From.Add(endless)
	if v := batch.Get(opts, "d"); v != "" {
		d, ok := length(v)
		if !ok {
			return nil, false
		}
		if d > 0 {
			b.To = b.From.Add(d)
		}
	}
	if v := batch.Get(opts, "e"); v != "" {
		if b.To, ok = moment(c, v); !ok {
			return nil, false
		}
	}
	return b, b.To.After(b.From) && b.To.After(c.Now) && b.From.After(c.Now.Add(-24*time.Hour))
}

// length reads a duration. The trap: of two fields the first is hours.
func length(v string) (time.Duration, bool) {
	if strings.Count(v, ":") == 1 {
		v += ":00"
	}
	return batch.Seconds(v)
}

// moment reads +H:MM:SS from now, or HH:MM:SS_MM/DD/YY. What is relative counts from Maui's next turn.
func moment(c *batch.Call, v string) (time.Time, bool) {
	if rel, is := strings.CutPrefix(v, "+"); is {
		d, ok := length(rel)
		return c.Now.Truncate(time.Second).Add(d + 2*time.Second), ok
	}
	for _, layout := range []string{"15:04:05_01/02/06", "15:04_01/02/06"} {
		if t, err := time.ParseInLocation(layout, v, c.Zone()); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// tasks places TASKS==n of PROCS=p beside all other jobs and reservations.
func tasks(s *batch.System, c *batch.Call, b *batch.Reservation, count, each string) ([]batch.Part, *batch.Answer) {
	n, err := strconv.Atoi(strings.TrimLeft(count, "=>"))
	procs := 1
	if v, is := strings.CutPrefix(each, "PROCS="); is && err == nil {
		procs, err = strconv.Atoi(strings.TrimSuffix(v, ";"))
	}
	if err != nil || n < 1 || procs < 1 {
		a := setresFailed("ERROR:    cannot select requested tasks for 'TASKS%s'", count)
		return nil, &a
	}
	b.Loose = procs == 1
	j := &batch.Job{Chunks: []batch.Chunk{{Count: n, Cores: procs}}}
	if parts := s.Find(j, b.From, b.To, c.Now, nil); parts != nil {
		return parts, nil
	}
	a := setresFailed("ERROR:    cannot select %d tasks for reservation for %s\nERROR:    cannot select requested tasks for 'TASKS%s'", n, span(s.Later(j, b.From, b.To, c.Now).Sub(c.Now)), count)
	if !s.Feasible(j) {
		a = setresFailed("ERROR:    only 0 tasks/0 nodes available for reservation\nERROR:    cannot select requested tasks for 'TASKS%s'", count)
	}
	return nil, &a
}

// hosts takes whole nodes by a regular expression, whatever else lies on them.
func hosts(s *batch.System, b *batch.Reservation, expression string) ([]batch.Part, *batch.Answer) {
	b.ByHost, b.Expression = true, expression
	re, err := regexp.Compile("^(" + expression + ")$")
	var parts []batch.Part
	for _, n := range s.Nodes {
		if expression == "ALL" || err == nil && re.MatchString(n.Name) {
			parts = append(parts, batch.Part{Node: n.Name, Cores: make([]int, n.Cores)})
		}
	}
	if len(parts) == 0 {
		a := setresFailed("ERROR:    no matches found for node expression\nERROR:    cannot determine nodelist for '%s'", expression)
		return nil, &a
	}
	return parts, nil
}

// releaseres ends with 0, whatever happened.
func releaseres(s *batch.System, c *batch.Call) batch.Answer {
	if len(c.Args) == 0 || strings.HasPrefix(c.Args[0], "-") {
		return batch.Fail(1, "Usage: releaseres <RESERVATION>\n       releaseres -h\n")
	}
	out := "\n\n"
	for _, id := range c.Args {
		switch b := s.Reservation(id); {
		case b == nil:
			out += fmt.Sprintf("ERROR:    cannot locate reservation '%s'\n", id)
		case !admin(s, c.User) && !contains(b.Users, c.User):
			out += fmt.Sprintf("ERROR:    user '%s' is not authorized to release reservation '%s'\n", c.User, id)
		default:
			s.EndReservation(b)
			out += fmt.Sprintf("released User reservation '%s'\n", id)
		}
	}
	return batch.Out("%s\n\n", out)
}
