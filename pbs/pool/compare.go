package pool

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"gbroker/grid"
	"gbroker/pbs/control"
	desks "gbroker/pool"

	"go.uber.org/zap"
)

// What an untrusted computer says a job came to counts only where another computer says the same, if the job may run twice (Twice):
//
//	lead at an untrusted computer ──► a copy on another, as soon as one has nothing else to do than to keep such results
//	an end of an untrusted computer   its result is held: the agent keeps the job, and says the end again
//	two results that agree            count
//	two that differ                   a third computer is asked; who agrees with it counts
//	three that differ                 the job has failed, with the names of the computers
//	an end of a trusted computer      counts at once
//
// A result is the exit code, the signal, and all that was left, but the checkpoint, by its hashes. Results are in memory: a pool that is started again hears of
// that of the lead once more, and has another made.

// mostResults is how many results of a job are held against each other at most.
const mostResults = 3

// errHeld tells a computer to keep a job that has ended.
var errHeld = fmt.Errorf("%w: the result waits to be compared with that of another computer", grid.ErrUnavailable)

// distrusts tells that results of a computer are compared.
func (s *System) distrusts(c *computer) bool { return slices.Contains(s.config.Untrusted, c.name) }

// weigh says how a job ends of which a computer has told that its program has ended; errHeld is not yet.
func (s *System) weigh(c *computer, e *entry, told control.End) (control.End, error) {
	if !e.Twice || !s.distrusts(c) {
		return told, nil
	}
	result, err := s.result(e, told)
	if err != nil {
		return told, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.computer != c {
		return told, fmt.Errorf("%w: job %s is not this computer's", grid.ErrForbidden, e.tag)
	}
	if e.result == "" {
		s.log.Info("a result waits to be compared", zap.Stringer("attempt", e.id), zap.String("computer", c.name), zap.String("result", result))
	}
	e.result = result
	same, names := false, []string{}
	for _, o := range e.lead().results() {
		same = same || o != e && o.result == result
		names = append(names, o.computer.name)
	}
	switch slices.Sort(names); {
	case e.killed:
		return control.End{Cause: grid.ByRequest, Detail: "its end was asked for while its result waited to be compared"}, nil
	case same:
		return told, nil
	case len(names) >= mostResults:
		return control.End{Cause: grid.Unbrought, Detail: fmt.Sprintf("it came to another result on each of the computers %s, which are not trusted", strings.Join(names, ", "))}, nil
	}
	s.kick()
	return told, errHeld
}

// results are the entries of a job whose results are held; s.mu is held.
func (e *entry) results() (list []*entry) {
	for _, x := range append([]*entry{e}, e.copies...) {
		if x.result != "" {
			list = append(list, x)
		}
	}
	return list
}

// result is the digest of what the computer of an entry has brought, and of how the program ended.
func (s *System) result(e *entry, told control.End) (string, error) {
	s.mu.Lock()
	work, dir := e.Work, e.apartOf()
	s.mu.Unlock()
	root, err := os.OpenRoot(work)
	if err != nil {
		return "", fmt.Errorf("%w: the sandbox of %s: %w", grid.ErrUnavailable, e.id, err)
	}
	defer root.Close()
	pieces, err := heldPieces(root, dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("%w: what was brought of %s: %w", grid.ErrUnavailable, e.id, err)
	}
	last := map[string]heldPiece{}
	for _, p := range pieces {
		if !e.saves(string(p.Path)) {
			last[string(p.Path)] = p
		}
	}
	h := sha256.New()
	fmt.Fprintln(h, told.ExitCode, told.Signal)
	left := make([]heldPiece, 0, len(last))
	for _, p := range last {
		left = append(left, p)
	}
	slices.SortFunc(left, func(a, b heldPiece) int { return cmp.Compare(string(a.Path), string(b.Path)) })
	for _, p := range left {
		fmt.Fprintf(h, "%q %o %v %q %s\n", p.Path, p.Mode, p.Folder, p.Link, p.Sum)
	}
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}

// corroborate begins jobs of untrusted computers on others; s.mu is held.
func (s *System) corroborate(now grid.Tick, computers []*computer) {
	for most := 2; most <= mostResults && len(s.config.Untrusted) > 0; most++ {
		at, o := places(computers), offersOf(computers)
		var tasks []desks.Task
		var entries []*entry
		for _, c := range computers {
			for _, e := range c.jobs {
				if !s.isCompared(e) || e.began == 0 || e.killed || e.ending || e.wants() != most || 1+len(e.copies) >= most {
					continue
				}
				task := desks.Task{Job: s.asked(e, o), Ends: desks.Never}
				task.Work = e.walltime().Seconds()
				for _, x := range append([]*entry{e}, e.copies...) {
					task.On = append(task.On, at[x.computer])
				}
				tasks, entries = append(tasks, task), append(entries, e)
			}
		}
		s.repeat(now, computers, desks.Replication{Kind: desks.WQR, Most: most}, tasks, entries)
	}
}

// isCompared tells that the result of a job counts only if another agrees; s.mu is held.
func (s *System) isCompared(e *entry) bool {
	return e.Twice && e.computer != nil && s.distrusts(e.computer)
}

// wants is how many results of a job are wanted; s.mu is held.
func (e *entry) wants() int {
	if len(e.results()) > 1 { // they differ, or it would have ended
		return mostResults
	}
	return 2
}
