package pbs

import (
	"context"

	"gbroker/grid"
)

// Holder is what an operator may do to an attempt that waits. Both may be repeated; of
// one that has started, ended or was never submitted they wrap grid.ErrInvalid.
type Holder interface {
	// Hold keeps a waiting attempt from starting, until Unhold.
	Hold(ctx context.Context, at grid.AttemptID, control string) error
	// Unhold ends our own hold; one that is not held stays as it is.
	Unhold(ctx context.Context, at grid.AttemptID, control string) error
}
