package embedded

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"gbroker/grid"
	"gbroker/pbs/control"
	"gbroker/pbs/embedded/supervise"
	"gbroker/plan"

	"go.uber.org/zap"
)

const spoolSuffix = ".job"

// errLost is of a job whose file is gone or damaged: nobody here has its program any more.
var errLost = errors.New("it cannot be read in the spool")

// spool writes a job's file, which alone has what its program is given from then on: that may be a mebibyte, and is
// needed by its supervisor only. s.mu is held.
func (s *System) spool(e *entry) error {
	whole := *e.spec
	if e.spooled {
		was, err := supervise.Read(s.jobs.File(whole.ID))
		switch passing := new(fs.PathError); {
		case errors.As(err, &passing) && !errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("%w: spooling %s again: %w", grid.ErrUnavailable, whole.ID, err)
		case err != nil:
			return fmt.Errorf("spooling %s again: %w: %w", whole.ID, errLost, err)
		}
		whole.Program, whole.Base = was.Program, was.Base
	}
	if err := s.write(&whole); err != nil {
		return err
	}
	e.shorten()
	return nil
}

func (e *entry) shorten() {
	e.spec.Program, e.spec.Base, e.spooled = grid.Program{}, nil, true
}

func (s *System) write(spec *supervise.Spec) error {
	data, err := spec.Encode()
	if err != nil {
		return err
	}
	return s.jobs.Write(spec.ID, data)
}

// load takes up the spool: what waits, and what may run.
func (s *System) load() error {
	if err := s.jobs.Load(s.loadFile); err != nil {
		return err
	}
	slices.SortFunc(s.queue, (*entry).rank)
	slices.SortFunc(s.busy, (*entry).rank)
	return nil
}

func (s *System) loadFile(name string) error {
	spec, err := supervise.Read(name)
	if err == nil && name != s.jobs.File(spec.ID) {
		err = fmt.Errorf("it is of %s and belongs to another file", spec.ID)
	}
	if err != nil {
		return err
	}
	s.sequence = max(s.sequence, spec.Sequence)
	e := &entry{spec: spec}
	e.shorten()
	token, taken, err := control.ReadToken(spec.Control, spec.ID)
	if err != nil {
		// It cannot start while that is so; if it has started, its supervisor goes on.
		s.log.Error("nothing is known of a spooled job", zap.Stringer("attempt", spec.ID), zap.Error(err))
	}
	waits := !taken && err == nil && atBarrier(spec)
	if !taken && err == nil && len(spec.Shares) > 0 && !waits { // it was given its place: all traces of its start may be lost
		if _, any, _ := s.living(spec.ID); any {
			e.began = control.Now()
		}
	}
	switch {
	case !taken && err == nil && waits:
		e.started, e.shares = control.Now(), s.sharesOf(spec)
		s.busy = append(s.busy, e)
	case !taken && err == nil && e.began == 0:
		e.waiting, e.spec.Shares, e.spec.GPUs = true, nil, nil
		s.queue = append(s.queue, e)
	case taken && token.Holder == control.Broker:
		s.jobs.Remove(spec.ID)
		return nil
	default:
		e.started, e.shares = max(token.At, e.began), s.sharesOf(spec)
		s.busy = append(s.busy, e)
	}
	s.known[spec.ID] = e
	return nil
}

// atBarrier tells that the supervisor of a part waits there, which has no token yet.
func atBarrier(spec *supervise.Spec) bool {
	if spec.Part == nil || len(spec.Shares) == 0 {
		return false
	}
	a, there, err := control.ReadArrived(spec.Control, spec.ID)
	if !there || err != nil {
		return false
	}
	alive, err := a.Process.Alive()
	return alive && err == nil
}

// sharesOf finds a job's nodes as they are declared now.
func (s *System) sharesOf(spec *supervise.Spec) []plan.Share {
	var shares []plan.Share
	for _, h := range spec.Shares {
		i := slices.IndexFunc(s.config.Nodes, func(n plan.Node) bool { return n.Name == h.Node })
		if i < 0 {
			s.log.Warn("a job runs on a node that is declared no more",
				zap.Stringer("attempt", spec.ID), zap.String("node", string(h.Node)))
			continue
		}
		shares = append(shares, plan.Share{Node: i, Processes: h.Processes, Cores: h.Cores, Memory: h.Memory, Resources: h.Resources})
	}
	return shares
}

// place writes the shares of a starting job into its specification.
func (s *System) place(e *entry, shares []plan.Share) {
	e.shares, e.spec.Shares = shares, nil
	for _, h := range shares {
		e.spec.Shares = append(e.spec.Shares, supervise.Share{
			Node: s.config.Nodes[h.Node].Name, Processes: h.Processes, Cores: h.Cores, Memory: h.Memory, Resources: h.Resources,
		})
	}
}
