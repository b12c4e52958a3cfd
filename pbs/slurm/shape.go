package slurm

import (
	"fmt"
	"strconv"
	"strings"

	"gbroker/grid"
)

// shape is what a job asks for, in Slurm's words.
type shape struct {
	nodes     int // at least
	most      int // nodes at most; 0 is any number
	cpus      int
	tasks     int   // 0 is not known
	perTask   int   // CPUs of a task; 0 is not said
	perNode   int   // tasks on each node; 0 is not said
	nodeMem   int64 // MiB on each node; 0 is not said
	cpuMem    int64 // MiB for each CPU; 0 is not said
	gres      string
	features  string
	exclusive bool
}

// demand is the shape as chunks: pieces on nodes of their own where the number of nodes is
// fixed, else one piece for each task. It is for planning: what it cannot express (features
// that may be either, named nodes) is left out.
func (s shape) demand() (grid.Demand, error) {
	d := grid.Demand{Exclusive: s.exclusive}
	for feature := range strings.FieldsFuncSeq(s.features, func(r rune) bool { return r == '&' || r == ',' }) {
		if !strings.ContainsAny(feature, "|[]()*") {
			d.Properties = append(d.Properties, feature)
		}
	}
	each, err := gres(s.gres)
	if err != nil {
		return d, err
	}
	cpus := max(s.cpus, 1)
	pieces, tasks := s.pieces(cpus)
	// What does not divide makes some pieces larger by one.
	large := cpus % pieces
	for _, group := range []struct{ count, cpus int }{{large, cpus/pieces + 1}, {pieces - large, cpus / pieces}} {
		if group.count == 0 || group.cpus == 0 {
			continue
		}
		d.Chunks = append(d.Chunks, grid.Chunk{
			Count: group.count, Processes: max(1, tasks/pieces), Cores: group.cpus,
			Memory: s.memory(group.cpus), Resources: each,
		})
	}
	return d, nil
}

// pieces is into how many pieces the CPUs are divided, and the tasks in all of them.
func (s shape) pieces(cpus int) (pieces, tasks int) {
	tasks = max(s.tasks, 1)
	switch {
	case s.perNode > 0 && s.tasks > 0:
		pieces = (s.tasks + s.perNode - 1) / s.perNode
	case s.most > 0 && s.most == s.nodes, s.gres != "":
		pieces = s.nodes
	default:
		pieces = max(tasks, s.nodes)
	}
	return min(max(pieces, 1), cpus), tasks
}

func (s shape) memory(cpus int) int64 {
	if s.cpuMem > 0 {
		return s.cpuMem * int64(cpus) << 20
	}
	return s.nodeMem << 20
}

// gres reads generic resources: "gres:gpu:a100:2,fpga:1(S:0-1)", "gpu(CNT:2)",
// "gpu:a100:2(IDX:0-1)". Those of a type count also as those without.
func gres(text string) ([]grid.Resource, error) {
	if text == "" || text == "(null)" {
		return nil, nil
	}
	if len(text) > maxText {
		return nil, fmt.Errorf("generic resources of %d characters", len(text))
	}
	var out []grid.Resource
	for rest := text; rest != ""; {
		end := commaOutsideParentheses(rest)
		one := rest[:end]
		rest = rest[min(end+1, len(rest)):]
		name, amount, err := oneGres(one)
		if err != nil {
			return nil, err
		}
		if amount == 0 {
			continue
		}
		out = plus(out, name, amount)
		if kind, _, typed := strings.Cut(name, ":"); typed {
			out = plus(out, kind, amount)
		}
	}
	return out, nil
}

func plus(all []grid.Resource, name string, amount int64) []grid.Resource {
	for i := range all {
		if all[i].Name == name {
			all[i].Amount += amount
			return all
		}
	}
	return append(all, grid.Resource{Name: name, Amount: amount})
}

func commaOutsideParentheses(s string) int {
	depth := 0
	for i := range len(s) {
		switch s[i] {
		case '(', '[':
			depth++
		case ')', ']':
			depth--
		case ',':
			if depth == 0 {
				return i
			}
		}
	}
	return len(s)
}

func oneGres(text string) (name string, amount int64, err error) {
	text, hint, _ := strings.Cut(text, "(")
	text = strings.TrimPrefix(strings.TrimPrefix(text, "gres:"), "gres/")
	amount = 1
	if at := strings.LastIndexByte(text, ':'); at >= 0 {
		if n, err := count(text[at+1:]); err == nil {
			text, amount = text[:at], n
		}
	}
	if said, is := strings.CutPrefix(hint, "CNT:"); is {
		if amount, err = count(strings.TrimSuffix(said, ")")); err != nil {
			return "", 0, fmt.Errorf("generic resource %.60q(%.60q: %w", text, hint, err)
		}
	}
	text = strings.TrimSuffix(text, ":") // of a type that has no name: fpga::2
	kind, sort, typed := strings.Cut(text, ":")
	if kind == "" || typed && (sort == "" || strings.Contains(sort, ":")) || len(text) > maxName {
		return "", 0, fmt.Errorf("%.60q is no generic resource", text)
	}
	return text, amount, nil
}

// count reads an amount with an optional factor: 2, 4K, 1M.
func count(text string) (int64, error) {
	factor := int64(1)
	if n := len(text); n > 0 {
		if shift := strings.IndexByte("KMGT", text[n-1]); shift >= 0 {
			factor <<= 10 * (shift + 1)
			text = text[:n-1]
		}
	}
	n, err := strconv.ParseInt(text, 10, 32)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%.20q is no amount", text)
	}
	return n * factor, nil
}
