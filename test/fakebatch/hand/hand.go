// Package hand is the Hand of the behavioural suite on a fake batch system: what operators,
// other users and accidents do there. Operators are root, the other user is "stranger".
//
// Crash and Revive are TORQUE's alone.
package hand

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"

	"gbroker/grid"
	"gbroker/pbs/pbstest"
	"gbroker/test/fakebatch"
	"gbroker/test/fakebatch/batch"
)

// Stranger is the account of jobs of others.
const Stranger = "stranger"

// Of gives the hand for a server whose nodes have so many cores. mark is the variable by
// which the driver marks its jobs.
func Of(s *fakebatch.Server, face string, cores int, mark string) pbstest.Hand {
	h := hand{s, face, cores, mark}
	once := func(set func()) func() (func(), error) {
		return func() (func(), error) { set(); return s.Healthy, nil }
	}
	out := pbstest.Hand{
		Hold:    func(l grid.LocalID) error { return h.order("qhold", "-h", "s", string(l)) },
		Release: func(l grid.LocalID) error { return h.order("qrls", "-h", "s", string(l)) },
		Delete:  func(l grid.LocalID) error { return h.order("qdel", string(l)) },
		Requeue: func(l grid.LocalID) error { return h.order("qrerun", string(l)) },
		Submit:  h.submit,
		Down:    func() error { s.Down(); return nil },
		Up:      func() error { s.Up(); return nil },
		Stall:   once(s.Stall),
		Deafen:  once(s.Deafen),
		Drain:   func(n grid.NodeName) error { s.Node(batch.Node{Name: string(n), Offline: true}); return nil },
		Undrain: func(n grid.NodeName) error { s.Node(batch.Node{Name: string(n)}); return nil },
	}
	if face == "torque" {
		out.Crash, out.Revive = func(n grid.NodeName) error { s.Crash(string(n)); return nil }, out.Undrain
	}
	return out
}

type hand struct {
	*fakebatch.Server
	face  string
	cores int
	mark  string
}

// order runs a command as root.
func (h hand) order(name string, args ...string) error {
	if a := h.Run("root", "", name, args...); a.Exit != 0 {
		return fmt.Errorf("%s %q: exit code %d: %s", name, args, a.Exit, a.Stderr)
	}
	return nil
}

func (h hand) submit(f pbstest.Foreign) (grid.LocalID, error) {
	ppn, nodes := strconv.Itoa(h.cores), strconv.Itoa(f.Nodes)
	args := []string{"-N", f.Name, "-j", "oe", "-o", filepath.Join(f.Dir, "log"), "-l", fmt.Sprintf("walltime=%d", f.Limit/grid.Second)}
	if h.face == "torque" {
		args = append(args, "-l", "nodes="+nodes+":ppn="+ppn)
	} else {
		args = append(args, "-l", "select="+nodes+":ncpus="+ppn, "-l", "place=scatter")
	}
	if f.Mark != "" {
		args = append(args, "-v", h.mark+"="+f.Mark)
	}
	user := "" // ours
	if f.Other {
		user = Stranger
	}
	a := h.Run(user, "cd "+f.Dir+"\n"+f.Script, "qsub", args...)
	if a.Exit != 0 {
		return "", fmt.Errorf("qsub %q: exit code %d: %s", args, a.Exit, a.Stderr)
	}
	return grid.LocalID(strings.TrimSpace(a.Stdout)), nil
}
