package pool

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"gbroker/grid"
	"gbroker/pbs/pool/line"
)

// A file counts with its present size, however often it was brought; all together do not pass what a sandbox holds.
func TestBroughtCountsOnce(t *testing.T) {
	t.Parallel()
	var b brought
	for i := range 9 * grid.MaxFiles {
		if err := b.charge("state", grid.MaxSandbox/2); err != nil {
			t.Fatalf("the checkpoint is refused the %dth time: %v", i+1, err)
		}
	}
	if err := b.charge("other", grid.MaxSandbox/2+1); err == nil {
		t.Error("two files that are more than a sandbox holds are taken")
	}
	b.set(keyOf("state"), 1)
	if err := b.charge("other", grid.MaxSandbox/2+1); err != nil {
		t.Errorf("a file that has become small takes the room of another: %v", err)
	}
	if err := b.charge("state", -1); err == nil {
		t.Error("a file of no size is taken")
	}
	var many brought
	last := error(nil)
	for i := 0; i <= 8*grid.MaxFiles && last == nil; i++ {
		last = many.charge(fmt.Sprint(i), 0)
	}
	if last == nil {
		t.Error("files without number are taken")
	}
}

// Strangers leave nothing in the log, for they are without number.
func TestStrangersAreNotLogged(t *testing.T) {
	t.Parallel()
	core, logs := observer.New(zap.InfoLevel)
	s := &System{log: zap.New(core)}
	w := httptest.NewRecorder()
	known(s, func(*http.Request, string, struct{}) (struct{}, error) { return struct{}{}, nil })(w, httptest.NewRequest(http.MethodPost, line.ReportPath, strings.NewReader("{}")))
	if w.Code != http.StatusForbidden || logs.Len() > 0 {
		t.Errorf("a stranger is answered with %d and leaves %v", w.Code, logs.All())
	}
}
