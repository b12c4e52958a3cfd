package supervise

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"gbroker/grid"
	"gbroker/pbs/control"
)

// lookEvery is how often a part at the barrier looks for a word.
const lookEvery = 50 * time.Millisecond

// ExitAlone is the status of a part that nobody told that the others have arrived: nothing ran.
const ExitAlone = 69

// ExitTold is the status of a part that was told to end at the barrier, as of a process that SIGTERM ends: nothing ran.
const ExitTold = 128 + int(syscall.SIGTERM)

// gather is the barrier of a part of a co-allocated job: it says that it is here, and waits until
// all have arrived. Where it gives an error, with a status, nothing has run, and nothing is to.
func (s *Spec) gather(self control.Process, signals <-chan os.Signal, status *os.File) (code int, err error) {
	now := control.Now()
	arrival := control.Arrival{At: now, Process: self, Hosts: s.hosts()}
	if s.Program.Parallel == "" {
		arrival.Address = s.address()
	} else { // its MPI stays within this site
		arrival.Rendezvous = s.address()
	}
	if err := control.WriteArrived(s.Control, s.ID, arrival); err != nil {
		return ExitControl, err
	}
	tellDaemon(status, Arrived)
	patience := time.NewTimer((control.Patience(s.Part, now) - now).Duration())
	defer patience.Stop()
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		sites, all, err := control.ReadGo(s.Control, s.ID)
		if all && err == nil {
			err = s.meet(sites)
		}
		if all || err != nil {
			return ExitControl, err
		}
		switch _, taken, err := control.ReadToken(s.Control, s.ID); {
		case err != nil:
			return ExitControl, err
		case taken:
			return ExitTaken, errors.New("its start token is taken: nothing is started")
		}
		select {
		case <-look.C:
		case got := <-signals:
			if got == syscall.SIGTERM {
				return ExitTold, errors.New("it was told to end before the others had arrived: nothing is started")
			}
		case <-patience.C:
			return ExitAlone, errors.New("nobody said that the others have arrived: nothing is started")
		}
	}
}

// hosts are the nodes of this part, as entries NODE:PROCESSES.
func (s *Spec) hosts() (list []string) {
	for _, h := range s.Shares {
		list = append(list, string(h.Node)+":"+strconv.Itoa(max(h.Processes, 1)))
	}
	return list
}

// address is where programs may meet this part; "" if no port is free.
func (s *Spec) address() string {
	name, err := os.Hostname()
	if err != nil {
		return ""
	}
	busy := busyPorts()
	for range 100 {
		port := s.Ports.First + rand.IntN(s.Ports.Last-s.Ports.First+1)
		if !slices.Contains(busy, port) {
			return name + ":" + strconv.Itoa(port)
		}
	}
	return ""
}

// busyPorts are the ports of TCP that anything on this machine uses. This process listens at none:
// the program will.
func busyPorts() (ports []int) {
	for _, name := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		data, err := os.ReadFile(name)
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(data)) {
			if f := strings.Fields(line); len(f) > 1 {
				_, port, _ := strings.Cut(f[1], ":")
				if n, err := strconv.ParseUint(port, 16, 16); err == nil {
					ports = append(ports, int(n))
				}
			}
		}
	}
	return ports
}

func (s *Spec) sitesFile() string { return control.SitesFile(s.Control, s.ID) }

// meet writes the host file of all sites, one line for each process: its node and its site.
func (s *Spec) meet(sites []grid.Gathered) error {
	var b strings.Builder
	for _, at := range sites {
		for _, h := range at.Hosts {
			node, n, err := grid.ParseHost(h)
			if err != nil {
				return err
			}
			b.WriteString(strings.Repeat(node+" "+string(at.Site)+"\n", n))
		}
	}
	s.rendezvous = grid.Meeting(sites)
	if err := os.WriteFile(s.sitesFile(), []byte(b.String()), 0o644); err != nil {
		return fmt.Errorf("the host file of all sites cannot be written: %w", err)
	}
	return nil
}

// vigil tells when all parts must have begun; never where it is no part.
func (s *Spec) vigil() <-chan time.Time {
	if s.Part == nil {
		return nil
	}
	return time.After(s.Part.Within.Duration())
}
