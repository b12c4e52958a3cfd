package faults

import (
	"errors"
	"fmt"

	"gbroker/broker/core"
	"gbroker/grid"
)

// fetch pulls files, if the other side lets it.
func (h *host) fetch(key core.WorkKey, e core.Fetch) {
	w, s := h.s.w, h.s
	from := w.byPeer[e.From].facing(s)
	breaks := false
	h.do(key, &work{
		begin: func() grid.Tick {
			breaks = w.strikes(FetchBreak, w.rnd.file)
			rate, _ := s.links[e.From].Bandwidth(e.Files.Size())
			return 20 + grid.FromSeconds(float64(e.Files.Size())/rate)
		},
		end: func(stopped bool) {
			err := w.mayFetch(s, from, e)
			switch {
			case stopped:
				err = errors.New("it was discarded")
			case breaks:
				err = fmt.Errorf("%w: the connection broke", grid.ErrUnavailable)
			case err == nil && e.Set == core.InputFiles:
				s.disk.folder(e.Job).inputs = true
			case err == nil:
				s.disk.folder(e.Job).outputs = true
			}
			w.tell(s, "fetched the files of %s from %s: %s", e.Job, from.name(), textOf(err))
			final := errors.Is(err, grid.ErrNotFound) || errors.Is(err, grid.ErrForbidden)
			h.post(core.Fetched{Job: e.Job, Epoch: e.Epoch, From: e.From, Set: e.Set, Err: err, Final: final, Unended: errors.Is(err, grid.ErrNotYet)})
		},
	})
}

// mayFetch is the rule of Broker.MayFetch at the other side, and whether the files are there.
func (w *world) mayFetch(s, from *site, e core.Fetch) error {
	if from.gone || !w.hears(s, from) {
		return fmt.Errorf("%w: %s is not to be reached", grid.ErrUnavailable, from.name())
	}
	r, f := from.host.view[e.Job], from.disk.folders[e.Job]
	switch {
	case r == nil && e.Set == core.OutputFiles:
		return fmt.Errorf("%w: there is no record of job %s here", grid.ErrUnavailable, e.Job)
	case r == nil:
		return fmt.Errorf("%w: job %s", grid.ErrNotFound, e.Job)
	case e.Set == core.OutputFiles && r.Job.Home == s.peer && r.End == 0:
		return fmt.Errorf("%w: job %s has not ended, as far as is known here", grid.ErrNotYet, e.Job)
	case e.Set == core.InputFiles && !(r.Handoff.To == s.peer && r.Handoff.Phase != grid.NoHandoff),
		e.Set == core.OutputFiles && r.Job.Home != s.peer:
		return fmt.Errorf("%w: the files of job %s", grid.ErrForbidden, e.Job)
	case f == nil, e.Set == core.InputFiles && !f.inputs, e.Set == core.OutputFiles && !f.outputs:
		return fmt.Errorf("%w: the files of job %s", grid.ErrNotFound, e.Job)
	}
	return nil
}

// check looks for the inputs of a job.
func (h *host) check(key core.WorkKey, e core.Check) {
	h.do(key, &work{
		begin: func() grid.Tick { return between(h.s.w.rnd.file, 1, 5) },
		end: func(bool) {
			ev := core.Checked{Job: e.Job, Epoch: e.Epoch}
			if f := h.s.disk.folders[e.Job]; f == nil || !f.inputs {
				ev.Missing = errors.New("data")
			}
			h.post(ev)
		},
	})
}

// furnish gives a job the files that lie with its group.
func (h *host) furnish(key core.WorkKey, e core.Furnish) {
	h.do(key, &work{
		begin: func() grid.Tick { return between(h.s.w.rnd.file, 1, 5) },
		end: func(bool) {
			ev := core.Furnished{Job: e.Job}
			if f := h.s.disk.folders[e.From]; f == nil || !f.inputs {
				ev.Err, ev.Final = errors.New("data is not there"), true
			} else {
				h.s.disk.folder(e.Job).inputs = true
			}
			h.post(ev)
		},
	})
}
