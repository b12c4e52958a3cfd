package grid

import (
	"fmt"
	"slices"
)

// Coallocation lets a job have nodes at several sites for one interval, where no single site has them, or
// would only much later. It is the home's business: who has the whole job keeps it for a home that has to learn the job again.
type Coallocation struct {
	Sites   int  // at most so many
	PerSite int  // at least so many processes at each
	Early   bool // it may start before its time, when all parts have arrived
	Survive bool // a part that fails does not end the others
	Reach   bool // its parts talk to one another: it runs only at sites whose nodes reach each other
}

// Check says why it is none.
func (c *Coallocation) Check() error {
	if c.Sites < 1 || c.Sites > MaxPartSites {
		return fmt.Errorf("co-allocation over at most %d sites: from 1 to %d", c.Sites, MaxPartSites)
	}
	if c.PerSite < 1 || c.PerSite > MaxProcesses {
		return fmt.Errorf("at least %d processes at each site: from 1 to %d", c.PerSite, MaxProcesses)
	}
	return nil
}

// Part says of a job that it is the part of a co-allocated job that runs at one site. Its home alone sets
// it. Such a job is never searched a place for, nor handed on.
type Part struct {
	Of    JobID  // the whole
	Round uint32 // in which it was made
	Rank  int    // among Sites
	// Sites are all of the round. The first process of each has the number of all before it.
	Sites  []PartSite
	Start  Tick // by the clock of its site
	Grace  Tick // how long it waits after that for the others
	Limit  Tick // its kill limit, beside the grace: that of the slowest of the sites
	Within Tick // it ends itself unless it hears so long after its begin that all have begun
}

// PartSite is one site of a co-allocated job, by the name that it has at the home.
type PartSite struct {
	Name      SiteName
	Processes int
	Peer      PeerID `json:",omitempty"` // "" where the home does not tell it
}

// Limits of a part.
const (
	MaxGrace  = Hour
	MaxWithin = Hour
)

// Check says why it is none.
func (p *Part) Check() error {
	if _, err := ParseJobID(string(p.Of)); err != nil {
		return fmt.Errorf("of: %w", err)
	}
	if len(p.Sites) < 1 || len(p.Sites) > MaxPartSites || p.Rank < 0 || p.Rank >= len(p.Sites) {
		return fmt.Errorf("part %d of %d: at most %d", p.Rank, len(p.Sites), MaxPartSites)
	}
	for i, s := range p.Sites {
		if err := CheckName(string(s.Name)); err != nil {
			return fmt.Errorf("sites: %w", err)
		}
		if slices.ContainsFunc(p.Sites[:i], func(o PartSite) bool { return o.Name == s.Name }) {
			return fmt.Errorf("site %s has two parts", s.Name)
		}
		if s.Processes < 1 || s.Processes > MaxProcesses {
			return fmt.Errorf("%d processes at site %s: from 1 to %d", s.Processes, s.Name, MaxProcesses)
		}
	}
	if p.Start <= 0 || p.Grace < 0 || p.Grace > MaxGrace || p.Within <= 0 || p.Within > MaxWithin || p.Limit <= 0 {
		return fmt.Errorf("it starts at %d, waits %d ms and needs word within %d ms: some instant, and at most an hour each", p.Start, p.Grace, p.Within)
	}
	return nil
}

// Site is the site of the part.
func (p *Part) Site() SiteName { return p.Sites[p.Rank].Name }
