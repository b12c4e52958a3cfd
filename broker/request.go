package broker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gbroker/broker/core"
	"gbroker/grid"
	"gbroker/wire"
)

// ErrPerhaps is wrapped by the errors of requests that may have been done all the same, or may yet be: nothing that they need is to
// be taken away.
var ErrPerhaps = errors.New("it may have been done all the same")

// request posts an event that carries a token and waits for its answer. A request
// whose answer does not come in time wraps [ErrPerhaps].
func (b *Broker) request(ctx context.Context, event func(core.Token) core.Request) (core.Answer, error) {
	token := core.Token(b.tokens.Add(1))
	ch := make(chan core.Answer, 1)
	b.answers.Store(token, ch)
	defer b.answers.Delete(token)
	select {
	case b.events <- event(token):
	case <-b.done:
		return core.Answer{}, fmt.Errorf("%w: the broker is stopping", grid.ErrUnavailable)
	case <-ctx.Done():
		return core.Answer{}, fmt.Errorf("%w: the broker is too busy: %w", grid.ErrUnavailable, ctx.Err())
	}
	select {
	case a := <-ch:
		return a, a.Err
	case <-b.done:
		return core.Answer{}, fmt.Errorf("%w: the broker is stopping: %w", grid.ErrUnavailable, ErrPerhaps)
	case <-ctx.Done():
		return core.Answer{}, fmt.Errorf("%w: no answer yet: %w: %w", grid.ErrUnavailable, ErrPerhaps, ctx.Err())
	}
}

func (b *Broker) answer(a core.Answer) {
	if ch, ok := b.answers.Load(a.Token); ok {
		ch.(chan core.Answer) <- a
	}
}

// failAnswers tells those whose request was not saved, as far as is known: what failed may be what came after that.
func (b *Broker) failAnswers(effects []core.Effect, err error) {
	for _, e := range effects {
		if a, ok := e.(core.Answer); ok {
			b.answer(core.Answer{Token: a.Token, Err: fmt.Errorf("%w: %w: %w", grid.ErrUnavailable, ErrPerhaps, err)})
		}
	}
}

// unanswered tells those whose requests a Core had taken that has ended: the next one knows nothing of them.
func (b *Broker) unanswered(list []core.Token) {
	for _, t := range list {
		b.answer(core.Answer{Token: t, Err: fmt.Errorf("%w: the broker starts again from its journal: %w", grid.ErrUnavailable, ErrPerhaps)})
	}
}

// Submit takes a job; it is durable when Submit returns. again tells that the key was known.
func (b *Broker) Submit(ctx context.Context, j grid.Job, key string, anyway bool) (r grid.Record, again bool, err error) {
	if err := b.roomFor(&j); err != nil {
		return r, false, err
	}
	a, err := b.request(ctx, func(t core.Token) core.Request { return core.Submit{Token: t, Job: j, Key: key, Anyway: anyway} })
	return a.Record, a.Again, err
}

// Where tells what the search would find for a job that nobody has handed in: see [core.Where].
func (b *Broker) Where(ctx context.Context, j grid.Job, key string) (grid.Decision, error) {
	a, err := b.request(ctx, func(t core.Token) core.Request { return core.Where{Token: t, Job: j, Key: key} })
	return a.Where, err
}

// WhereAll is Where of every site, with the one that the job would go to, and how sure the waits are; of a job that may
// have several sites also what would be chosen of those.
func (b *Broker) WhereAll(ctx context.Context, j grid.Job) (grid.Decision, []grid.Spread, *grid.SlotChoice, error) {
	cost := b.costs(ctx, j)
	a, err := b.request(ctx, func(t core.Token) core.Request { return core.Where{Token: t, Job: j, All: true, Cost: cost} })
	return a.Where, a.Spread, a.Several, err
}

// WhereAllOf is WhereAll of several jobs, of as many in one asking of each site as a message takes. Their files cost nothing. Where one asking fails,
// nothing is known of its jobs, whose decisions are empty; it is an error where all fail.
func (b *Broker) WhereAllOf(ctx context.Context, jobs []grid.Job) (list []grid.Decision, err error) {
	var failed error
	known := len(jobs) == 0
	for some := range slices.Chunk(jobs, wire.MaxAsked) {
		a, err := b.request(ctx, func(t core.Token) core.Request {
			return core.Where{Token: t, Job: some[0], All: true, Beside: some[1:]}
		})
		if err != nil {
			failed = err
			list = append(list, make([]grid.Decision, len(some))...)
			continue
		}
		known = true
		list = append(append(list, a.Where), a.Beside...)
	}
	if !known {
		return nil, failed
	}
	return list, nil
}

// Uploaded tells that the files of a job are all here.
func (b *Broker) Uploaded(ctx context.Context, id grid.JobID, inputs grid.Manifest) (grid.Record, error) {
	a, err := b.request(ctx, func(t core.Token) core.Request { return core.Uploaded{Token: t, Job: id, Inputs: inputs} })
	return a.Record, err
}

// Cancel asks for a job's end and waits, until ctx is done, for it to be certain.
func (b *Broker) Cancel(ctx context.Context, id grid.JobID, by string) (r grid.Record, confirmed bool, err error) {
	if _, err = b.request(ctx, func(t core.Token) core.Request { return core.CancelRequest{Token: t, Job: id, By: by} }); err != nil {
		return r, false, err
	}
	certain := func(r *grid.Record) bool { return r.State.Terminal() || r.End != 0 }
	r, known, err := b.view.until(ctx, id, certain)
	if err == nil && !known {
		r, _ = b.groups.outline(id) // it was no more than a number yet
	}
	return r, !known || certain(&r), err
}

// Remove deletes an ended job and its files.
func (b *Broker) Remove(ctx context.Context, id grid.JobID) error {
	_, err := b.request(ctx, func(t core.Token) core.Request { return core.RemoveRequest{Token: t, Job: id} })
	return err
}

// Drain makes the site take no more grid jobs and hand on those that wait, or ends
// that; it is durable when Drain returns.
func (b *Broker) Drain(ctx context.Context, on bool) error {
	_, err := b.request(ctx, func(t core.Token) core.Request { return core.DrainRequest{Token: t, On: on} })
	return err
}

// SiteState is what is durably known of the site itself.
func (b *Broker) SiteState() grid.SiteState {
	if s := b.state.Load(); s != nil {
		return *s
	}
	return grid.SiteState{}
}

// JournalID says how far the journal was when it was opened.
func (b *Broker) JournalID() grid.JournalID {
	if journal := b.journal.Load(); journal != nil {
		return (*journal).ID()
	}
	return grid.JournalID{}
}

// Accuracy is how good this site's estimates of starts are.
func (b *Broker) Accuracy() core.Accuracy {
	if a := b.accuracy.Load(); a != nil {
		return *a
	}
	return core.Accuracy{}
}

// Job is the durable record of a job, or what its group knows of it; known is false where there is neither. The texts of its
// program may be missing: see Whole.
func (b *Broker) Job(ctx context.Context, id grid.JobID) (r grid.Record, known bool, err error) {
	if r, known, err = b.view.get(ctx, id); err != nil || known {
		return r, known, err
	}
	r, known = b.groups.outline(id)
	return r, known, nil
}

// Whole is the durable record of a job with the texts of its program, its arguments and environment.
func (b *Broker) Whole(ctx context.Context, id grid.JobID) (grid.Record, error) {
	r, err := b.view.load(ctx, id)
	if err != nil {
		return r, fmt.Errorf("reading the document of job %s: %w", id, err)
	}
	return r, nil
}

// Count gives how many records, of jobs that are not archived, what says something of, by what it says.
func (b *Broker) Count(what func(*grid.Record) string) map[string]int { return b.view.count(what) }

// Ended gives how many jobs are archived, by state, of which this site is the home or was the
// owner to their end.
func (b *Broker) Ended() map[string]int {
	n := map[string]int{}
	if e := b.ended.Load(); e != nil {
		for state, k := range e {
			if k > 0 {
				n[grid.State(state).String()] = k
			}
		}
	}
	return n
}

func (b *Broker) showEnded(now core.Ended) {
	if e := b.ended.Load(); e == nil || *e != now {
		b.ended.Store(&now)
	}
}

// Live lists up to limit records of jobs that are not archived, that keep says.
func (b *Broker) Live(limit int, keep func(*grid.Record) bool) []grid.Record {
	return b.view.live(limit, keep)
}

// Jobs lists up to limit records after an identifier that keep says, of the users of one
// name or of all (""), in the order of identifiers. It reads pages of the journal, so that
// of jobs that are archived it has no more than [Journal.Page] gives.
func (b *Broker) Jobs(ctx context.Context, after grid.JobID, limit int, user string, keep func(*grid.Record) bool) ([]grid.Record, error) {
	journal := b.journal.Load()
	if journal == nil {
		return nil, fmt.Errorf("%w: the broker is starting", grid.ErrUnavailable)
	}
	var list []grid.Record
	for {
		n := min(limit-len(list), maxJournalPage)
		page, err := (*journal).Page(ctx, after, user, n)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", grid.ErrUnavailable, err)
		}
		for i := range page {
			r := &page[i]
			after = r.Job.ID
			if shown, is := b.view.shown(r.Job.ID); is {
				r = &shown
			}
			if keep(r) {
				list = append(list, *r)
			}
		}
		if len(page) < n || len(list) >= limit {
			return list, nil
		}
	}
}

// maxJournalPage bounds what is read of the journal at once.
const maxJournalPage = 1024

// Wait returns when ok holds for the record, it vanished (false), or ctx is done.
func (b *Broker) Wait(ctx context.Context, id grid.JobID, ok func(*grid.Record) bool) (grid.Record, bool, error) {
	return b.view.until(ctx, id, ok)
}

// record reads a record of the journal.
func (b *Broker) record(ctx context.Context, id grid.JobID) (grid.Record, error) {
	journal := b.journal.Load()
	if journal == nil {
		return grid.Record{}, fmt.Errorf("%w: the broker is starting", grid.ErrUnavailable)
	}
	ctx, cancel := context.WithTimeout(ctx, recordLimit)
	defer cancel()
	return (*journal).Record(ctx, id)
}

// recordLimit bounds how long one record is read, or those of a page.
const recordLimit = 10 * time.Second

// History is the append-only table of a job's events.
func (b *Broker) History(ctx context.Context, id grid.JobID) ([]grid.Event, error) {
	journal := b.journal.Load()
	if journal == nil {
		return nil, fmt.Errorf("%w: the broker is starting", grid.ErrUnavailable)
	}
	return (*journal).History(ctx, grid.KindJob, string(id))
}

// GroupHistory is the append-only table of a group's events.
func (b *Broker) GroupHistory(ctx context.Context, id grid.GroupID) ([]grid.Event, error) {
	journal := b.journal.Load()
	if journal == nil {
		return nil, fmt.Errorf("%w: the broker is starting", grid.ErrUnavailable)
	}
	return (*journal).History(ctx, grid.KindGroup, string(id))
}

// Decisions are what was decided of a job, the oldest first: the first, and the latest. The last
// may say why the job stays where it waits.
func (b *Broker) Decisions(ctx context.Context, id grid.JobID) ([]grid.Decision, error) {
	journal := b.journal.Load()
	if journal == nil {
		return nil, fmt.Errorf("%w: the broker is starting", grid.ErrUnavailable)
	}
	list, err := (*journal).Decisions(ctx, id)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", grid.ErrUnavailable, err)
	}
	if r, is := b.view.shown(id); is && r.Stay != nil {
		if n := len(list); n > 0 && list[n-1].Unmoved {
			list = list[:n-1]
		}
		list = append(list, *r.Stay)
	}
	return list, nil
}

// MayFetch says whether a peer may have a set of a job's files now, and which
// files those are: the inputs are for the candidate of an open handoff, what a job
// left is for its home, and what it is writing also for those who ask for its user.
func (b *Broker) MayFetch(ctx context.Context, peer grid.PeerID, id grid.JobID, set core.FileSet) (grid.Manifest, error) {
	r, ok, err := b.view.get(ctx, id)
	if err != nil {
		return nil, err
	}
	switch {
	case !ok && set == core.OutputFiles:
		// Its home has heard of them. A journal that has lost the job, or a duplicate of this broker, cannot say that they are gone.
		return nil, fmt.Errorf("%w: there is no record of job %s here", grid.ErrUnavailable, id)
	case !ok:
		return nil, fmt.Errorf("%w: job %s", grid.ErrNotFound, id)
	case set == core.InputFiles && r.Handoff.To == peer && r.Handoff.Phase != grid.NoHandoff:
		return r.Job.Inputs, nil
	case set == core.OutputFiles && r.Job.Home == peer && r.End != 0:
		return r.Outputs, nil
	case set == core.OutputFiles && r.Job.Home == peer:
		return nil, fmt.Errorf("%w: job %s has not ended, as far as is known here", grid.ErrNotYet, id)
	case set == core.LiveFiles:
		return nil, b.mayRead(peer, &r)
	}
	return nil, fmt.Errorf("%w: peer %s and the files of job %s", grid.ErrForbidden, peer, id)
}
