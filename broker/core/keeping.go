package core

import "gbroker/grid"

// keeping is why a job of this home is not to be started, nor a place searched for it, yet.
type keeping uint8

const (
	notKept       keeping = iota
	untilFiles            // of others of its group have come
	untilAltered          // it is its new version everywhere
	untilReleased         // by its user
	untilInstant          // before which it is not to start
	untilOthers           // that it depends on
	untilChosen           // are the sites of a co-allocated job
)

// because is what the user of the job is told of it.
func (k keeping) because(r *grid.Record) string {
	t := &r.Job.Terms
	switch k {
	case notKept:
		return ""
	case untilFiles:
		return "it waits for the files of other jobs of its group"
	case untilAltered:
		return "it is altered: " + r.Altered.String()
	case untilReleased:
		return "held by its user until it is released"
	case untilInstant:
		return "not to start before " + t.NotBefore.Stamp()
	case untilOthers:
		return waitsFor(t.After)
	case untilChosen:
		return "its sites are being chosen"
	}
	panic("core: nothing keeps a job back so")
}
