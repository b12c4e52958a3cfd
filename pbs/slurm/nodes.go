package slurm

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strings"

	"gbroker/grid"
	"gbroker/pbs/external"
	"gbroker/plan"
)

// nodeRecord is a node of sinfo --json, as far as it is read.
type nodeRecord struct {
	Name         *string `json:"name"`
	State        *string `json:"state"`
	Flags        flags   `json:"state_flags"`
	CPUs         amount  `json:"cpus"`
	Threads      amount  `json:"threads"`
	Memory       amount  `json:"real_memory"` // MiB
	Architecture *string `json:"architecture"`
	System       *string `json:"operating_system"`
	Features     string  `json:"active_features"`
	Gres         string  `json:"gres"`
}

// flags tells whether all flags of a state let a node take jobs; unknown is the first that is not known.
type flags struct {
	closed  bool
	unknown string
}

// UnmarshalJSON judges one flag after the other.
func (f *flags) UnmarshalJSON(text []byte) error {
	dec := json.NewDecoder(bytes.NewReader(text))
	return members(dec, len(nodeFlags), func(flag *string) error {
		may, known := nodeFlags[*flag]
		if !known {
			f.unknown = cmp.Or(f.unknown, fmt.Sprintf("%.40q", *flag))
		}
		f.closed = f.closed || !may
		return nil
	})
}

// node is what is planned with, and how many CPUs one core has.
type node struct {
	plan.Node
	threads int
	unread  error // why it cannot be read: it is down then
}

func parseNodes(text []byte) (nodes []node, err error) {
	nodes = make([]node, 0, room(text, `"real_memory"`, 50))
	all, odd := bytes.Count(text, []byte(`"real_memory"`)), 0
	_, err = records(text, "nodes", maxNodes, func(r *nodeRecord) error {
		if err := r.form(); err != nil {
			return err
		}
		n, err := r.node()
		if err != nil {
			odd++
			n = node{Node: plan.Node{Name: grid.NodeName(*r.Name), Down: true}, threads: 1, unread: err}
			err = external.Misread(odd, all, err)
		}
		nodes = append(nodes, n)
		return err
	})
	return nodes, err
}

// form says why a record is none of a node: it is of another version, and nothing is known then.
func (r *nodeRecord) form() error {
	if r.Name == nil || r.State == nil || !r.CPUs.there || !r.Memory.there {
		return fmt.Errorf("a node without one of name, state, cpus, real_memory")
	}
	if *r.Name == "" || len(*r.Name) > maxName {
		return fmt.Errorf("a node's name of %d characters", len(*r.Name))
	}
	return nil
}

func (r *nodeRecord) node() (node, error) {
	threads := max(1, r.Threads.n)
	switch {
	case r.CPUs.n < 1 || r.CPUs.n > 1<<16 || threads > 1<<10 || r.Memory.n < 0 || r.Memory.n > 1<<40:
		return node{}, fmt.Errorf("it has %d CPUs with %d threads and %d MiB", r.CPUs.n, threads, r.Memory.n)
	case len(r.Features) > maxText:
		return node{}, fmt.Errorf("it has features of %d characters", len(r.Features))
	case r.Flags.unknown != "":
		return node{}, fmt.Errorf("%s is no flag of a node's state", r.Flags.unknown)
	}
	takes, known := nodeStates[strings.ToLower(*r.State)]
	if !known {
		return node{}, fmt.Errorf("%.40q is no state of a node", *r.State)
	}
	resources, err := gres(r.Gres)
	if err != nil {
		return node{}, err
	}
	return node{Node: plan.Node{
		Name: grid.NodeName(*r.Name), Cores: int(r.CPUs.n), Memory: r.Memory.n << 20, Resources: resources, Down: !takes || r.Flags.closed,
		Architecture: architecture(r.Architecture), System: system(r.System), Properties: features(r.Features),
	}, threads: int(threads)}, nil
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
