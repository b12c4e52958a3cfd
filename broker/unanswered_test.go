package broker

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"gbroker/broker/core"
	"gbroker/grid"
)

// A request that waits for the word of another broker when the Core ends is answered then: the next Core knows nothing of it.
func TestARequestUnderWayWhenTheCoreEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		j := &failing{}
		b := (&shell{}).broker()
		b.ports.Journal = func(context.Context) (Journal, error) { return j, nil }
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- b.Run(ctx) }()
		<-b.Ready()
		b.Post(core.PeerChanged{Peer: her, Liveness: grid.Alive})
		told := make(chan error, 1)
		go func() {
			_, err := b.AskElsewhere(ctx, her, core.Wish{Job: jobOf(her, "b", "1").ID, User: "ann"})
			told <- err
		}()
		synctest.Wait()
		if len(told) > 0 {
			t.Errorf("it is told %v before", <-told)
		}
		j.only("Commit")
		if err := b.Drain(ctx, false); !errors.Is(err, errBoom) {
			t.Error(err)
		}
		synctest.Wait()
		select {
		case err := <-told:
			if !errors.Is(err, grid.ErrUnavailable) || !errors.Is(err, ErrPerhaps) {
				t.Errorf("it is told %v", err)
			}
		default:
			t.Error("it waits on")
		}
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}
