package daemon

import (
	"context"
	"errors"
	"os"
	"testing"
	"time"

	"go.uber.org/zap"

	"gbroker/grid"
)

// A site of another user is not served, by root neither: what it would leave in the data folder
// would keep the right broker from its own files.
func TestAnothersSiteIsNotServed(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can give a folder away")
	}
	c := initSite(t)
	if err := os.Chown(c.Data, 65534, -1); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // where it is served after all
	defer cancel()
	if err := Run(ctx, c, zap.NewNop(), zap.NewAtomicLevel()); !errors.Is(err, grid.ErrForbidden) {
		t.Errorf("served, until %v", err)
	}
	if left, err := os.ReadDir(c.Data); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}
