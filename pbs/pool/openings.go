package pool

import (
	"slices"
	"time"

	"gbroker/grid"
	"gbroker/plan"
)

// openings are the computers that may be had at one look. Who asks for the same is told the same list: a queue is long, and a pool is large.
type openings struct {
	computers []*computer
	kept      []turn
	lists     map[opening][]string
}

// turn is a computer with the job for which it is kept.
type turn struct {
	computer *computer
	of       *entry
}

// opening is all of a job that decides which computers it may have.
type opening struct {
	user    string
	network bool
	disk    int64
	older   int // of those for whom computers are kept, how many are no younger
}

func openingsOf(computers []*computer, kept map[*computer]*entry) *openings {
	o := &openings{computers: computers, lists: map[opening][]string{}}
	for c, e := range kept {
		o.kept = append(o.kept, turn{c, e})
	}
	slices.SortFunc(o.kept, func(a, b turn) int { return a.of.rank(b.of) })
	return o
}

// narrow is the demand of a job as one piece, on the computers that it may have now; s.mu is held.
func (o *openings) narrow(e *entry) grid.Demand {
	d, may := e.whole(), o.may(e)
	if now := time.Now(); len(e.refusals) > 0 {
		may = slices.DeleteFunc(slices.Clone(may), func(name string) bool { return e.refusals[name].After(now) })
	}
	return onlyOn(d, may, len(o.computers))
}

// may are the names of the computers that a job may have now. The list is not to be changed.
func (o *openings) may(e *entry) []string {
	older, _ := slices.BinarySearchFunc(o.kept, e, func(k turn, e *entry) int {
		if k.of.rank(e) <= 0 {
			return -1
		}
		return 1
	})
	key := opening{e.Assignment.Owner, e.Assignment.Network, e.Demand.Disk, older}
	list, known := o.lists[key]
	if !known {
		barred := map[*computer]bool{}
		for _, k := range o.kept {
			barred[k.computer] = !k.lets(e)
		}
		for _, c := range o.computers {
			if c.admits(e) && c.alone(e) && !barred[c] {
				list = append(list, c.name)
			}
		}
		o.lists[key] = list
	}
	return list
}

// lets tells that a computer which is kept may be had by a job all the same: it is of the same user, or older.
func (t turn) lets(e *entry) bool {
	return t.of.Assignment.Owner == e.Assignment.Owner || e.rank(t.of) < 0
}

// onlyOn is a demand that is narrowed to some of so many computers. The list may be that of others.
func onlyOn(d grid.Demand, may []string, all int) grid.Demand {
	if len(may) == all {
		return d
	}
	if len(d.Hosts) > 0 {
		may = slices.DeleteFunc(slices.Clone(may), func(name string) bool {
			n := plan.Node{Name: grid.NodeName(name)}
			return !slices.ContainsFunc(d.Hosts, n.Called)
		})
	}
	if len(may) == 0 {
		may = []string{"-"} // no computer's name
	}
	d.Hosts = may
	return d
}
