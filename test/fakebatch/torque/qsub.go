package torque

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"gbroker/test/fakebatch/batch"
)

const qsubOptions = "a:A:b:c:C:d:D:e:fF:hIj:k:K:l:m:M:N:o:p:P:J:q:r:S:t:T:u:v:VW:w:xXz"

const qsubUsage = `usage: qsub [-a date_time] [-A account_string] [-b secs]
    [-c [ none | { enabled | periodic | shutdown |
    depth=<int> | dir=<path> | interval=<minutes>}... ]
    [-C directive_prefix] [-d path] [-D path]
    [-e path] [-h] [-I] [-j oe|eo|n] [-k {oe}] [-K <kill delay seconds>] 
    [-l resource_list] [-m n|{abe}] [-M user_list] [-N jobname] [-o path] 
    [-p priority] [-P proxy_user [-J <jobid]] [-q queue] [-r y|n] 
    [-S path] [-t number_to_submit] [-T type]  [-u user_list] [-w] path
    [-W additional_attributes] [-v variable_list] [-V ] [-x] [-X] [-z] [script]

`

// order is a qsub as it is read.
type order struct {
	job   *batch.Job
	out   string
	err   string
	queue string
	quiet bool
}

func qsub(s *batch.System, c *batch.Call) batch.Answer {
	if c.User == "root" && s.NoRoot {
		return batch.Fail(1, "qsub can not be run as root\n")
	}
	opts, rest, bad := batch.Options(c.Args, qsubOptions, "")
	if bad != "" {
		return batch.Fail(2, "qsub: invalid option -- '%s'\n[exiting]\n\n%s", bad, qsubUsage)
	}
	if len(rest) > 1 {
		return batch.NotServed(c, rest[1])
	}
	script, name, fail := script(c, rest)
	if fail != nil {
		return *fail
	}
	prefix := "#PBS"
	if v := batch.Get(opts, "C"); v != "" {
		prefix = v
	}
	more, _, bad := batch.Options(batch.Directives(script, prefix), qsubOptions, "")
	if bad != "" {
		return batch.Fail(2, "qsub: invalid option -- '%s'\n[exiting]\n\n%s", bad, qsubUsage)
	}
	o := order{job: &batch.Job{Name: name, User: c.User, Script: script, Args: c.Args, Work: c.Dir, Home: c.Home(),
		Join: "n", Keep: "n", Mail: "a", Rerun: true, Queue: s.Default}}
	for _, each := range append(more, opts...) { // the command's own come last, and win
		if fail := o.option(s, c, each); fail != nil {
			return *fail
		}
	}
	return o.submit(s, c)
}

// script is the text of a job, from a file or from standard input, and the name that it gives.
func script(c *batch.Call, rest []string) ([]byte, string, *batch.Answer) {
	if len(rest) == 0 {
		return c.Stdin, "STDIN", nil
	}
	fi, err := os.Stat(c.Path(rest[0]))
	var fail batch.Answer
	switch {
	case err != nil:
		fail = batch.Fail(1, "qsub: script file '%s' cannot be loaded - No such file or directory\n", rest[0])
	case !fi.Mode().IsRegular():
		fail = batch.Fail(1, "qsub: script not a file\n")
	default:
		text, err := os.ReadFile(c.Path(rest[0]))
		if err == nil && !strings.ContainsRune(string(text[:min(len(text), 512)]), 0) {
			return text, filepath.Base(rest[0]), nil
		}
		fail = batch.Fail(1, "qsub:  file must be an ascii script\n")
	}
	return nil, "", &fail
}

func illegal(letter string) *batch.Answer {
	a := batch.Fail(2, "[qsub: illegal -%s value]\n\n%s", letter, qsubUsage)
	return &a
}

// option takes one option.
func (o *order) option(s *batch.System, c *batch.Call, opt batch.Option) *batch.Answer {
	j, v := o.job, opt.Value
	switch opt.Name {
	case "A":
		j.Account = v
	case "a":
		t, ok := date(v, c.Zone())
		if !ok {
			return illegal("a")
		}
		j.After = t
	case "d", "w":
		j.Work, j.Start = c.Path(v), c.Path(v)
	case "e":
		o.err = v
	case "h":
		j.Holds = "u"
	case "j":
		if v != "oe" && v != "eo" && v != "n" {
			return illegal("j")
		}
		j.Join = v
	case "k":
		j.Keep = v
	case "l":
		return o.resources(s, v)
	case "m":
		if strings.Trim(v, "abenp") != "" {
			return illegal("m")
		}
		j.Mail = v
	case "M", "f", "C": // C has been read: see Directives
	case "N":
		if v == "" || strings.ContainsAny(v, " \t\n") || len(v) > 4095 {
			return illegal("N")
		}
		j.Name = v
	case "o":
		o.out = v
	case "p":
		n, err := strconv.Atoi(v)
		if err != nil || n < -1024 || n > 1023 {
			return illegal("p")
		}
		j.Priority = n
	case "q":
		o.queue = v
	case "r":
		if v != "y" && v != "n" {
			return illegal("r")
		}
		j.Rerun = v == "y"
	case "S":
		j.Shell = v
	case "V":
		j.Variables = append(j.Variables, c.Environ...)
	case "v":
		return o.variables(c, v)
	case "W":
		return o.attributes(s, v)
	case "z":
		o.quiet = true
	default:
		a := batch.NotServed(c, "-"+opt.Name)
		return &a
	}
	return nil
}

// variables reads -v. As with the real one, a newline becomes a comma, and quotes do not protect one.
func (o *order) variables(c *batch.Call, v string) *batch.Answer {
	if strings.Contains(v, "'") {
		a := batch.Fail(3, "invalid -v syntax\n")
		return &a
	}
	for _, one := range strings.Split(strings.ReplaceAll(v, "\n", ","), ",") {
		if name, _, has := strings.Cut(one, "="); !has {
			one = name + "=" + c.Env(name)
		}
		o.job.Variables = append(o.job.Variables, one)
	}
	return nil
}

// attributes reads -W.
func (o *order) attributes(s *batch.System, v string) *batch.Answer {
	j := o.job
	for _, one := range strings.Split(v, ",") {
		name, value, has := strings.Cut(one, "=")
		switch {
		case !has:
			return illegal("W")
		case name == "x":
			j.Extra = value
			for _, f := range strings.FieldsFunc(value, func(r rune) bool { return r == ';' }) {
				if id, ok := strings.CutPrefix(f, "FLAGS:ADVRES:"); ok {
					j.Reservation = id
				}
				j.Exclusive = j.Exclusive || f == "NACCESSPOLICY:SINGLEJOB"
			}
		case name == "umask" || name == "group_list":
		case name == "depend":
			_, id, _ := strings.Cut(value, ":")
			full, ok := s.FullID(id)
			if !ok || s.Job(full) == nil {
				a := batch.Fail(208, "qsub: submit error (Invalid Job Dependency)\n")
				return &a
			}
			j.Depend = strings.TrimSuffix(value, id) + full
			j.Holds = "s" + j.Holds
		case name == "stagein" || name == "stageout":
			a := batch.Fail(2, "fakebatch: qsub -W %s: the fake batch system does not stage\n", name)
			return &a
		default:
			a := batch.Fail(154, "qsub: submit error (Undefined attribute  MSG=detected presence of an unknown attribute)\n")
			return &a
		}
	}
	return nil
}

// submit completes a job by the defaults of its queue and takes it.
func (o *order) submit(s *batch.System, c *batch.Call) batch.Answer {
	j := o.job
	name, host, at := strings.Cut(o.queue, "@")
	if at && host != s.Host {
		return batch.Fail(162, "Can not resolve name for server %s. (rc = -2 - )\nCannot resolve specified server host '%s'.\nqsub: cannot connect to server %s (errno=15010) Access from host not allowed, or unknown host\n", host, host, host)
	}
	if name != "" {
		j.Queue = name
	}
	q := s.Queue(j.Queue)
	switch {
	case q == nil:
		return batch.Fail(172, "qsub: submit error (Unknown queue MSG=requested queue not found)\n")
	case q.Disabled:
		return batch.Fail(175, "qsub: submit error (Queue is not enabled MSG=queue is disabled: user %s@%s, queue %s)\n", c.User, s.Host, q.Name)
	}
	defaults(j, q)
	switch {
	case q.MaxWall > 0 && j.Wall > q.MaxWall:
		return batch.Fail(190, "qsub: submit error (Job exceeds queue resource limits MSG=cannot satisfy queue max walltime requirement)\n")
	case q.MaxNodes > 0 && nodect(j) > q.MaxNodes:
		return batch.Fail(190, "qsub: submit error (Job exceeds queue resource limits MSG=cannot satisfy queue max nodect requirement)\n")
	case nodect(j) <= s.NodeCount && j.Cores() > s.Cores():
		return batch.Fail(190, "qsub: submit error (Job exceeds queue resource limits MSG=cannot locate feasible nodes (nodes file is empty or requested nodes exceed all systems))\n")
	case nodect(j) > max(len(s.Nodes), s.NodeCount), !s.Feasible(j):
		return batch.Fail(190, "qsub: submit error (Job exceeds queue resource limits MSG=cannot locate feasible nodes (nodes file is empty, all systems are busy, or no nodes have the requested feature))\n")
	}
	j.Scatter = s.ExactNodes
	j.Environ = origin(s, c, j)
	s.Submit(j, c.Now)
	j.Out, j.Err = stream(s, c, j, o.out, ".o"), stream(s, c, j, o.err, ".e")
	if o.quiet {
		return batch.Answer{}
	}
	return batch.Out("%s\n", j.ID)
}

// stream is Output_Path or Error_Path.
func stream(s *batch.System, c *batch.Call, j *batch.Job, asked, kind string) string {
	if asked == "" {
		name := j.Name
		return s.Host + ":" + filepath.Join(j.Work, name+kind+strconv.Itoa(j.Number))
	}
	if host, path, ok := strings.Cut(asked, ":"); ok && !strings.Contains(host, "/") {
		return host + ":" + path
	}
	path := c.Path(asked)
	if strings.HasSuffix(asked, "/") {
		path += "/"
	}
	return s.Host + ":" + path
}

// origin is what the job learns of where it was submitted.
func origin(s *batch.System, c *batch.Call, j *batch.Job) []string {
	out := []string{"PBS_O_QUEUE=" + j.Queue, "PBS_O_HOME=" + c.Home(), "PBS_O_LOGNAME=" + c.User}
	for _, name := range []string{"PATH", "SHELL", "TZ", "LANG"} {
		if v := c.Env(name); v != "" {
			out = append(out, "PBS_O_"+name+"="+v)
		}
	}
	if j.Start != "" {
		out = append(out, "PBS_O_INITDIR="+j.Start)
	}
	return append(out, "PBS_O_WORKDIR="+j.Work, "PBS_O_HOST="+s.Host, "PBS_O_SERVER="+s.Host)
}

// date reads [[CC]YY]MMDDhhmm[.SS].
func date(v string, zone *time.Location) (time.Time, bool) {
	for _, layout := range []string{"200601021504", "200601021504.05", "0601021504", "0601021504.05"} {
		if t, err := time.ParseInLocation(layout, v, zone); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}
