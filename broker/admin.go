package broker

import (
	"context"
	"errors"
	"fmt"

	"go.uber.org/zap"

	"gbroker/broker/core"
	"gbroker/grid"
)

// errResumed ends a Core that an administrator has let go on: another follows.
var errResumed = errors.New("resumed")

// Boot is the nonce of this life, as Hello says it. It changes when an administrator
// resumes a broker that had a duplicate.
func (b *Broker) Boot() uint64 { return b.boot.Load() }

// write makes durable what must be before any effect leaves.
func (b *Broker) write(ctx context.Context, journal Journal, w *core.Write) error {
	for _, saw := range w.Seen {
		if err := journal.SeenPeer(ctx, saw.Peer, saw.Journal); err != nil {
			b.ports.Log.Debug("noting a peer's journal", zap.String("peer", string(saw.Peer)), zap.Error(err))
		}
	}
	if len(w.Changes) == 0 && len(w.Told) == 0 {
		return nil
	}
	if len(w.Changes) > 0 {
		if err := journal.Commit(ctx, w.Changes); err != nil {
			return err
		}
	}
	return journal.Tell(ctx, b.host.Core().Stamp(), w.Told)
}

// raise tells what is wrong with this broker as a whole.
func (b *Broker) raise(e core.Alarm) {
	b.alarm.Store(&e.Text)
	b.ports.Log.Error("this broker needs its administrator", zap.String("why", e.Text))
	if e.Halted { // members connected to both answer this one alone: so the other hears of it too, and stops
		b.meetAgain()
	}
}

// meetAgain has this broker and all members say Hello again.
func (b *Broker) meetAgain() {
	if b.ports.HangUp != nil {
		b.ports.HangUp()
	}
}

// Alarm is what is wrong with this broker as a whole, and what to do; false is nothing.
func (b *Broker) Alarm() (text string, stands bool) {
	if a := b.alarm.Load(); a != nil {
		return *a, true
	}
	return "", false
}

// Forget decides about the jobs of a site that will not come back; with dry it only
// tells. See forget.go.
func (b *Broker) Forget(ctx context.Context, site grid.PeerID, fenced, dry bool, by string) ([]core.Fate, error) {
	a, err := b.request(ctx, func(t core.Token) core.Request {
		return core.Forget{Token: t, Site: site, Fenced: fenced, DryRun: dry, By: by}
	})
	return a.Fates, err
}

// EndJob ends a job by an administrator's word; with dry it only tells whether that may be.
// See end.go.
func (b *Broker) EndJob(ctx context.Context, job grid.JobID, dead, dry bool, by string) (grid.Record, error) {
	a, err := b.request(ctx, func(t core.Token) core.Request {
		return core.EndJob{Token: t, Job: job, Dead: dead, DryRun: dry, By: by}
	})
	return a.Record, err
}

// Resume lets a broker go on that a duplicate has stopped. It names those that are asked first.
func (b *Broker) Resume(ctx context.Context) ([]string, error) {
	a, err := b.request(ctx, func(t core.Token) core.Request { return core.Resume{Token: t} })
	return a.Asked, err
}

// HadDuplicate makes a broker ask all what a duplicate has done that nobody noticed. It names those that are asked.
func (b *Broker) HadDuplicate(ctx context.Context) ([]string, error) {
	a, err := b.request(ctx, func(t core.Token) core.Request { return core.HadDuplicate{Token: t} })
	return a.Asked, err
}

// AskElsewhere passes a user's wish on to another broker.
func (b *Broker) AskElsewhere(ctx context.Context, to grid.PeerID, w core.Wish) (core.Found, error) {
	a, err := b.request(ctx, func(t core.Token) core.Request { return core.Forward{Token: t, To: to, Wish: w} })
	return a.Found, err
}

func (b *Broker) trust(members []grid.Member) {
	same := map[grid.PeerID]bool{}
	for _, m := range members {
		if m.SameUsers {
			same[m.Peer] = true
		}
	}
	b.trusted.Store(&same)
}

// SameUsers reports that the users of a site are those of this one.
func (b *Broker) SameUsers(p grid.PeerID) bool { return p == b.cfg.Self || (*b.trusted.Load())[p] }

// mayRead: the broker of a site whose users are ours may fetch what a job left, or
// writes, for one of them; it vouches for whom.
func (b *Broker) mayRead(peer grid.PeerID, r *grid.Record) error {
	if r.Job.Home == peer || b.SameUsers(peer) && b.SameUsers(r.Job.Home) {
		return nil
	}
	return fmt.Errorf("%w: peer %s and the files of job %s", grid.ErrForbidden, peer, r.Job.ID)
}
