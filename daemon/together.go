package daemon

import (
	"fmt"
	"slices"
	"strings"

	"gbroker/broker/core"
	"gbroker/grid"
	"gbroker/plan"
)

// sized is a site that a job may go to, by what it declares; no processes are not known yet.
type sized struct {
	name      grid.SiteName
	processes int
	peer      grid.PeerID
	facts     grid.Site
}

// sizes are those of this site and of all that it may send jobs to.
func (s *site) sizes() []sized {
	own := s.factsNow()
	list := []sized{{own.Name, own.Processes, s.self, own}}
	for _, m := range s.memberList() {
		if facts, _ := s.factsOf(m.Peer); m.Send {
			list = append(list, sized{m.Name, facts.Processes, m.Peer, facts})
		}
	}
	return list
}

// worldsApart says why the parts of a parallel program that are to reach each other would not: only MPICH and Open MPI start
// one program over several sites; what others start within a site is told a place to meet, and no more. nil is that they may.
func worldsApart(j *grid.Job) error {
	kind := strings.ToLower(j.Program.Parallel)
	if !j.Coallocation.Reach || kind == "" || kind == "mpi" || strings.HasPrefix(kind, "mpich") || kind == "openmpi" || kind == "open-mpi" {
		return nil
	}
	return fmt.Errorf("its parts are to reach each other, and %s starts no program over several sites, only MPICH and Open MPI do: each part would have a world of its own", j.Program.Parallel)
}

// tooWide says why no sites that are known have together what a job over several sites asks for; nil where they may.
func tooWide(j *grid.Job, known []sized) error {
	var of []sized
	for _, s := range known {
		c := &j.Sites
		switch {
		case len(c.Only) > 0 && !slices.Contains(c.Only, s.name) || slices.Contains(c.Not, s.name):
		case s.processes == 0: // it may be large
			return nil
		default:
			of = append(of, s)
		}
	}
	slices.SortStableFunc(of, func(a, b sized) int { return b.processes - a.processes })
	most, least := j.Coallocation.Sites, j.Coallocation.PerSite
	asked, all := j.Demand.Cores(), together(of, most)
	switch several := severally(of, j.Demand.Processes(), most, least); {
	case asked > all:
		return fmt.Errorf("it asks for %d processors, and the %d largest sites that it may have (at most %d) have %d together", asked, min(len(of), most), most, all)
	case asked > max(several, together(of, 1)):
		return fmt.Errorf("it asks for %d processors and for %d processes or more at each of its sites: the largest site has %d, and those that can have so many each, no more than %d of them, have %d together",
			asked, least, together(of, 1), min(most, j.Demand.Processes()/least), several)
	case j.Coallocation.Reach:
		return apart(of, asked, most)
	}
	return nil
}

// severally is what sites have together of which each has at least so many processes of a job.
func severally(of []sized, processes, most, least int) int {
	small := slices.IndexFunc(of, func(s sized) bool { return s.processes < least })
	if small >= 0 {
		of = of[:small]
	}
	return together(of, min(most, processes/least))
}

// together is what the first of some sites have, from the largest on.
func together(of []sized, most int) (all int) {
	for _, s := range of[:min(len(of), most)] {
		all += s.processes
	}
	return all
}

// apart says why no sites whose nodes reach each other have so many processors; nil where they may.
func apart(of []sized, asked, most int) error {
	sets, complete := plan.Meetings(len(of), func(a, b int) bool { return of[a].facts.Reaches(of[b].peer, of[b].name) })
	best := of[:min(len(of), 1)]
	for _, set := range sets {
		var meet []sized
		for _, i := range set {
			meet = append(meet, of[i])
		}
		if together(meet, most) > together(best, most) {
			best = meet[:min(len(meet), most)]
		}
	}
	have := together(best, most)
	if asked <= have || !complete {
		return nil
	}
	var names []string
	for _, s := range best {
		names = append(names, string(s.name))
	}
	return fmt.Errorf("its parts are to reach each other, and it asks for %d processors: of the sites whose nodes do (batch.reach, at each of them) no more than %d are together, at %s", asked, have, strings.Join(names, " and "))
}

// reachPeers are this site and those that it declares to reach, as far as they are its neighbours; none where it declares none.
func reachPeers(self grid.PeerID, reach []grid.SiteName, members []grid.Member) (list []grid.PeerID) {
	if len(reach) == 0 {
		return nil
	}
	list = []grid.PeerID{self}
	for _, m := range members {
		if slices.Contains(reach, m.Name) {
			list = append(list, m.Peer)
		}
	}
	slices.Sort(list)
	return list
}

// takeReach has the neighbours hear who the sites are that this one declares to reach.
func (s *site) takeReach(members []grid.Member) {
	s.mu.Lock()
	before := s.facts
	s.facts.ReachPeers = reachPeers(s.self, s.facts.Reach, members)
	facts := s.facts
	s.mu.Unlock()
	if !before.Same(facts) {
		s.broker.Post(core.OwnSite{Site: facts})
	}
}

// reachNames are the sites that another declares to reach, as they are called here; those that are not known here are left out.
func (s *site) reachNames(p grid.PeerID, facts grid.Site) []grid.SiteName {
	if len(facts.ReachPeers) == 0 {
		return facts.Reach
	}
	var list []grid.SiteName
	for _, other := range facts.ReachPeers {
		if m, known := s.member(other); other != p && known {
			list = append(list, m.Name)
		} else if other == s.self {
			list = append(list, s.facts.Name)
		}
	}
	slices.Sort(list)
	return list
}
