package torque

import (
	"strconv"
	"strings"

	"gbroker/test/fakebatch/batch"
)

// known are the resources of a TORQUE without resources of its own; those with true are sizes.
var known = map[string]bool{
	"walltime": false, "cput": false, "pcput": false, "nodes": false, "procs": false, "ncpus": false, "host": false,
	"advres": false, "nice": false, "arch": false, "software": false, "other": false, "gres": false,
	"mem": true, "vmem": true, "pmem": true, "pvmem": true, "file": true, "size": true,
}

// resources reads one -l.
func (o *order) resources(s *batch.System, v string) *batch.Answer {
	fail := func(exit int, format string, args ...any) *batch.Answer {
		a := batch.Fail(exit, format, args...)
		return &a
	}
	for _, one := range strings.Split(v, ",") {
		name, value, has := strings.Cut(one, "=")
		size, ok := known[name]
		switch {
		case !has:
			return fail(1, "Cannot find an attr=value pair in comma separated value '%s'\n", one)
		case !ok:
			return fail(189, "qsub: submit error (Unknown resource type  Resource_List.%s)\n", name)
		}
		bad := fail(168, "qsub: submit error (Illegal attribute or resource value for Resource_List.%s)\n", name)
		switch {
		case size:
			if _, ok := batch.Size(value); !ok {
				return bad
			}
		case name == "walltime" || name == "cput" || name == "pcput":
			d, ok := batch.Seconds(value)
			if !ok {
				return bad
			}
			value = batch.HMS(d)
			if name == "walltime" {
				o.job.Wall = d
			}
		case name == "nodes":
			chunks, ok := nodes(s, value)
			if !ok {
				return fail(27, "qsub: submit error (Command syntax invalid MSG=Invalid Syntax)\n")
			}
			o.job.Chunks = chunks
		case name == "procs" || name == "ncpus":
			n, err := strconv.Atoi(value)
			if err != nil || n < 1 {
				return bad
			}
			o.job.Chunks = []batch.Chunk{{Count: n, Cores: 1, Lines: 1}}
			if name == "ncpus" {
				o.job.Chunks = []batch.Chunk{{Count: 1, Cores: n, Lines: n}}
			}
		}
		o.job.SetResource(name, value)
	}
	return nil
}

// nodes reads 2:ppn=2:bigmem+node07:ppn=4.
func nodes(s *batch.System, v string) ([]batch.Chunk, bool) {
	var out []batch.Chunk
	for _, part := range strings.Split(v, "+") {
		f := strings.Split(part, ":")
		c := batch.Chunk{Count: 1, Cores: 1}
		if n, err := strconv.Atoi(f[0]); err == nil {
			if n < 1 {
				return nil, false
			}
			c.Count = n
		} else if s.Node(f[0]) != nil {
			c.Node = f[0]
		} else {
			c.Properties = append(c.Properties, f[0])
		}
		for _, w := range f[1:] {
			text, is := strings.CutPrefix(w, "ppn=")
			if !is {
				c.Properties = append(c.Properties, w)
				continue
			}
			n, err := strconv.Atoi(text)
			if err != nil || n < 1 {
				return nil, false
			}
			c.Cores = n
		}
		c.Lines = c.Cores
		out = append(out, c)
	}
	return out, true
}

// defaults adds what the queue gives to those that do not ask.
func defaults(j *batch.Job, q *batch.Queue) {
	if j.Resource("nodes") != "" {
		j.SetResource("nodect", strconv.Itoa(nodect(j)))
	}
	if j.Wall == 0 && q.Wall > 0 {
		j.Wall = q.Wall
		j.SetResource("walltime", batch.HMS(q.Wall))
	}
	if len(j.Chunks) == 0 {
		j.Chunks = []batch.Chunk{{Count: 1, Cores: 1, Lines: 1, Node: j.Resource("host")}}
		j.SetResource("nodes", "1")
		j.SetResource("nodect", "1")
	}
}

func nodect(j *batch.Job) int {
	n := 0
	for _, c := range j.Chunks {
		n += c.Count
	}
	return n
}
