package api_test

import (
	"errors"
	"testing"

	"gbroker/api"
	"gbroker/grid"
)

func TestEnd(t *testing.T) {
	t.Parallel()
	_, _, c := serve(t, api.Config{})
	const unknown = "here.00000000000000000000000009"
	if _, err := c.End(t.Context(), unknown, api.Ending{As: api.AsDead}); !errors.Is(err, grid.ErrNotFound) {
		t.Errorf("an unknown job: %v", err)
	}
	for _, as := range []string{"", "gone", "DEAD"} {
		if _, err := c.End(t.Context(), unknown, api.Ending{As: as}); !errors.Is(err, grid.ErrInvalid) {
			t.Errorf("as %q: %v", as, err)
		}
	}
}
