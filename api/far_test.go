package api_test

import (
	"context"
	"crypto/ed25519"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"gbroker/api"
	"gbroker/grid"
)

// believing takes the header's text for the user of a home, and proves all it is asked for.
type believing struct{}

func (believing) Pass(api.Identity, ed25519.PublicKey) (api.Pass, error) { return api.Pass{}, nil }
func (believing) ReadPass(r *http.Request) (api.Pass, bool, error) {
	user := r.Header.Get(api.PassHeader)
	return api.Pass{User: user, Home: "home"}, user != "", nil
}
func (believing) Proof(_ context.Context, p api.Pass, id grid.JobID) string {
	return p.User + "'s " + string(id)
}
func (believing) Forward(http.ResponseWriter, *http.Request, api.Pass) (bool, error) {
	return false, nil
}

// From another site come requests without a body, with a pass, for jobs and groups alone; and what is answered for another home
// has its proof.
func TestFar(t *testing.T) {
	t.Parallel()
	_, s := start(t, api.Config{Elsewhere: believing{}})
	for _, c := range []struct {
		method, path, user, body string
		status                   int
		proof                    string
	}{
		{"GET", "/v1/jobs/a.01ARZ3NDEKTSV4RRFFQ69G5FAV", "alice", "", http.StatusNotFound, "alice's a.01ARZ3NDEKTSV4RRFFQ69G5FAV"},
		{"GET", "/v1/jobs/a.01ARZ3NDEKTSV4RRFFQ69G5FAV", "", "", http.StatusForbidden, ""},
		{"GET", "/v1/jobs/a.01ARZ3NDEKTSV4RRFFQ69G5FAV", "alice", "x", http.StatusBadRequest, ""},
		{"POST", "/v1/jobs/a.01ARZ3NDEKTSV4RRFFQ69G5FAV/cancel", "alice", strings.Repeat("x", 1<<20), http.StatusBadRequest, ""},
		{"GET", "/v1/groups/a.01ARZ3NDEKTSV4RRFFQ69G5FAV", "alice", "", http.StatusNotFound, ""},
		{"GET", "/v1/jobs", "alice", "", http.StatusForbidden, ""},
		{"POST", "/v1/jobs", "alice", "", http.StatusForbidden, ""},
		{"POST", "/v1/drain", "alice", "", http.StatusForbidden, ""},
	} {
		r := httptest.NewRequest(c.method, c.path, strings.NewReader(c.body))
		r.Header.Set(api.PassHeader, c.user)
		w := httptest.NewRecorder()
		s.Far().ServeHTTP(w, r)
		if w.Code != c.status || w.Header().Get(api.ProofHeader) != c.proof {
			t.Errorf("%s %s of %q with %d bytes: %d, %q, want %d: %s", c.method, c.path, c.user, len(c.body), w.Code, w.Header().Get(api.ProofHeader), c.status, w.Body)
		}
	}
}
