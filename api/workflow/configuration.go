package workflow

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

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
	return cmp.Or(c.Runtime, c.Walltime, DefaultRuntime)
}

// amount is how much of a resource it needs.
func (c *Configuration) amount(name string) int64 {
	if i := slices.IndexFunc(c.Resources, func(r grid.Resource) bool { return r.Name == name }); i >= 0 {
		return c.Resources[i].Amount
	}
	return 0
}

// needs are its amounts of cores, and of resources by their names.
func (c *Configuration) needs(names []string) []int64 {
	list := []int64{int64(max(c.Cores, 1))}
	for _, name := range names {
		list = append(list, c.amount(name))
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

// Resources are the names of what tasks need beside cores and memory.
func (w *Workflow) Resources() (names []string) {
	for _, r := range w.Needs() {
		names = append(names, r.Name)
	}
	return slices.Compact(names)
}

// checkResources bounds them: a plan has an amount of each for each configuration.
func (w *Workflow) checkResources() error {
	if names := w.Resources(); len(names) > MaxResources {
		return fmt.Errorf("its tasks need resources of %d names: at most %d", len(names), MaxResources)
	}
	return nil
}

// Needs are the amounts of named resources that tasks need, by name and amount, each once.
func (w *Workflow) Needs() (list []grid.Resource) {
	for i := range w.Tasks {
		for _, c := range w.Tasks[i].Ways() {
			list = append(list, c.Resources...)
		}
	}
	slices.SortFunc(list, func(a, b grid.Resource) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), cmp.Compare(a.Amount, b.Amount))
	})
	return slices.Compact(list)
}

// Amount is what a place has of a named resource.
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
			a.Most = max(a.Most, cmp.Or(a.Lacks, grid.MaxProcesses+1)-1)
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
	return Amount{Name: name}
}
