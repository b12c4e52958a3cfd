package daemon

import (
	"context"
	"fmt"
	"testing"

	"gbroker/broker"
	"gbroker/grid"
	"gbroker/stage"
)

// The credentials of a job that was not taken go; those of one that was, or may have been, stay: it would fail without them.
func TestCredentialsOfWhatMayBeTakenStay(t *testing.T) {
	t.Parallel()
	stager, err := stage.New(stage.Config{Root: t.TempDir(), Authorize: func(grid.PeerID, grid.JobID, stage.Set) (stage.Grant, error) {
		return stage.Grant{}, grid.ErrForbidden
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer stager.Close()
	s := service{&site{stager: stager}}
	for n, k := range []struct {
		again bool
		err   error
		stay  bool
	}{
		{false, nil, true},
		{true, nil, false},
		{false, fmt.Errorf("%w: too many", grid.ErrNotYet), false},
		{false, fmt.Errorf("%w: the disk is full", grid.ErrUnavailable), false},
		{false, fmt.Errorf("%w: the broker is stopping: %w", grid.ErrUnavailable, broker.ErrPerhaps), true},
		{false, fmt.Errorf("%w: no answer yet: %w: %w", grid.ErrUnavailable, broker.ErrPerhaps, context.Canceled), true},
	} {
		id := grid.NewJobID("a", fmt.Sprintf("%026d", n))
		drop, err := s.keepSecrets(map[grid.JobID][]byte{id: []byte("- for: https://x.org/\n  token: t\n")})
		if err != nil {
			t.Fatal(err)
		}
		if err := drop(k.again, k.err); err != nil {
			t.Error(err)
		}
		left, err := stager.Jobs()
		if err != nil {
			t.Fatal(err)
		}
		stays := false
		for _, j := range left {
			stays = stays || j == id
		}
		if stays != k.stay {
			t.Errorf("again %t, %v: they stay: %t", k.again, k.err, stays)
		}
	}
}
