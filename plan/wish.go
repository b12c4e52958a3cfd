package plan

import (
	"cmp"
	"slices"

	"gbroker/grid"
)

// wish is whom a scan of the queue looks for: stairs that fall, for who runs longer
// may have no more. The first tread is from 0 on.
type wish []tread

// tread is that who runs for at least from may have at most cores.
type tread struct {
	from  grid.Tick
	cores int64
}

// mostTreads bounds a wish: each look at a job goes through it.
const mostTreads = 16

var anybody = tread{0, hasLeft - 1}

func (w wish) grants(b bound) bool { return b.cores <= w.tread(b.limit).cores }

// tread is that on which a limit stands.
func (w wish) tread(limit grid.Tick) tread {
	i := len(w) - 1
	for w[i].from > limit {
		i--
	}
	return w[i]
}

// lower grants at most cores, fewer than before, from a limit on. A wish of mostTreads
// may stay as it is.
func (w wish) lower(from grid.Tick, cores int64) wish {
	i := 0
	for i < len(w) && w[i].from < from {
		i++
	}
	j := i
	for j < len(w) && w[j].cores >= cores {
		j++
	}
	if i == j && len(w) == mostTreads {
		return w
	}
	return slices.Replace(w, i, j, tread{from, cores})
}

// wish is who may start now. Where no reservation begins, a job that runs longer finds
// as much, so that there is a tread for each that begins.
func (e *schedule) wish() wish {
	w := append(e.wished[:0], tread{0, e.total})
	if e.one.taken {
		w = append(w, tread{e.one.shadow - e.now + 1, e.total - e.lostToHead()})
	}
	if kept := e.kept.due; len(kept) < mostTreads {
		for _, d := range kept {
			w = append(w, tread{d.at - e.now + 1, e.profile.at(d.at)})
		}
		slices.SortFunc(w, func(a, b tread) int { return cmp.Compare(a.from, b.from) })
	}
	for i := 1; i < len(w); i++ {
		w[i].cores = min(w[i].cores, w[i-1].cores)
	}
	e.wished = w
	return w
}

// even tells whether the wish has a tread for each reservation that begins.
func (e *schedule) even() bool { return e.fixedAhead == 0 && len(e.kept.due) < mostTreads }
