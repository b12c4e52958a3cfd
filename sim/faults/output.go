package faults

import (
	"slices"

	"gbroker/grid"
)

// hasOutput checks S5 of what a program left: it is at home when its user is told of the end,
// unless the site that ran it, or its home, has lost since then what it wrote of it.
func (t *truth) hasOutput(s *site, f *fact, r *grid.Record) {
	if l := s.disk.folders[f.id]; l != nil && l.outputs {
		return
	}
	for _, st := range f.starts {
		since := func(s *site) bool {
			return slices.ContainsFunc(f.wrote[s], func(at grid.Tick) bool {
				return at >= st.at && slices.ContainsFunc(s.lapses, func(l lapse) bool { return l.covers(at) })
			})
		}
		if of := st.id.Epoch == r.Epoch || st.id.Epoch == r.Adopted; of && (since(st.where) || since(s)) {
			return
		}
	}
	s.w.violate("S5", f.id, "%s is told to be %s, and its output is not here: %s", f.id, r.State, r.Reason)
}
