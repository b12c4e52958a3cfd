package control

import (
	"errors"
	"os"

	"gbroker/grid"
)

// A start token may be lost: a file is deleted by mistake, a disk tears it. What an attempt
// writes after it has taken its token shows that it had: any trace of a start counts, so that
// no attempt is taken for one that never started, and runs a second time.

// traces are the kinds of files that are written only for an attempt that has started.
var traces = []string{"run", "usage", "end", "hosts", "kill", "grant"}

// inferred is the token of an attempt that has left a trace of its start; there is false
// where it has left none.
func inferred(dir string, at grid.AttemptID) (t Token, there bool, err error) {
	for _, kind := range traces {
		info, err := os.Lstat(path(dir, kind, at))
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return t, false, unreadable(dir, err)
		}
		if !info.Mode().IsRegular() {
			continue
		}
		if began := grid.InstantOf(info.ModTime()); !there || began < t.At {
			t.At = began
		}
		there = true
	}
	if !there {
		return t, false, nil
	}
	t.Holder, t.Inferred = Supervisor, true
	if run, ran, err := ReadRun(dir, at); ran && err == nil {
		t.At = run.At
		t.Process = parent(run.Leader)
	}
	return t, true, nil
}

// parent is the process that started a leader which still runs here: its supervisor.
func parent(leader Process) Process {
	if alive, err := leader.Alive(); !alive || err != nil {
		return Process{}
	}
	stat, err := ReadStat(leader.PID)
	if err != nil {
		return Process{}
	}
	p, err := Describe(stat.Parent)
	if err != nil {
		return Process{}
	}
	if alive, err := leader.Alive(); !alive || err != nil {
		return Process{}
	}
	return p
}
