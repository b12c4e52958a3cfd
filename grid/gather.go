package grid

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Gathered is what one site brings to a co-allocated job, as its part says when it arrives:
// the nodes on which its processes run, and where programs may meet it.
type Gathered struct {
	Site SiteName
	// Hosts are entries NODE:PROCESSES in the order of the processes, as in host files of MPICH.
	Hosts []string
	// Address is HOST:PORT, of a port that was free on the first node; "" is not known. A program of MPI gives one where it
	// can be one program over all sites, for its mpirun, and none where it stays within its site.
	Address string
	// Rendezvous is another such, of programs of MPI alone: their mpirun leaves it to them.
	Rendezvous string
}

// Limits of what one part says.
const (
	MaxPartHosts  = 1024
	MaxRendezvous = 280 // bytes
	MaxPartSites  = 16  // of one co-allocated job
)

// Check says what is wrong with it.
func (g Gathered) Check() error {
	if err := CheckName(string(g.Site)); err != nil {
		return err
	}
	if len(g.Hosts) > MaxPartHosts {
		return fmt.Errorf("%d hosts of site %s: at most %d", len(g.Hosts), g.Site, MaxPartHosts)
	}
	for _, h := range g.Hosts {
		if _, _, err := ParseHost(h); err != nil {
			return err
		}
	}
	return errors.Join(checkAddress(g.Address), checkAddress(g.Rendezvous))
}

// Meeting is where the programs of all parts may meet, as the part of rank 0 says; "" where it has said nothing.
func Meeting(sites []Gathered) string {
	if len(sites) == 0 {
		return ""
	}
	return cmp.Or(sites[0].Rendezvous, sites[0].Address)
}

// ParseHost reads an entry NODE:PROCESSES.
func ParseHost(s string) (node string, processes int, err error) {
	node, count, _ := strings.Cut(s, ":")
	if CheckLabel(node) == nil {
		processes, err = strconv.Atoi(count)
		if err == nil && processes >= 1 && processes <= MaxProcesses && strconv.Itoa(processes) == count {
			return node, processes, nil
		}
	}
	return "", 0, fmt.Errorf("%.80q names no host: it looks like NODE:PROCESSES", s)
}

// checkAddress says why s is no HOST:PORT; "" is fine.
func checkAddress(s string) error {
	if s == "" {
		return nil
	}
	host, port, _ := strings.Cut(s, ":")
	n, err := strconv.Atoi(port)
	if err != nil || n < 1 || n > 65535 || strconv.Itoa(n) != port || len(host) == 0 || len(s) > MaxRendezvous ||
		strings.Trim(host, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_") != "" {
		return fmt.Errorf("%.80q is no address: it looks like HOST:PORT", s)
	}
	return nil
}

// AtBarrier is how long a part may wait in its place for the others; none where there is no part.
func (p *Part) AtBarrier() Tick {
	if p == nil {
		return 0
	}
	return p.Grace
}

// Environment is what the program of a part is told of all the others, NAME=VALUE.
func (p *Part) Environment() []string {
	names := make([]string, len(p.Sites))
	for i, s := range p.Sites {
		names[i] = string(s.Name)
	}
	return []string{"GBROKER_SITES=" + strings.Join(names, " "), "GBROKER_SITE_RANK=" + strconv.Itoa(p.Rank)}
}

// Ports are those of which a site offers one to the programs of a co-allocated job, to meet at.
type Ports struct{ First, Last int }

// DefaultPorts lie below those that Linux gives to whoever asks for any.
var DefaultPorts = Ports{20000, 29999}

// Check says what is wrong with them.
func (p Ports) Check() error {
	if p.First < 1024 || p.Last < p.First || p.Last > 65535 {
		return fmt.Errorf("the ports %d to %d: they must be from 1024 to 65535, the lower first", p.First, p.Last)
	}
	return nil
}
