package workflow

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"gbroker/flow"
	"gbroker/grid"
)

// Configuration is one way to run a task: what it needs, and how long it then takes. In a file it is one of `configurations`, and what it does
// not say is as the task says it.
type Configuration struct {
	Name      string
	Cores     int   // 0 is not said
	Memory    int64 // bytes
	Resources []grid.Resource
	Runtime   time.Duration // about, at speed 1
	Walltime  time.Duration
	// Shape is a word for all that it asks of a site; "" is that no site was asked about it.
	Shape string
}

// Memory is the name of memory where amounts go by names: no named resource has it.
const Memory = "memory"

// Bounds of configurations.
const (
	MaxConfigurations = 8
	MaxResources      = 4 // names of resources in a workflow
)

// Ways are the configurations of a task: one of what the task itself says, where it has none.
func (t *Task) Ways() []Configuration {
	own := Configuration{Cores: t.Cores, Memory: t.Memory, Resources: t.Resources, Runtime: t.Runtime, Walltime: t.Walltime}
	if len(t.Configurations) == 0 {
		return []Configuration{own}
	}
	ways := slices.Clone(t.Configurations)
	for i := range ways {
		c := &ways[i]
		c.Cores, c.Memory = cmp.Or(c.Cores, own.Cores), cmp.Or(c.Memory, own.Memory)
		c.Runtime, c.Walltime = cmp.Or(c.Runtime, own.Runtime), cmp.Or(c.Walltime, own.Walltime)
		if c.Resources == nil {
			c.Resources = own.Resources
		}
	}
	return ways
}

// Expected is how long it runs on a machine of speed 1, as far as it says.
func (c *Configuration) Expected() time.Duration {
	return cmp.Or(c.Runtime, c.Walltime, defaultRuntime)
}

// amount is how much of a resource, or of memory, it needs.
func (c *Configuration) amount(name string) int64 {
	if name == Memory {
		return c.Memory
	}
	if i := slices.IndexFunc(c.Resources, func(r grid.Resource) bool { return r.Name == name }); i >= 0 {
		return c.Resources[i].Amount
	}
	return 0
}

// needs are its amounts of cores, and of others by their names. It needs no more memory than a place is known to have: of more only those are asked
// about that are [Place.Refuses].
func (c *Configuration) needs(names []string, places []Place) []int64 {
	list := []int64{int64(max(c.Cores, 1))}
	for _, name := range names {
		n := c.amount(name)
		if name == Memory && n > 0 {
			most := int64(0)
			for i := range places {
				most = max(most, int64(places[i].has(Memory).Most))
			}
			n = min(n, most)
		}
		list = append(list, n)
	}
	return list
}

// refuses tells that it never runs a configuration, as it has said.
func (p *Place) refuses(c *Configuration) bool {
	return c.Shape != "" && slices.Contains(p.Refuses, c.Shape)
}

// takes tells that it does not refuse a configuration, and has what that needs.
func (p *Place) takes(c *Configuration) bool {
	lacks := func(r grid.Resource) bool { return r.Amount > int64(p.has(r.Name).Most) }
	return !p.refuses(c) && c.Cores <= p.Cores && !slices.ContainsFunc(c.Resources, lacks)
}

// homeless tells that no place takes a task in any way: it may be had at a site that is not known yet, and is planned as if nobody refused it.
func homeless(ways []Configuration, places []Place) bool {
	for i := range ways {
		if slices.ContainsFunc(places, func(p Place) bool { return p.takes(&ways[i]) }) {
			return false
		}
	}
	return true
}

// checkWays says what makes no sense of the ways to run a task.
func (t *Task) checkWays() error {
	if len(t.Configurations) > MaxConfigurations {
		return fmt.Errorf("task %s has %d configurations: at most %d", t.Name, len(t.Configurations), MaxConfigurations)
	}
	var names []string
	for _, c := range t.Configurations {
		names = append(names, c.Name)
	}
	if err := CheckNames(names); err != nil {
		return fmt.Errorf("task %s: %w", t.Name, err)
	}
	for _, c := range t.Ways() {
		if c.Cores < 0 || c.Memory < 0 || c.Runtime < 0 || c.Walltime < 0 {
			return fmt.Errorf("task %s asks for less than nothing", t.Name)
		}
		if err := grid.CheckResources(c.Resources); err != nil {
			return fmt.Errorf("task %s: %w", t.Name, err)
		}
	}
	return nil
}

// CheckNames says what is wrong with the names of the configurations of a task.
func CheckNames(names []string) error {
	for i, name := range names {
		if name == "" || slices.Contains(names[:i], name) || len(name) > 64 || strings.IndexFunc(name, strange) >= 0 {
			return fmt.Errorf("the name of configuration %d, %.80q, is that of another, or not of 1 to 64 letters, digits and .-_", i+1, name)
		}
	}
	return nil
}

func strange(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune(".-_", r))
}

// Amounts are the names of what tasks need beside cores: named resources, and [Memory].
func (w *Workflow) Amounts() []string {
	var memory []string
	for i := range w.Tasks {
		if slices.ContainsFunc(w.Tasks[i].Ways(), func(c Configuration) bool { return c.Memory > 0 }) {
			memory = []string{Memory}
			break
		}
	}
	return append(w.Resources(), memory...)
}

// Resources are the names of those that have one.
func (w *Workflow) Resources() (names []string) {
	for i := range w.Tasks {
		for _, c := range w.Tasks[i].Ways() {
			for _, r := range c.Resources {
				names = append(names, r.Name)
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// checkResources bounds them: a plan has an amount of each for each configuration.
func (w *Workflow) checkResources() error {
	if names := w.Resources(); len(names) > MaxResources {
		return fmt.Errorf("its tasks need resources of %d names: at most %d", len(names), MaxResources)
	}
	return nil
}

// Amount is what a place has of a named resource, or of memory in bytes.
type Amount struct {
	Name     string    `json:"name"`
	Most     int       `json:"most"`               // that is known to be there
	Openings []Opening `json:"openings,omitempty"` // when so many of it can be had; Cores is how many
	Lacks    int       `json:"-"`                  // the least that is known not to be there; 0 is that none is
}

// AtMost are the places with as much of some resources as they may have, by what they have said.
func AtMost(places []Place, names []string) []Place {
	places = slices.Clone(places)
	for i := range places {
		var amounts []Amount
		for _, name := range names {
			a := places[i].has(name)
			a.Most = max(a.Most, cmp.Or(a.Lacks, unbounded+1)-1)
			amounts = append(amounts, a)
		}
		places[i].Amounts = amounts
	}
	return places
}

// has is what a place has of a resource.
func (p *Place) has(name string) Amount {
	if i := slices.IndexFunc(p.Amounts, func(a Amount) bool { return a.Name == name }); i >= 0 {
		return p.Amounts[i]
	}
	if name == Memory { // it has not said
		return Amount{Name: name, Most: unbounded}
	}
	return Amount{Name: name}
}

// unbounded is more of anything than a plan needs.
const unbounded = int(flow.MaxAmount)
