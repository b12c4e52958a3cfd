package openpbs

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gbroker/grid"
	"gbroker/pbs/external"
)

// maxKinds is how many kinds of chunks of one job are told apart; further ones count as the last.
const maxKinds = 16

// words translates the names of resources.
type words struct {
	theirs map[string]string // by our name
	ours   map[string]string // by theirs
}

func newWords(renamed map[string]string) (words, error) {
	w := words{theirs: renamed, ours: map[string]string{}}
	for our, their := range renamed {
		if err := grid.CheckLabel(our); err != nil {
			return w, fmt.Errorf("resources: %w", err)
		}
		if !isWord(their) || w.ours[their] != "" {
			return w, fmt.Errorf("resources: %s is OpenPBS's %q, which is no name or stands twice", our, their)
		}
		w.ours[their] = our
	}
	return w, nil
}

func (w words) our(name string) string   { return cmp.Or(w.ours[name], name) }
func (w words) their(name string) string { return cmp.Or(w.theirs[name], name) }

// builtin are resources that are no one's to ask for by name.
var builtin = []string{"ncpus", "mem", "mpiprocs", "vmem", "ompthreads", "arch", "vnode", "pcpus", "cput", "pmem", "pvmem", "naccelerators", "accelerator", "accelerator_memory", "hbmem"}

// split cuts at a byte outside of quotes.
func split(text string, sep byte, each func(part string) error) error {
	from, quote := 0, byte(0)
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == sep:
			if err := each(text[from:i]); err != nil {
				return err
			}
			from = i + 1
		}
	}
	if quote != 0 {
		return errors.New("a quote is not closed")
	}
	return each(text[from:])
}

// demand reads select and place. Users choose the numbers: those beyond all bounds become the
// greatest, so that nobody can make the listing unreadable for others.
func (w words) demand(text, place string) (grid.Demand, error) {
	d := grid.Demand{Exclusive: strings.Contains(place, "excl"), DistinctNodes: strings.Contains(place, "scatter")}
	d.Chunks = make([]grid.Chunk, 0, min(strings.Count(text, "+")+1, maxKinds))
	kind := 0
	err := split(text, '+', func(part string) error {
		c, properties, err := w.chunk(part)
		if err != nil {
			return err
		}
		if kind++; kind == 1 {
			d.Properties = properties
		} else {
			d.Properties = slices.DeleteFunc(d.Properties, func(p string) bool { return !slices.Contains(properties, p) })
		}
		d.Chunks = add(d.Chunks, c)
		return nil
	})
	return d, err
}

// add appends a chunk, or counts it with the last where they are of one kind.
func add(list []grid.Chunk, c grid.Chunk) []grid.Chunk {
	if n := len(list); n > 0 {
		last := &list[n-1]
		same := last.Cores == c.Cores && last.Processes == c.Processes && last.Memory == c.Memory && slices.Equal(last.Resources, c.Resources)
		if same || n == maxKinds {
			last.Count = min(last.Count+c.Count, grid.MaxProcesses)
			last.Cores, last.Processes, last.Memory = max(last.Cores, c.Cores), max(last.Processes, c.Processes), max(last.Memory, c.Memory)
			return list
		}
	}
	return append(list, c)
}

// chunk reads N:ncpus=2:mem=1gb:bigmem=True.
func (w words) chunk(text string) (grid.Chunk, []string, error) {
	c := grid.Chunk{Count: 1, Processes: 1, Cores: 1}
	var properties []string
	first := true
	err := split(text, ':', func(part string) error {
		name, val, is := strings.Cut(part, "=")
		if !is {
			if !first {
				return fmt.Errorf("%.60q is no resource=value", part)
			}
			first = false
			n, err := clamped(part, grid.MaxProcesses)
			c.Count = int(max(n, 1))
			return err
		}
		first = false
		if p := w.ask(&c, name, strings.Trim(val, `"'`)); p != "" && len(properties) < grid.MaxProperties && !slices.Contains(properties, p) {
			properties = append(properties, p)
		}
		return nil
	})
	return c, properties, err
}

// ask adds one resource to a chunk, or tells the property that it is.
func (w words) ask(c *grid.Chunk, name, val string) string {
	if !isNumber(val) {
		if name == "mem" && isSize(val) {
			bytes, _ := size(val)
			c.Memory = min(bytes, grid.MaxMemory)
		}
		return property(name, val)
	}
	n, _ := clamped(val, grid.MaxAmount)
	switch name {
	case "ncpus":
		c.Cores = int(min(n, grid.MaxProcesses))
	case "mpiprocs":
		c.Processes = int(min(n, grid.MaxProcesses))
	case "mem":
		c.Memory = n
	default:
		r := grid.Resource{Name: w.our(name), Amount: n}
		if !slices.Contains(builtin, name) && len(c.Resources) < grid.MaxResources && grid.CheckResource(r) == nil {
			c.Resources = append(c.Resources, r)
		}
	}
	return ""
}

func isNumber(text string) bool { return text != "" && strings.Trim(text, "0123456789") == "" }

// isSize tells 512mb from names.
func isSize(text string) bool {
	unit := strings.ToLower(strings.TrimLeft(text, "0123456789"))
	_, known := units[strings.TrimSuffix(unit, "w")]
	return known && len(unit) < len(text)
}

// property is what a boolean or a text is called; "" is not a property.
func property(name, val string) string {
	if isSize(val) || slices.Contains(builtin, name) {
		return ""
	}
	switch strings.ToLower(val) {
	case "true", "t", "y":
		val = ""
	case "false", "f", "n":
		return ""
	default:
		name += ":" + val
	}
	if grid.CheckLabel(name) != nil {
		return ""
	}
	return name
}

// places reads exec_vnode: one pair of brackets for each chunk of the demand.
func (w words) places(text string, d grid.Demand) ([]external.Place, error) {
	if len(text) == 0 {
		return nil, nil
	}
	list := make([]external.Place, 0, strings.Count(text, "+")+1)
	inside, group := false, 0
	err := split(text, '+', func(part string) error {
		opens, closes := strings.HasPrefix(part, "("), strings.HasSuffix(part, ")")
		if opens == inside {
			return fmt.Errorf("brackets do not pair at %.60q", part)
		}
		inside = !closes
		p, err := w.portion(strings.TrimSuffix(strings.TrimPrefix(part, "("), ")"))
		if err != nil {
			return err
		}
		if opens {
			p.Processes = processes(d, group)
			group++
		}
		list = append(list, p)
		return nil
	})
	if err == nil && inside {
		err = errors.New("a bracket is not closed")
	}
	return joined(list), err
}

// portion reads n01:ncpus=2:mem=524288kb.
func (w words) portion(text string) (external.Place, error) {
	var p external.Place
	var c grid.Chunk
	err := split(text, ':', func(part string) error {
		name, val, is := strings.Cut(part, "=")
		switch {
		case p.Node == "" && !is && isWord(part):
			p.Node = grid.NodeName(part)
		case p.Node == "" || !is:
			return fmt.Errorf("%.60q in the place of node or resource=amount", part)
		default:
			w.ask(&c, name, val)
		}
		return nil
	})
	p.Cores, p.Memory, p.Resources = c.Cores, c.Memory, c.Resources
	return p, err
}

// processes is how many of them the chunk at this place in a demand has.
func processes(d grid.Demand, group int) int {
	for _, c := range d.Chunks {
		if group < c.Count {
			return c.Processes
		}
		group -= c.Count
	}
	return 1
}

// joined adds up what lies on one node.
func joined(list []external.Place) []external.Place {
	slices.SortStableFunc(list, func(a, b external.Place) int { return cmp.Compare(a.Node, b.Node) })
	out := list[:0]
	for _, p := range list {
		if n := len(out); n > 0 && out[n-1].Node == p.Node {
			last := &out[n-1]
			last.Processes += p.Processes
			last.Cores += p.Cores
			last.Memory += p.Memory
			last.Resources = sum(last.Resources, p.Resources)
			continue
		}
		out = append(out, p)
	}
	return out
}

// sum adds resources by their names.
func sum(to, more []grid.Resource) []grid.Resource {
	for _, r := range more {
		if i := slices.IndexFunc(to, func(o grid.Resource) bool { return o.Name == r.Name }); i >= 0 {
			to[i].Amount += r.Amount
		} else {
			to = append(to, r)
		}
	}
	return to
}

// selection writes the chunks of a demand as qsub takes them, and where they may lie.
func (w words) selection(d grid.Demand) (chunks, place string, err error) {
	if len(d.Chunks) == 0 {
		return "", "", fmt.Errorf("%w: the job asks for nothing", grid.ErrInvalid)
	}
	var properties string
	for _, p := range d.Properties {
		if err := grid.CheckLabel(p); err != nil {
			return "", "", fmt.Errorf("%w: a property: %w", grid.ErrInvalid, err)
		}
		name, val, text := strings.Cut(p, ":")
		if !text {
			val = "True"
		}
		if !isWord(name) || !isWord(val) {
			return "", "", fmt.Errorf("%w: the property %q is neither a boolean of OpenPBS nor NAME:VALUE", grid.ErrInvalid, p)
		}
		properties += ":" + name + "=" + val
	}
	var parts []string
	for _, c := range d.Chunks {
		part := fmt.Sprintf("%d:ncpus=%d:mpiprocs=%d", c.Count, c.Cores, c.Processes)
		if c.Memory > 0 {
			part += ":mem=" + strconv.FormatInt((c.Memory+1023)/1024, 10) + "kb"
		}
		for _, r := range c.Resources {
			name := w.their(r.Name)
			if !isWord(name) {
				return "", "", fmt.Errorf("%w: OpenPBS can have no resource called %q: give it another name there, and say so under resources", grid.ErrInvalid, name)
			}
			part += ":" + name + "=" + strconv.FormatInt(r.Amount, 10)
		}
		parts = append(parts, part+properties)
	}
	place = "free"
	if d.DistinctNodes {
		place = "scatter"
	}
	if d.Exclusive {
		place += ":excl"
	}
	return strings.Join(parts, "+"), place, nil
}
