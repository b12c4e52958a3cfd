package api_test

import (
	"errors"
	"slices"
	"testing"

	"gbroker/api"
	"gbroker/grid"
)

func TestDrain(t *testing.T) {
	t.Parallel()
	_, _, c := serve(t, api.Config{})
	for _, on := range []bool{true, true, false} {
		if d, err := c.Drain(t.Context(), on); err != nil || d.Draining != on {
			t.Fatalf("drain %t: %+v, %v", on, d, err)
		}
		if self, err := c.Self(t.Context()); err != nil || self.Draining != on {
			t.Errorf("after drain %t this broker is %+v, %v", on, self, err)
		}
		sites, err := c.Sites(t.Context())
		if err != nil || sites[0].Draining != on {
			t.Errorf("after drain %t the sites are %+v, %v", on, sites, err)
		}
	}
}

func TestHandoffs(t *testing.T) {
	t.Parallel()
	service, _, c := serve(t, api.Config{})
	want := []api.Handoff{{Job: "here.00000000000000000000000001", Committed: true}, {Job: "b.00000000000000000000000001", Incoming: true}}
	service.Move("b", want...)
	if got, err := c.Handoffs(t.Context(), "b"); err != nil || !slices.Equal(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err := c.Handoffs(t.Context(), "nobody"); !errors.Is(err, grid.ErrNotFound) {
		t.Error(err)
	}
	if _, err := c.Handoffs(t.Context(), "No Name"); !errors.Is(err, grid.ErrInvalid) {
		t.Error(err)
	}
}
