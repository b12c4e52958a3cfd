package openpbs

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"gbroker/test/fakebatch/batch"
)

const qsubOptions = "a:A:c:C:e:fhIj:J:k:l:m:M:N:o:p:P:q:r:R:S:u:v:VW:XzG"

const qsubUsage = `usage: qsub [-a date_time] [-A account_string] [-c interval]
	[-C directive_prefix] [-e path] [-f ] [-h ] [-I [-X]] [-j oe|eo] [-J X-Y[:Z]]
	[-k keep] [-l resource_list] [-m mail_options] [-M user_list]
	[-N jobname] [-o path] [-p priority] [-P project] [-q queue] [-r y|n]
	[-R o|e|oe] [-S path] [-u user_list] [-W otherattributes=value...]
	[-v variable_list] [-V ] [-z] [script | -- command [arg1 ...]]
       qsub --version
`

type order struct {
	job   *batch.Job
	out   string
	err   string
	quiet bool
	place string
	sel   string
}

func qsub(s *batch.System, c *batch.Call) batch.Answer {
	if c.User == "root" && s.NoRoot {
		return batch.Fail(175, "qsub: Bad UID for job execution\n")
	}
	opts, rest, bad := batch.Options(c.Args, qsubOptions, "")
	if bad != "" {
		return batch.Fail(2, "qsub: invalid option -- '%s'\n%s", bad, qsubUsage)
	}
	script, name := c.Stdin, "STDIN"
	if len(rest) > 0 {
		text, err := os.ReadFile(c.Path(rest[0]))
		if err != nil {
			return batch.Fail(1, "qsub: script file:: No such file or directory\n")
		}
		script, name = text, filepath.Base(rest[0])
	}
	prefix := "#PBS"
	if v := batch.Get(opts, "C"); v != "" {
		prefix = v
	}
	more, _, bad := batch.Options(batch.Directives(script, prefix), qsubOptions, "")
	if bad != "" {
		return batch.Fail(2, "qsub: directive error: invalid option -- '%s'\n%s", bad, qsubUsage)
	}
	o := order{job: &batch.Job{Name: name, User: c.User, Script: script, Args: c.Args, Work: c.Dir, Home: c.Home(),
		Join: "n", Keep: "n", Mail: "a", Rerun: true, Queue: s.Default}}
	for _, each := range append(more, opts...) {
		if fail := o.option(s, c, each); fail != nil {
			return *fail
		}
	}
	return o.submit(s, c)
}

func failure(exit int, format string, args ...any) *batch.Answer {
	a := batch.Fail(exit, format, args...)
	return &a
}

func illegal(letter string) *batch.Answer {
	return failure(2, "qsub: illegal -%s value\n%s", letter, qsubUsage)
}

func (o *order) option(s *batch.System, c *batch.Call, opt batch.Option) *batch.Answer {
	j, v := o.job, opt.Value
	switch opt.Name {
	case "A":
		j.Account = v
	case "C", "f", "P", "M", "R":
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
		return o.resources(s, c, v)
	case "m":
		j.Mail = v
	case "N":
		if v == "" || strings.ContainsAny(v, " \t\n") {
			return illegal("N")
		}
		if len(v) > 236 {
			return failure(2, "qsub: Job name is too long \n")
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
		j.Queue = v
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

// variables reads -v; quotes, backslashes and commas in values are more than the fake batch system risks.
func (o *order) variables(c *batch.Call, v string) *batch.Answer {
	if strings.ContainsAny(v, "'\"\\") {
		a := batch.NotServed(c, "-v with quotes")
		return &a
	}
	for _, one := range strings.Split(v, ",") {
		if name, _, has := strings.Cut(one, "="); !has {
			one = name + "=" + c.Env(name)
		}
		o.job.Variables = append(o.job.Variables, one)
	}
	return nil
}

func (o *order) attributes(s *batch.System, v string) *batch.Answer {
	for _, one := range strings.Split(v, ",") {
		name, value, has := strings.Cut(one, "=")
		switch {
		case !has:
			return illegal("W")
		case name == "umask" || name == "group_list" || name == "sandbox":
		case name == "depend":
			kind, id, _ := strings.Cut(value, ":")
			full, ok := s.FullID(id)
			if !ok {
				return failure(1, "qsub: illegally formed job identifier: %s\n", id)
			}
			o.job.Depend, o.job.Holds = kind+":"+full, "s"+o.job.Holds
		case name == "stagein" || name == "stageout":
			return failure(2, "fakebatch: qsub -W %s: the fake batch system does not stage\n", name)
		default:
			return failure(154, "qsub: Undefined attribute \n")
		}
	}
	return nil
}

// complete makes the resources those that the server shows.
func (o *order) complete(c *batch.Call) *batch.Answer {
	j := o.job
	if o.sel != "" {
		for _, r := range j.Resources {
			if r.Name == "ncpus" || r.Name == "mem" || r.Name == "mpiprocs" {
				return failure(5, "%s: \"-lresource=\" cannot be used with \"select\" or \"place\", resource is: %s\n", c.Command, r.Name)
			}
		}
	} else {
		n, err := strconv.Atoi(j.Resource("ncpus"))
		if err != nil {
			n = 1
		}
		chunk := batch.Chunk{Count: 1, Cores: n, Lines: 1}
		o.sel = "1:"
		if m := j.Resource("mem"); m != "" {
			chunk.Memory = batch.KiB(m)
			o.sel += "mem=" + m + ":"
		}
		o.sel += "ncpus=" + strconv.Itoa(n)
		j.Chunks = []batch.Chunk{chunk}
		j.SetResource("select", o.sel)
		if o.place == "" {
			o.place = "pack"
		}
	}
	if o.place == "" {
		o.place = "free"
	}
	j.SetResource("place", o.place)
	totals(j)
	return nil
}

func (o *order) submit(s *batch.System, c *batch.Call) batch.Answer {
	j := o.job
	if fail := o.complete(c); fail != nil {
		return *fail
	}
	reservation, fail := enter(s, c, j, j.Queue)
	if fail != nil {
		return *fail
	}
	j.Reservation = reservation
	nowhere := false
	if q := s.Queue(j.Queue); q != nil && q.Route != nil && q.Starts() {
		if to := destination(s, c, j, q.Route); to != nil {
			j.Queue = to.Name
		} else {
			nowhere = true
		}
	}
	if q := s.Queue(j.Queue); q != nil && j.Wall == 0 && q.Wall > 0 {
		j.Wall = q.Wall
		j.SetResource("walltime", batch.HMS(q.Wall))
	}
	j.Environ = []string{"PBS_O_HOME=" + c.Home(), "PBS_O_LANG=C", "PBS_O_LOGNAME=" + c.User}
	for _, name := range []string{"PATH", "SHELL", "TZ"} {
		if v := c.Env(name); v != "" {
			j.Environ = append(j.Environ, "PBS_O_"+name+"="+v)
		}
	}
	j.Environ = append(j.Environ, "PBS_O_INTERACTIVE_AUTH_METHOD=resvport", "PBS_O_INTERACTIVE_ENCRYPT_METHOD=",
		"PBS_O_WORKDIR="+c.Dir, "PBS_O_SYSTEM=Linux")
	j.Variables = append(j.Variables, "PBS_O_QUEUE="+j.Queue, "PBS_O_HOST="+s.Host)
	s.Submit(j, c.Now)
	j.Out, j.Err = stream(s, c, j, o.out, ".o"), stream(s, c, j, o.err, ".e")
	if nowhere { // it was accepted, and is gone without history
		s.Lose(j.ID)
	}
	if o.quiet {
		return batch.Answer{}
	}
	return batch.Out("%s\n", j.ID)
}

// stream is Output_Path or Error_Path.
func stream(s *batch.System, c *batch.Call, j *batch.Job, asked, kind string) string {
	if asked == "" {
		asked = j.Name + kind + strconv.Itoa(j.Number)
	}
	if host, _, ok := strings.Cut(asked, ":"); ok && !strings.Contains(host, "/") {
		return asked
	}
	return s.Host + ":" + c.Path(asked)
}

func qalter(s *batch.System, c *batch.Call) batch.Answer {
	opts, ids, bad := batch.Options(c.Args, "A:l:N:p:r:o:e:", "")
	if bad != "" {
		return batch.NotServed(c, bad)
	}
	return each(s, c, ids, false, func(j *batch.Job) batch.Answer {
		changed := *j
		changed.Resources = append([]batch.Value{}, j.Resources...)
		o := order{job: &changed, place: j.Resource("place")}
		for _, opt := range opts {
			if opt.Name == "o" || opt.Name == "e" {
				return batch.NotServed(c, "-"+opt.Name)
			}
			if fail := o.option(s, c, opt); fail != nil {
				return *fail
			}
		}
		switch {
		case j.Runs() && (o.sel != "" || changed.Resource("place") != j.Resource("place")):
			return batch.Fail(167, "qalter: Cannot modify attribute while job running  Resource_List.select %s\n", j.ID)
		case j.Runs() && changed.Wall > j.Wall && !s.Manager(c.User):
			return batch.Fail(159, "qalter: Unauthorized Request  %s\n", j.ID)
		}
		if o.sel != "" {
			totals(&changed)
		}
		changed.Modified = c.Now
		*j = changed
		s.Wake()
		return batch.Answer{}
	})
}
