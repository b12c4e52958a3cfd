package pool

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"gbroker/grid"
	"gbroker/pbs/control"
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

// While the end of a job is being written its computer may say it again, for that may fail; and nobody else is given the job.
func TestWhileAnEndIsWritten(t *testing.T) {
	t.Parallel()
	e := &entry{tag: "t", stint: "s", ending: true, record: record{Rerunnable: true, Control: t.TempDir()}}
	c := &computer{name: "a", jobs: map[string]*entry{"t": e}}
	e.computer = c
	s := &System{log: zap.NewNop(), known: map[grid.AttemptID]*entry{e.id: e}, computers: map[string]*computer{"a": c}}
	if err := s.ended(c, "t", line.End{Stint: "s"}); !errors.Is(err, grid.ErrUnavailable) {
		t.Errorf("its end, said again: %v", err)
	}
	if err := s.ended(c, "t", line.End{Stint: "another"}); !errors.Is(err, grid.ErrForbidden) {
		t.Errorf("the end of another hold: %v", err)
	}
	if s.cutOff(e, "it is silent"); e.computer != c || len(s.queue) > 0 {
		t.Error("it is started again")
	}
	if err := s.finish(e, control.End{}, grid.Usage{}); !errors.Is(err, grid.ErrUnavailable) {
		t.Errorf("its end is written twice: %v", err)
	}
}

// A path is taken once at a time: there is room for one.
func TestOnePathAtATime(t *testing.T) {
	t.Parallel()
	var b brought
	end, err := b.begin("out")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.begin("out"); !errors.Is(err, grid.ErrUnavailable) {
		t.Errorf("the same at the same time: %v", err)
	}
	end()
	if _, err := b.begin("out"); err != nil {
		t.Errorf("the same later: %v", err)
	}
}
