package openpbs

import (
	"sort"
	"strconv"
	"strings"

	"gbroker/test/fakebatch/batch"
)

// known are the resources of a server without resources of its own; those with true are sizes.
var known = map[string]bool{"ncpus": false, "mpiprocs": false, "ompthreads": false, "host": false, "vnode": false, "arch": false,
	"mem": true, "vmem": true, "pmem": true, "pvmem": true, "file": true}

// resources reads one -l.
func (o *order) resources(s *batch.System, c *batch.Call, v string) *batch.Answer {
	for _, one := range strings.Split(v, ",") {
		name, value, has := strings.Cut(one, "=")
		size, ok := known[name]
		bad := failure(166, "%s: Illegal attribute or resource value Resource_List.%s\n", c.Command, name)
		switch {
		case !has:
			return illegal("l")
		case name == "walltime" || name == "cput":
			d, ok := batch.Seconds(value)
			if !ok {
				return bad
			}
			value = batch.HMS(d)
			if name == "walltime" {
				o.job.Wall = d
			}
		case name == "select":
			list, fail := selection(s, c, value)
			if fail != nil {
				return fail
			}
			o.job.Chunks, o.sel = list, value
		case name == "place":
			o.place = value
			o.job.Scatter = strings.Contains(value, "scatter")
			o.job.Exclusive = strings.Contains(value, "excl")
		case name == "nodes":
			a := batch.NotServed(c, "-l nodes")
			return &a
		case !ok:
			return failure(187, "%s: Unknown resource Resource_List.%s\n", c.Command, name)
		default:
			if _, fine := batch.Size(value); size && !fine {
				return bad
			}
			if n, err := strconv.Atoi(value); name == "ncpus" && (err != nil || n < 0) {
				return bad
			}
		}
		o.job.SetResource(name, value)
	}
	return nil
}

// selection reads 2:ncpus=2:mem=1gb+1:ncpus=4:vnode=n01.
func selection(s *batch.System, c *batch.Call, v string) ([]batch.Chunk, *batch.Answer) {
	var out []batch.Chunk
	for _, part := range strings.Split(v, "+") {
		chunk := batch.Chunk{Count: 1, Cores: 1, Lines: -1}
		f := strings.Split(part, ":")
		if n, err := strconv.Atoi(f[0]); err == nil && n > 0 {
			chunk.Count, f = n, f[1:]
		} else if !strings.Contains(f[0], "=") {
			return nil, failure(166, "%s: Illegal attribute or resource value Resource_List.select\n", c.Command)
		}
		for _, w := range f {
			name, value, _ := strings.Cut(w, "=")
			size, ok := known[name]
			if !ok {
				return nil, failure(187, "%s: Unknown resource: %s\n", c.Command, name)
			}
			n, err := strconv.Atoi(value)
			kib, fine := batch.Size(value)
			number := name == "ncpus" || name == "mpiprocs" || name == "ompthreads"
			if size && !fine || number && (err != nil || n < 0) {
				return nil, failure(166, "%s: Illegal attribute or resource value select.%s\n", c.Command, name)
			}
			switch name {
			case "ncpus":
				chunk.Cores = n
			case "mpiprocs":
				chunk.Lines = n
			case "mem":
				chunk.Memory = kib
			case "host", "vnode":
				chunk.Node = value
			}
		}
		if chunk.Lines < 0 {
			chunk.Lines = 1
		}
		out = append(out, chunk)
	}
	return out, nil
}

// size is a number of KiB in the largest unit that holds it exactly.
func size(kib int64) string {
	for _, unit := range []string{"gb", "mb"} {
		if one := batch.KiB("1" + unit); kib >= one && kib%one == 0 {
			return strconv.FormatInt(kib/one, 10) + unit
		}
	}
	return strconv.FormatInt(kib, 10) + "kb"
}

// totals are the sums over all chunks.
func totals(j *batch.Job) {
	var memory int64
	lines := 0
	for _, ch := range j.Chunks {
		memory += int64(ch.Count) * ch.Memory
		lines += ch.Count * ch.Lines
	}
	if memory > 0 {
		j.SetResource("mem", size(memory))
	}
	if strings.Contains(j.Resource("select"), "mpiprocs") {
		j.SetResource("mpiprocs", strconv.Itoa(lines))
	}
	j.SetResource("ncpus", strconv.Itoa(j.Cores()))
	j.SetResource("nodect", strconv.Itoa(chunks(j)))
	sort.SliceStable(j.Resources, func(a, b int) bool { return j.Resources[a].Name < j.Resources[b].Name })
}

func chunks(j *batch.Job) int {
	n := 0
	for _, ch := range j.Chunks {
		n += ch.Count
	}
	return n
}
