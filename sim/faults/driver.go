package faults

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"gbroker/grid"
	"gbroker/plan"
)

// This file is the model of a driver of package pbs, with the contract of pbs.System.
// What decides is the start token, as pbs/control has it; at a blind site, where the
// nodes do not see the control directory, the driver has the listing and the account of
// ended jobs alone: it holds, looks, removes and looks again, and such a site loses,
// hides and forgets nothing.

var (
	errBusy   = fmt.Errorf("%w: the server does not answer", grid.ErrUnavailable)
	errEmpty  = fmt.Errorf("%w: the listing is empty", grid.ErrUnavailable)
	errGone   = fmt.Errorf("%w: the control directory is not there", grid.ErrDamaged)
	errTokens = fmt.Errorf("%w: the control directory cannot be read", grid.ErrUnavailable)
)

// snapshot lists the queue and the nodes.
func (b *batch) snapshot(h *host) (plan.Snapshot, error) {
	w := b.s.w
	if w.strikes(ListingFails, w.rnd.batch) || b.off {
		return plan.Snapshot{}, errBusy
	}
	p := plan.Snapshot{At: h.now(), Site: b.s.facts, Nodes: b.nodes()}
	if w.strikes(ListingEmpty, w.rnd.batch) {
		if w.broken.shell[emptyListingMeansGone] {
			return p, nil
		}
		return plan.Snapshot{}, errEmpty
	}
	p.Running, p.Waiting = make([]plan.Running, 0, len(b.jobs)), make([]plan.Waiting, 0, len(b.jobs))
	for _, l := range b.jobs {
		switch {
		case l.hidden:
		case l.started > 0, l.entered > 0:
			start := p.At - (w.now - cmp.Or(l.entered, l.started))
			p.Running = append(p.Running, plan.Running{Job: l.sub.ID.Job, Shares: l.shares, Start: start, End: max(start+l.sub.BatchLimit(), p.At+1)})
		case l.inReservation():
		default:
			p.Waiting = append(p.Waiting, plan.Waiting{Job: l.sub.ID.Job, Demand: l.sub.Job.Demand, Limit: l.sub.Limit, Ineligible: l.ours || l.theirs})
		}
	}
	p.Reservations = b.reservedNodes()
	for i, ahead := 0, b.s.clock.wall(w.now)-p.At; i < len(p.Reservations); i++ { // as package broker does
		p.Reservations[i].Start -= ahead
		p.Reservations[i].End -= ahead
	}
	return p, nil
}

// nodes are as a listing shows them.
func (b *batch) nodes() []plan.Node {
	if len(b.down) == 0 {
		return b.s.nodes
	}
	list := slices.Clone(b.s.nodes)
	for i := range list {
		list[i].Down = b.down[list[i].Name]
	}
	return list
}

// attempts lists what of ours waits or runs.
func (b *batch) attempts() ([]grid.AttemptID, error) {
	w := b.s.w
	if w.strikes(ListingFails, w.rnd.batch) || w.strikes(ListingEmpty, w.rnd.batch) || b.off {
		return nil, errEmpty
	}
	var ids []grid.AttemptID
	for _, l := range b.jobs {
		if !l.foreign && !l.hidden {
			ids = append(ids, l.sub.ID)
		}
	}
	return ids, nil
}

// submit hands over an attempt; the same again gives the same.
func (b *batch) submit(sub grid.Submission) (grid.LocalID, error) {
	w := b.s.w
	r := w.rnd.batch
	if local, known, err := b.lookup(sub.ID); known || err != nil {
		return local, err
	}
	if f := b.s.disk.folders[sub.ID.Job]; f != nil {
		f.known[b.tokenOf(sub.ID)] = true
	}
	switch {
	case b.off:
		return "", errBusy
	case w.strikes(SubmitFails, r):
		if r.IntN(2) == 0 {
			return "", errBusy
		}
		w.truth.facts[sub.ID.Job].refusal = refusal{sub.ID.Epoch, sub.Job.Walltime}
		return "", fmt.Errorf("%w: the server refuses it", grid.ErrInvalid)
	case !b.blind && w.strikes(SubmitLate, r):
		emptied, sent := b.emptied, w.now
		w.after(between(r, grid.Second, 3*grid.Minute), func() {
			if b.emptied == emptied {
				b.enqueue(sub).sent = sent
			}
		})
		return "", errBusy
	case w.strikes(SubmitUnanswered, r):
		l := b.enqueue(sub)
		if r.IntN(2) == 0 {
			return "", errBusy
		}
		// The driver tries once more by itself: what it finds is not submitted again.
		if w.broken.shell[submitWithoutLookup] {
			l = b.enqueue(sub)
		}
		return localID(l), nil
	}
	l := b.enqueue(sub)
	if !b.blind && w.strikes(SubmitForgotten, r) {
		w.after(between(r, 1, grid.Minute), func() {
			if l.waits() {
				b.vanish(l)
			}
		})
	}
	return localID(l), nil
}

// lookup tells whether an attempt is known already.
func (b *batch) lookup(id grid.AttemptID) (grid.LocalID, bool, error) {
	if b.blind {
		if _, was := b.ended[b.tagOf(id)]; was {
			return localID(&local{}), true, nil
		}
	} else {
		if b.s.disk.unreadable {
			return "", false, errTokens
		}
		if f := b.s.disk.folders[id.Job]; f != nil && f.tokens[b.tokenOf(id)] != nobody {
			return localID(&local{}), true, nil
		}
	}
	if l := b.find(id); l != nil {
		return localID(l), true, nil
	}
	return "", false, nil
}

func localID(l *local) grid.LocalID { return grid.LocalID(fmt.Sprint(l.number)) }

// enqueue is what the server does with a submission.
func (b *batch) enqueue(sub grid.Submission) *local {
	w := b.s.w
	r := w.rnd.batch
	span := grid.FromSeconds(sub.Job.Walltime.Seconds() / b.s.facts.Speed * (0.2 + 0.9*r.Float64()))
	l := &local{sub: sub, sent: w.now, span: min(span, sub.Limit), requeues: sub.Job.Rerunnable || w.broken.shell[requeueAllowed]}
	w.tell(b.s, "the batch system queues %s", sub.ID)
	if !b.blind && w.strikes(JobHidden, r) {
		w.after(between(r, 0, grid.Minute), func() { l.hidden = true })
		w.after(between(r, grid.Minute, 4*grid.Minute), func() { l.hidden = false })
	}
	if w.strikes(OperatorHold, r) {
		l.theirs = true
		w.after(between(r, grid.Second, 4*grid.Minute), func() {
			l.theirs = false
			b.pass()
		})
	}
	b.add(l)
	return l
}

// withdraw decides whether an attempt ever starts.
func (b *batch) withdraw(id grid.AttemptID) (bool, error) {
	w := b.s.w
	l := b.find(id)
	b.early(l)
	switch {
	case w.strikes(CommandFails, w.rnd.batch), b.off:
		return false, errBusy
	case b.blind:
		return b.withdrawBlind(id, l)
	case w.broken.shell[noStartToken]:
		return b.withdrawByLook(l)
	case b.s.disk.unreadable:
		return false, errTokens
	}
	f := b.s.disk.folders[id.Job]
	if f == nil {
		return false, errGone
	}
	if f.tokens[b.tokenOf(id)] == theProgram {
		return false, nil
	}
	f.tokens[b.tokenOf(id)] = theBroker
	switch {
	case w.strikes(CommandFails, w.rnd.batch):
		return false, errBusy // the token is taken all the same, and the job still in the queue
	case l != nil && l.waits():
		b.remove(l)
	}
	return true, nil
}

// withdrawByLook is what a driver does that trusts a look.
func (b *batch) withdrawByLook(l *local) (bool, error) {
	if l != nil && !l.waits() {
		return false, nil
	}
	if l != nil {
		b.remove(l)
	}
	return true, nil
}

// withdrawBlind holds, looks, removes, and looks again.
func (b *batch) withdrawBlind(id grid.AttemptID, l *local) (bool, error) {
	w := b.s.w
	if a, was := b.ended[b.tagOf(id)]; was {
		return !a.started, nil
	}
	if w.strikes(ListingFails, w.rnd.batch) || w.strikes(ListingEmpty, w.rnd.batch) {
		return false, errEmpty
	}
	if l == nil { // it never came, as a blind site hides nothing, and never will
		b.account(&local{sub: grid.Submission{ID: id}}, grid.Disappeared)
		return true, nil
	}
	if !l.waits() || l.ever {
		return false, nil
	}
	l.ours = true
	b.early(l) // the scheduler had chosen it before the hold
	started := !l.waits()
	if started {
		w.truth.lost(b.s, l)
	}
	b.account(l, grid.Disappeared)
	b.remove(l)
	if w.broken.shell[removeWithoutSecondLook] {
		return true, nil
	}
	return !started, nil
}

// kill ends an attempt; one that has not started is withdrawn.
func (b *batch) kill(id grid.AttemptID) error {
	w := b.s.w
	withdrawn, err := b.withdraw(id)
	if errors.Is(err, grid.ErrDamaged) {
		if l := b.find(id); l != nil && l.waits() {
			b.remove(l)
			return nil
		}
	} else if withdrawn || err != nil {
		return err
	}
	if l := b.find(id); l != nil && l.ever && !l.asked {
		l.asked = true
		w.after(between(w.rnd.batch, 1, 5*grid.Second), func() {
			if !l.gone {
				b.end(l, grid.ByRequest)
			}
		})
	}
	return nil
}

// progress is how far an attempt has come, by the token first.
func (b *batch) progress(id grid.AttemptID) (grid.Progress, error) {
	w := b.s.w
	l := b.find(id)
	empty := w.strikes(ListingEmpty, w.rnd.batch) || b.off
	if empty && w.broken.shell[emptyListingMeansGone] {
		l = nil
		if b.began(id) {
			return grid.Progress{ID: id, Phase: grid.Ended, Cause: grid.Disappeared, Finished: b.s.clock.wall(w.now)}, nil
		}
	}
	if b.blind {
		return b.progressBlind(id, l, empty)
	}
	if b.s.disk.unreadable {
		return grid.Progress{}, errTokens
	}
	f := b.s.disk.folders[id.Job]
	if f == nil {
		return b.progressByListing(id, l, empty)
	}
	if p, ended := f.ends[b.tokenOf(id)]; ended {
		return p, nil
	}
	switch f.tokens[b.tokenOf(id)] {
	case theBroker:
		return grid.Progress{Phase: grid.Withdrawn}, nil
	case theProgram:
		return b.taken(id), nil
	}
	switch {
	case empty, w.strikes(ListingFails, w.rnd.batch):
		return grid.Progress{}, errEmpty
	case l == nil:
		return grid.Progress{Phase: grid.Unknown}, nil
	case !l.waits(): // without start tokens
		return grid.Progress{Phase: grid.Started, Started: l.clock, Local: localID(l)}, nil
	}
	return grid.Progress{Phase: grid.Waiting, Local: localID(l), Arrived: f.words[b.tokenOf(id)].arrived}, nil
}

// progressByListing is for an attempt whose control directory is not there.
func (b *batch) progressByListing(id grid.AttemptID, l *local, empty bool) (grid.Progress, error) {
	switch {
	case empty, b.s.w.strikes(ListingFails, b.s.w.rnd.batch):
		return grid.Progress{}, errEmpty
	case l == nil:
		return grid.Progress{Phase: grid.Unknown}, errGone
	case l.waits():
		return grid.Progress{Phase: grid.Waiting, Local: localID(l)}, errGone
	}
	return grid.Progress{Phase: grid.Started, Started: l.clock, Local: localID(l)}, errGone
}

// began tells whether, in truth, an attempt has started.
func (b *batch) began(id grid.AttemptID) bool {
	for _, l := range b.jobs {
		if l.sub.ID == id && l.started > 0 {
			return true
		}
	}
	return false
}

// taken is what is known of an attempt whose program has taken the token, and of whose
// end nothing is written: its process is there, or it has vanished.
func (b *batch) taken(id grid.AttemptID) grid.Progress {
	for _, l := range b.jobs {
		if l.started > 0 && l.sub.ID == id {
			return grid.Progress{Phase: grid.Started, Started: l.clock, Local: localID(l)}
		}
	}
	return grid.Progress{Phase: grid.Ended, Cause: grid.Disappeared, Finished: b.s.clock.wall(b.s.w.now), Detail: "its program vanished"}
}

func (b *batch) progressBlind(id grid.AttemptID, l *local, empty bool) (grid.Progress, error) {
	w := b.s.w
	if a, was := b.ended[b.tagOf(id)]; was {
		if !a.started {
			return grid.Progress{Phase: grid.Withdrawn}, nil
		}
		return a.progress, nil
	}
	switch {
	case empty, w.strikes(ListingFails, w.rnd.batch):
		return grid.Progress{}, errEmpty
	case l == nil:
		return grid.Progress{Phase: grid.Unknown}, nil
	case l.waits():
		return grid.Progress{Phase: grid.Waiting, Local: localID(l)}, nil
	}
	return grid.Progress{Phase: grid.Started, Started: l.clock, Local: localID(l)}, nil
}
