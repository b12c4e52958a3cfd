package control

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"gbroker/grid"
)

// Holder is who took a start token.
type Holder int

// Holders.
const (
	Supervisor Holder = iota // the attempt has started
	Broker                   // it is withdrawn and never starts
)

var holders = []string{Supervisor: "supervisor", Broker: "broker"}

// Token is the content of a start token.
type Token struct {
	Holder  Holder
	At      grid.Tick
	Process Process // that took it
	// Inferred: the token itself is lost or damaged, and other files show that the attempt had
	// started. Process is its supervisor if that still runs on this machine, else none.
	Inferred bool
}

// Run tells that the program was started.
type Run struct {
	At     grid.Tick
	Leader Process // of the program's process group and session
}

// End is how an attempt ended.
type End struct {
	At       grid.Tick
	ExitCode int // 128+n for signal n
	Signal   int // 0 if none
	Cause    grid.Cause
	Detail   string // for people
}

// Now is the wall clock, as it stands in control files.
func Now() grid.Tick { return grid.InstantOf(time.Now()) }

// Take takes the start token for holder, durably, if nobody has. It gives the
// token as it stands then, which is another's where taken is false. By process it
// is the one that calls.
func Take(dir string, at grid.AttemptID, holder Holder, process Process) (taken bool, held Token, err error) {
	if held, there, err := ReadToken(dir, at); err != nil || there && held.Inferred {
		return false, held, err
	}
	t := Token{Holder: holder, At: Now(), Process: process}
	content := encode(append([]field{
		{"attempt", at.String()}, {"holder", holders[holder]}, {"at", number(t.At)},
	}, t.Process.fields()...))
	name := path(dir, "start", at)
	taken, err = create(dir, name, content)
	if err != nil {
		return false, t, fmt.Errorf("%w: taking the start token of %s: %w", grid.ErrUnavailable, at, err)
	}
	if taken {
		if err := syncDirectory(dir); err != nil {
			return true, t, fmt.Errorf("%w: the start token of %s is taken, perhaps not durably: %w", grid.ErrUnavailable, at, err)
		}
		return true, t, nil
	}
	held, there, err := ReadToken(dir, at)
	if err == nil && !there {
		err = fmt.Errorf("%w: the start token of %s was there and is gone: start tokens must never be removed", grid.ErrUnavailable, at)
	}
	if err == nil && held.Holder == Broker && holder == Broker {
		err = syncDirectory(dir) // whoever took it may have died before
	}
	return false, held, err
}

// ReadToken reads the start token; there is false if nobody has taken it. Where it is lost or
// damaged, any other trace of a start tells that the attempt has started.
func ReadToken(dir string, at grid.AttemptID) (t Token, there bool, err error) {
	t, there, err = readToken(dir, at)
	if there && err == nil || err != nil && !errors.Is(err, grid.ErrDamaged) {
		return t, there, err
	}
	began, any, traceErr := inferred(dir, at)
	if traceErr != nil || !any {
		return t, false, errors.Join(err, traceErr)
	}
	if t, there, err = readToken(dir, at); there && err == nil {
		return t, true, nil // it was taken between the two looks
	}
	return began, true, nil
}

func readToken(dir string, at grid.AttemptID) (t Token, there bool, err error) {
	r, err := open(dir, "start", at)
	if r == nil || err != nil {
		return t, false, err
	}
	r.attempt(at)
	t.Holder = Holder(r.word("holder", holders))
	t.At = r.instant("at")
	t.Process = r.process()
	return t, true, r.done()
}

// Attempts lists those of which the files in a job's directory tell: start tokens, whoever
// took them, what was written when they were submitted, and traces of a start. Without a
// directory there were none.
func Attempts(dir string, job grid.JobID) ([]grid.AttemptID, error) {
	names, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, unreadable(dir, err)
	}
	var list []grid.AttemptID
	for _, n := range names {
		kind, rest, _ := strings.Cut(n.Name(), ".")
		at := grid.AttemptID{Job: job}
		_, err := fmt.Sscanf(rest, "%d.%d.%d", &at.Epoch.Term, &at.Epoch.Hop, &at.Attempt)
		known := kind == "start" || kind == "submit" || slices.Contains(traces, kind)
		if known && err == nil && path(dir, kind, at) == dir+"/"+n.Name() && !slices.Contains(list, at) {
			list = append(list, at)
		}
	}
	return list, nil
}

// WriteRun tells that the program was started.
func WriteRun(dir string, at grid.AttemptID, run Run) error {
	content := encode(append([]field{{"attempt", at.String()}, {"at", number(run.At)}}, run.Leader.fields()...))
	if err := replace(dir, path(dir, "run", at), content); err != nil {
		return fmt.Errorf("writing the start of %s: %w", at, err)
	}
	return nil
}

// ReadRun reads what WriteRun wrote.
func ReadRun(dir string, at grid.AttemptID) (run Run, there bool, err error) {
	r, err := open(dir, "run", at)
	if r == nil || err != nil {
		return run, false, err
	}
	r.attempt(at)
	run.At = r.instant("at")
	run.Leader = r.process()
	return run, true, r.done()
}

// WriteEnd tells the end of an attempt; if it was told before, that stands.
func WriteEnd(dir string, at grid.AttemptID, end End) error {
	content := encode([]field{
		{"attempt", at.String()}, {"at", number(end.At)}, {"code", number(end.ExitCode)},
		{"signal", number(end.Signal)}, {"cause", end.Cause.String()}, {"detail", end.Detail[:min(len(end.Detail), maxDetail)]},
	})
	if _, err := create(dir, path(dir, "end", at), content); err != nil {
		return fmt.Errorf("writing the end of %s: %w", at, err)
	}
	return nil
}

// ReadEnd reads the end of an attempt; there is false if none is told yet.
func ReadEnd(dir string, at grid.AttemptID) (end End, there bool, err error) {
	r, err := open(dir, "end", at)
	if r == nil || err != nil {
		return end, false, err
	}
	r.attempt(at)
	end.At = r.instant("at")
	end.ExitCode = int(r.number("code", 0, 255))
	end.Signal = int(r.number("signal", 0, 127))
	end.Cause = grid.Cause(r.word("cause", grid.CauseNames()))
	end.Detail = r.text("detail")
	return end, true, r.done()
}

// WriteUsage tells what an attempt has used, before its end; if that was told before, it
// stands. Nothing is written where nothing is known.
func WriteUsage(dir string, at grid.AttemptID, used grid.Usage) error {
	if used == (grid.Usage{}) {
		return nil
	}
	content := encode([]field{{"attempt", at.String()}, {"cpu", number(used.CPU)}, {"memory", number(used.Memory)}})
	if _, err := create(dir, path(dir, "usage", at), content); err != nil {
		return fmt.Errorf("writing the usage of %s: %w", at, err)
	}
	return nil
}

// ReadUsage reads what an attempt has used; zero if that is not told. The nodes are those of its
// host file.
func ReadUsage(dir string, at grid.AttemptID) (used grid.Usage, err error) {
	if _, ran, err := ReadRun(dir, at); ran && err == nil {
		used.Nodes = readNodes(HostFile(dir, at))
	}
	r, err := open(dir, "usage", at)
	if r == nil || err != nil {
		return used, err
	}
	r.attempt(at)
	used.CPU = grid.Tick(r.number("cpu", 0, int64(grid.MaxUsedCPU)))
	used.Memory = r.number("memory", 0, grid.MaxUsedMemory)
	return used, r.done()
}

// maxHosts bounds what is read of a host file, in bytes: a line for each process.
const maxHosts = 16 << 20

// readNodes names each node of a host file once; "" if there is none. What is no name of a node
// ends the list: the file lies where the program can write.
func readNodes(name string) (nodes string) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "" // it is not there, or not as it was made
	}
	defer f.Close()
	seen := map[string]bool{}
	for lines := bufio.NewScanner(io.LimitReader(f, maxHosts)); lines.Scan(); {
		node, _, _ := strings.Cut(lines.Text(), " ") // some kinds of host file say how many slots
		switch {
		case grid.CheckLabel(node) != nil:
			return nodes
		case seen[node]:
			continue
		case len(nodes)+len(node)+len(",,…") > grid.MaxUsedNodes:
			return nodes + ",…"
		case nodes != "":
			nodes += ","
		}
		seen[node] = true
		nodes += node
	}
	return nodes
}

// AskKill records that the broker wants an attempt's end.
func AskKill(dir string, at grid.AttemptID) error {
	content := encode([]field{{"attempt", at.String()}, {"at", number(Now())}})
	if err := replace(dir, path(dir, "kill", at), content); err != nil {
		return fmt.Errorf("%w: recording the wish to end %s: %w", grid.ErrUnavailable, at, err)
	}
	return nil
}

// KillAsked tells whether the broker wants an attempt's end.
func KillAsked(dir string, at grid.AttemptID) (bool, error) {
	r, err := open(dir, "kill", at)
	if r == nil || err != nil {
		return false, err
	}
	r.attempt(at)
	r.instant("at")
	return r.err == nil, r.done()
}

func open(dir, kind string, at grid.AttemptID) (*reader, error) {
	name := path(dir, kind, at)
	data, err := read(dir, name)
	if data == nil || err != nil {
		return nil, err
	}
	return newReader(name, data), nil
}
