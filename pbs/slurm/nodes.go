package slurm

import (
	"fmt"
	"strings"

	"gbroker/grid"
	"gbroker/plan"
)

// nodeRecord is a node of sinfo --json, as far as it is read.
type nodeRecord struct {
	Name         *string  `json:"name"`
	State        *string  `json:"state"`
	Flags        []string `json:"state_flags"`
	CPUs         *int64   `json:"cpus"`
	Threads      *int64   `json:"threads"`
	Memory       *int64   `json:"real_memory"` // MiB
	Architecture *string  `json:"architecture"`
	System       *string  `json:"operating_system"`
	Features     string   `json:"active_features"`
	Gres         string   `json:"gres"`
}

// node is what is planned with, and how many CPUs one core has.
type node struct {
	plan.Node
	threads int
}

func parseNodes(text []byte) (nodes []node, err error) {
	_, err = records(text, "nodes", maxNodes, func(r *nodeRecord) error {
		n, err := r.node()
		if err == nil {
			nodes = append(nodes, n)
		}
		return err
	})
	return nodes, err
}

func (r *nodeRecord) node() (node, error) {
	if r.Name == nil || r.State == nil || r.CPUs == nil || r.Memory == nil {
		return node{}, fmt.Errorf("a node without one of name, state, cpus, real_memory")
	}
	threads := max(1, value(r.Threads))
	switch {
	case *r.Name == "" || len(*r.Name) > maxName:
		return node{}, fmt.Errorf("a node's name of %d characters", len(*r.Name))
	case *r.CPUs < 1 || *r.CPUs > 1<<16 || threads > 1<<10 || *r.Memory < 0 || *r.Memory > 1<<40:
		return node{}, fmt.Errorf("node %s has %d CPUs with %d threads and %d MiB", *r.Name, *r.CPUs, threads, *r.Memory)
	case len(r.Features) > maxText:
		return node{}, fmt.Errorf("node %s has features of %d characters", *r.Name, len(r.Features))
	}
	takes, known := nodeStates[strings.ToLower(*r.State)]
	if !known {
		return node{}, fmt.Errorf("%.40q is no state of a node", *r.State)
	}
	for _, flag := range r.Flags {
		may, known := nodeFlags[flag]
		if !known {
			return node{}, fmt.Errorf("%.40q is no flag of a node's state", flag)
		}
		takes = takes && may
	}
	resources, err := gres(r.Gres)
	if err != nil {
		return node{}, fmt.Errorf("node %s: %w", *r.Name, err)
	}
	return node{plan.Node{
		Name: grid.NodeName(*r.Name), Cores: int(*r.CPUs), Memory: *r.Memory << 20, Resources: resources, Down: !takes,
		Architecture: architecture(r.Architecture), System: system(r.System), Properties: features(r.Features),
	}, int(threads)}, nil
}

// architecture is JSDL's word; "" where the node has never said it.
func architecture(word *string) string {
	switch {
	case word == nil || *word == "" || *word == "(null)":
		return ""
	case *word == "x86_64" || *word == "ia64":
		return *word
	case len(*word) == 4 && strings.HasPrefix(*word, "i") && strings.HasSuffix(*word, "86"):
		return "x86_32"
	case strings.HasPrefix(*word, "ppc"):
		return "powerpc"
	case strings.HasPrefix(*word, "aarch64"), strings.HasPrefix(*word, "arm"):
		return "arm"
	}
	return "other"
}

func system(text *string) string {
	if text == nil || *text == "" || *text == "(null)" {
		return ""
	}
	if strings.HasPrefix(*text, "Linux ") {
		return "LINUX"
	}
	return "other"
}

func features(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' })
}
