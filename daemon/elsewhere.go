package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"gbroker/api"
	"gbroker/broker/core"
	"gbroker/grid"
	"gbroker/wire"
)

// Jobs of other homes. What has a record here that can answer (this is the home, or
// the owner, or keeps its result) is answered from it. Any other job is asked after,
// in this order: at the home, at the owner that a record or a hint names. The one
// who is asked decides whether the user may; see broker/core/request.go.

// find is the job, and the broker whose word it is. With cancel its end is asked for
// there.
func (s service) find(ctx context.Context, who api.Identity, id grid.JobID, cancel bool) (grid.Record, grid.PeerID, error) {
	r, known, err := s.site.broker.Job(ctx, id)
	if err != nil {
		return r, s.site.self, err
	}
	known = known && r.Role != grid.Declined && !r.Removed
	if who.Home != "" { // a user of another site is believed by his pass alone, and only here
		if known && (r.Role == grid.Owning || r.Kept) {
			r, err := s.record(ctx, who, id)
			return r, s.site.self, err
		}
		return r, s.site.self, s.unknown(id)
	}
	if known && (r.Job.Home == s.site.self || r.Role == grid.Owning || r.Kept) {
		r, err := s.record(ctx, who, id)
		return r, s.site.self, err
	}
	far, at, err := s.ask(ctx, who, id, cancel, s.whom(id, r))
	if err != nil && !cancel && known && s.may(who, &r) {
		return r, s.site.self, nil // better an old word than none: an administrator sees what was here
	}
	return far, at, err
}

// whom lists the members that may know a job, the home first.
func (s service) whom(id grid.JobID, r grid.Record) []grid.PeerID {
	var list []grid.PeerID
	add := func(p grid.PeerID) {
		if _, member := s.site.member(p); member && !slices.Contains(list, p) {
			list = append(list, p)
		}
	}
	add(r.Job.Home)
	for _, m := range s.site.memberList() {
		if facts, ok := s.site.factsOf(m.Peer); ok && facts.Name == id.Site() || !ok && m.Name == id.Site() {
			add(m.Peer)
		}
	}
	add(r.Owner)
	return list
}

// hintLimit bounds a look for a hint.
const hintLimit = 3 * time.Second

// ask asks one after the other; a refusal ends it. Where none of them helps, a
// hint may name an owner.
func (s service) ask(ctx context.Context, who api.Identity, id grid.JobID, cancel bool, whom []grid.PeerID) (grid.Record, grid.PeerID, error) {
	failed := s.unknown(id)
	hinted := false
	for i := 0; ; i++ {
		if i == len(whom) {
			if hinted {
				return grid.Record{}, "", failed
			}
			hinted = true
			look, done := context.WithTimeout(ctx, hintLimit)
			hint, err := s.site.overlay.FindOwner(look, id)
			done()
			if _, member := s.site.member(hint.Owner); err != nil || !member || slices.Contains(whom, hint.Owner) {
				return grid.Record{}, "", failed
			}
			whom = append(whom, hint.Owner)
		}
		if s.site.overlay.Liveness(whom[i]) != grid.Alive {
			failed = fmt.Errorf("%w: job %s: the site %s cannot be reached now; try again later", grid.ErrUnavailable, id, s.SiteName(whom[i]))
			continue
		}
		w := core.Wish{Job: id, User: who.Name, Administrator: who.Administrator}
		if cancel {
			w.Ask = wire.WishCancel
		}
		f, err := s.site.broker.AskElsewhere(ctx, whom[i], w)
		if err == nil || errors.Is(err, grid.ErrForbidden) {
			return f.Record, whom[i], err
		}
		if !errors.Is(err, grid.ErrNotFound) {
			failed = err
		}
	}
}

// watchElsewhere asks again and again for a job that another broker answers for,
// until ok holds or ctx is done; it gives what was heard last.
func (s service) watchElsewhere(ctx context.Context, who api.Identity, r grid.Record, ok func(*grid.Record) bool) grid.Record {
	pace := time.NewTicker(500 * time.Millisecond)
	defer pace.Stop()
	for !ok(&r) {
		select {
		case <-ctx.Done():
			return r
		case <-pace.C:
		}
		next, _, err := s.find(ctx, who, r.Job.ID, false)
		if err != nil {
			return r
		}
		r = next
	}
	return r
}

// openAt opens a file that a job has left, at the broker that keeps it.
func (s service) openAt(ctx context.Context, r *grid.Record, at grid.PeerID, path string) (io.ReadCloser, error) {
	k := slices.IndexFunc(r.Outputs, func(f grid.File) bool { return f.Path == path })
	if k < 0 {
		return nil, fmt.Errorf("%w: job %s has left no output %q", grid.ErrNotFound, r.Job.ID, path)
	}
	return s.site.stager.OpenLiveAt(ctx, at, r.Job.ID, path, r.Outputs[k].Size)
}

// Forget decides about the jobs of a neighbour, or of a peer that was one.
func (s administration) Forget(ctx context.Context, who api.Identity, f api.Forgetting) (api.Forgotten, error) {
	peer, former := grid.PeerID(f.Site), s.site.names.peers(grid.SiteName(f.Site)) // one that is no neighbour any more may still have jobs
	if len(former) == 1 {
		peer = former[0]
	}
	named := false
	for _, m := range s.site.memberList() {
		if string(m.Name) == f.Site {
			peer, named = m.Peer, true
		}
	}
	_, member := s.site.member(peer)
	switch {
	case peer == s.site.self, !named && f.Site == string(s.site.facts.Name):
		return api.Forgotten{}, fmt.Errorf("%w: %s is this site itself: one that is lost is forgotten at a neighbour that has jobs there", grid.ErrInvalid, s.site.facts.Name)
	case !member && len(former) > 1:
		return api.Forgotten{}, fmt.Errorf("%w: no neighbour is called %q, and several were: name one by its peer ID, of %v", grid.ErrNotFound, f.Site, former)
	case !member && !s.has(peer):
		return api.Forgotten{}, fmt.Errorf("%w: no neighbour is called %q, and no job is at a peer of that ID: 'gclient sites' names the neighbours", grid.ErrNotFound, f.Site)
	}
	fates, err := s.site.broker.Forget(ctx, peer, f.Fenced, f.DryRun, who.Name)
	done := api.Forgotten{Peer: peer}
	for _, d := range fates {
		done.Jobs = append(done.Jobs, api.Fate{ID: d.Job, State: d.State.String(), Verdict: d.Verdict.String(), Why: d.Why})
	}
	return done, err
}

// End says what became of a job.
func (s administration) End(ctx context.Context, who api.Identity, id grid.JobID, e api.Ending) (grid.Record, error) {
	return s.site.broker.EndJob(ctx, id, e.As == api.AsDead, e.DryRun, who.Name)
}

// has reports that a job which has not ended is, or was last heard of, at that peer.
func (s service) has(peer grid.PeerID) bool {
	return len(s.site.broker.Live(1, func(r *grid.Record) bool { return r.Owner == peer || r.Job.Home == peer })) > 0
}

// Resume lets the broker go on.
func (s administration) Resume(ctx context.Context) (api.Asking, error) {
	asked, err := s.site.broker.Resume(ctx)
	return api.Asking{Asked: asked}, err
}

// HadDuplicate makes the broker ask what a duplicate has done.
func (s administration) HadDuplicate(ctx context.Context) (api.Asking, error) {
	asked, err := s.site.broker.HadDuplicate(ctx)
	return api.Asking{Asked: asked}, err
}
