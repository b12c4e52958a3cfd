package api_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"gbroker/api"
	"gbroker/grid"
)

// To go on and to ask first are two words: each is refused where the other is meant.
func TestDuplicates(t *testing.T) {
	t.Parallel()
	service, _, c := serve(t, api.Config{})
	if _, err := c.Resume(t.Context()); !errors.Is(err, grid.ErrInvalid) {
		t.Errorf("resumed though nothing had stopped it: %v", err)
	}
	if a, err := c.HadDuplicate(t.Context()); err != nil || !slices.Equal(a.Asked, []string{"b"}) {
		t.Errorf("it had one: %+v, %v", a, err)
	}
	service.Raise("another broker runs under its identity")
	if _, err := c.HadDuplicate(t.Context()); !errors.Is(err, grid.ErrUnavailable) {
		t.Errorf("it has stopped, and had one: %v", err)
	}
	if a, err := c.Resume(t.Context()); err != nil || !slices.Equal(a.Asked, []string{"b"}) {
		t.Errorf("resumed: %+v, %v", a, err)
	}
}

// Both are for administrators.
func TestDuplicatesAreForAdministrators(t *testing.T) {
	t.Parallel()
	_, s := start(t, api.Config{Elsewhere: believing{}})
	for _, path := range []string{"/v1/resume", "/v1/had-duplicate"} {
		r := httptest.NewRequest(http.MethodPost, path, nil)
		r.Header.Set(api.PassHeader, "alice")
		w := httptest.NewRecorder()
		if s.Far().ServeHTTP(w, r); w.Code != http.StatusForbidden {
			t.Errorf("%s of a user from elsewhere: %d %s", path, w.Code, w.Body)
		}
	}
}
