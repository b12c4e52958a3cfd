package brokers

import (
	"errors"
	"fmt"
	"slices"

	"gbroker/broker/core"
	"gbroker/grid"
)

// do lets an effect leave. What the batch system and the disk do is done at once; what comes of it is heard next.
func (h *broker) do(e core.Effect) {
	switch e := e.(type) {
	case core.Send:
		h.n.send(h, e)
	case core.Look:
		h.Post(core.Looked{Snapshot: h.batch.snapshot()})
	case core.Launch:
		h.launch(e)
	case core.Withdraw:
		h.Post(core.Withdrawn{ID: e.ID, Done: h.batch.withdraw(number(e.ID.Job))})
	case core.Kill:
		h.batch.kill(number(e.ID.Job))
	case core.Probe:
		h.Post(core.Progressed{Progress: h.progress(e.ID)})
	case core.Fetch:
		h.fetch(e)
	case core.Collect:
		h.Post(core.Collected{Job: e.Job.ID, Epoch: e.Epoch})
	case core.Check:
		h.Post(core.Checked{Job: e.Job, Epoch: e.Epoch})
	case core.Reconcile:
		h.Post(core.Reconciled{Jobs: e.Jobs, All: true})
	case core.ListReservations:
		h.Post(core.ReservationsListed{})
	case core.Answer:
		if e.Err != nil && e.Token != cancelling {
			h.r.fail(fmt.Errorf("%s answers a user: %w", h.prefix, e.Err))
		}
	case core.Alarm:
		h.r.fail(fmt.Errorf("%s raises an alarm: %s", h.prefix, e.Text))
	}
}

// launch hands an attempt to the batch system.
func (h *broker) launch(e core.Launch) {
	id := e.Submission.ID
	l := &local{n: number(id.Job), attempt: id, limit: e.Submission.Limit}
	if r := h.journal[id.Job]; r != nil {
		l.expected = r.ExpectedStart
	}
	h.coming = slices.DeleteFunc(h.coming, func(k int32) bool { return k == l.n })
	h.batch.arrive(l)
	h.Post(core.Launched{ID: id, Local: grid.LocalID(id.Job)})
}

// changed is the batch system's word of a start or an end.
func (h *broker) changed(l *local) {
	if l.attempt.Job != "" {
		p := progressOf(l)
		h.r.soon.push(func() { h.post(core.Progressed{Progress: p}) })
	}
}

func (h *broker) progress(id grid.AttemptID) grid.Progress {
	if l := h.batch.held[number(id.Job)]; l != nil && l.attempt == id {
		return progressOf(l)
	}
	return grid.Progress{ID: id, Phase: grid.Unknown}
}

func progressOf(l *local) grid.Progress {
	p := grid.Progress{ID: l.attempt, Local: grid.LocalID(l.attempt.Job), Phase: grid.Waiting, Started: l.started}
	switch {
	case l.ended > 0:
		p.Phase, p.Finished, p.Cause = grid.Ended, l.ended, grid.ByItself
		if l.killed {
			p.Cause = grid.ByRequest
		}
	case l.started > 0:
		p.Phase = grid.Started
	}
	return p
}

// fetch brings the files of a job, which takes as long as its delivery.
func (h *broker) fetch(e core.Fetch) {
	done := core.Fetched{Job: e.Job, Epoch: e.Epoch, From: e.From, Set: e.Set}
	if e.Set != core.InputFiles {
		h.Post(done)
		return
	}
	k := number(e.Job)
	from := h.n.byPeer[e.From]
	h.coming = append(h.coming, k)
	h.noted()
	h.r.at(h.r.now+h.r.delivery(from.site, h.site, h.r.w.Jobs[k].Bytes), func() {
		if h.away || from.away {
			done.Err = errors.New("the other site has left")
			h.coming = slices.DeleteFunc(h.coming, func(o int32) bool { return o == k })
		} else {
			h.r.result.Moves++
			h.r.result.Jobs[k].Moves++
		}
		h.post(done)
	})
}
