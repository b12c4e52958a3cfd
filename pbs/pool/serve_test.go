package pool

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/zap"

	"gbroker/pbs/pool/line"
)

// Strangers, who may ask to join, are read a little of.
func TestJoinIsSmall(t *testing.T) {
	t.Parallel()
	id, err := line.OpenPool(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	s := &System{log: zap.NewNop(), identity: id}
	r := httptest.NewRequest(http.MethodPost, line.JoinPath, strings.NewReader(strings.Repeat(" ", joinLimit)+"{}"))
	w := httptest.NewRecorder()
	s.server(t.Context()).Handler.ServeHTTP(w, r)
	if w.Code == http.StatusOK || !strings.Contains(w.Body.String(), "too large") {
		t.Errorf("a request of %d bytes to join: %d, %s", joinLimit+2, w.Code, w.Body)
	}
}
