package daemon

import (
	"fmt"
	"slices"

	"gbroker/grid"
)

// sized is a site that a job may go to, by what it declares; no processes are not known yet.
type sized struct {
	name      grid.SiteName
	processes int
}

// sizes are those of this site and of all that it may send jobs to.
func (s *site) sizes() []sized {
	list := []sized{{s.facts.Name, s.factsNow().Processes}}
	for _, m := range s.memberList() {
		if facts, _ := s.factsOf(m.Peer); m.Send {
			list = append(list, sized{m.Name, facts.Processes})
		}
	}
	return list
}

// tooWide says why no sites that are known have together what a job over several sites asks for; "" where they may.
func tooWide(j *grid.Job, known []sized) string {
	var of []int
	for _, s := range known {
		c := &j.Sites
		switch {
		case len(c.Only) > 0 && !slices.Contains(c.Only, s.name) || slices.Contains(c.Not, s.name):
		case s.processes == 0: // it may be large
			return ""
		default:
			of = append(of, s.processes)
		}
	}
	slices.Sort(of)
	slices.Reverse(of)
	of = of[:min(len(of), j.Coallocation.Sites)]
	all := 0
	for _, n := range of {
		all += n
	}
	if asked := j.Demand.Cores(); asked > all {
		return fmt.Sprintf("it asks for %d processors, and the %d largest sites that it may have (at most %d) have %d together", asked, len(of), j.Coallocation.Sites, all)
	}
	return ""
}
