package line

import (
	"maps"
	"slices"

	"gbroker/grid"
)

// Named are the named resources of a computer, by their names.
func (c *Computer) Named() (list []grid.Resource) {
	for _, name := range slices.Sorted(maps.Keys(c.Resources)) {
		list = append(list, grid.Resource{Name: name, Amount: c.Resources[name]})
	}
	return list
}

// ID is the attempt of an assignment.
func (a *Assignment) ID() grid.AttemptID {
	return grid.AttemptID{Job: grid.JobID(a.Job), Epoch: grid.Epoch{Term: a.Term, Hop: a.Hop}, Attempt: a.Number}
}
