package api_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"gbroker/api"
	"gbroker/grid"
)

// What an answer says of itself is told, whatever was asked for.
func TestClientTellsWhatIsUnconfirmed(t *testing.T) {
	t.Parallel()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.Contains(r.URL.Path, "01AAAAAAAAAAAAAAAAAAAAAAAA") {
			w.Header().Set(api.UnconfirmedHeader, r.URL.Path)
		}
		io.WriteString(w, "{}")
	}))
	t.Cleanup(s.Close)
	var told []string
	c := client(t, api.ClientConfig{Address: s.URL, Token: tokenText, Unconfirmed: func(why string) { told = append(told, why) }})
	const id = grid.JobID("a.01ARZ3NDEKTSV4RRFFQ69G5FAV")
	for _, ask := range []func() error{
		func() error { _, err := c.Job(t.Context(), id); return err },
		func() error { _, err := c.Output(t.Context(), id, "out", io.Discard); return err },
		func() error { _, err := c.Job(t.Context(), "a.01AAAAAAAAAAAAAAAAAAAAAAAA"); return err },
	} {
		if err := ask(); err != nil {
			t.Fatal(err)
		}
	}
	if want := []string{"/v1/jobs/" + string(id), "/v1/jobs/" + string(id) + "/outputs/out"}; !slices.Equal(told, want) {
		t.Errorf("told: %q", told)
	}
}
