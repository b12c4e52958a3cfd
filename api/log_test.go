package api_test

import (
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"gbroker/api"
	"gbroker/grid"
)

const oneProgram = `<JobDefinition xmlns="http://schemas.ggf.org/jsdl/2005/11/jsdl" xmlns:p="http://schemas.ggf.org/jsdl/2005/11/jsdl-posix"><JobDescription><Application><p:POSIXApplication><p:Executable>/bin/true</p:Executable></p:POSIXApplication></Application></JobDescription></JobDefinition>`

// A piece tells of which run it is, where it begins and whether it is the last; who follows gets the next as soon as
// it is there, and is told how the job is where none comes.
func TestLog(t *testing.T) {
	t.Parallel()
	service, _, c := serve(t, api.Config{Limits: api.Limits{LongPoll: 200 * time.Millisecond}})
	a, err := c.Submit(t.Context(), api.Submission{Key: "k", Document: oneProgram})
	if err != nil {
		t.Fatal(err)
	}
	read := func(q api.LogQuery) api.LogPiece {
		t.Helper()
		p, err := c.ReadLog(t.Context(), a.ID, q)
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	if p := read(api.LogQuery{Follow: true}); p.Run != "" || p.State != "SUBMITTED" || p.End || len(p.Data) != 0 {
		t.Errorf("before the start: %+v", p)
	}
	change := func(state grid.State, text string) {
		t.Helper()
		if err := errors.Join(service.Leave(a.ID, false, nil, map[string][]byte{"stdout": []byte(text), "a/b": []byte("file")}),
			service.Change(a.ID, func(r *grid.Record) { r.State = state })); err != nil {
			t.Error(err)
		}
	}
	change(grid.Running, "one")
	p := read(api.LogQuery{})
	if string(p.Data) != "one" || p.Offset != 0 || p.Run != "1.0" || p.End {
		t.Errorf("while it runs: %+v", p)
	}
	go change(grid.Completed, "one, two")
	next := read(api.LogQuery{Run: p.Run, Offset: 3, Follow: true})
	if string(next.Data) != ", two" || next.Offset != 3 {
		t.Errorf("behind it: %+v", next)
	}
	if p = read(api.LogQuery{Run: p.Run, Offset: 8, Follow: true}); !p.End || len(p.Data) > 0 {
		t.Errorf("at the end: %+v", p)
	}
	if p = read(api.LogQuery{Run: "7.0", Offset: 8}); string(p.Data) != "one, two" || p.Offset != 0 {
		t.Errorf("of another run: %+v", p)
	}
	if p = read(api.LogQuery{File: "a/b"}); string(p.Data) != "file" {
		t.Errorf("a file: %+v", p)
	}
	if _, err := c.ReadLog(t.Context(), "here.0000000000000000000000000Z", api.LogQuery{}); !errors.Is(err, grid.ErrNotFound) {
		t.Errorf("of no job: %v", err)
	}
}

// What makes no sense is refused by name.
func TestBadQueries(t *testing.T) {
	t.Parallel()
	_, s, c := serve(t, api.Config{})
	a, err := c.Submit(t.Context(), api.Submission{Key: "k", Document: oneProgram})
	if err != nil {
		t.Fatal(err)
	}
	log := "/v1/jobs/" + string(a.ID) + "/log?"
	for path, want := range map[string]string{
		log + "offset=-1":                             "offset",
		log + "offset=x":                              "offset",
		log + "stream=both":                           "stream",
		log + "stream=error&file=a":                   "name one of them",
		log + "file=../a":                             "../a",
		log + "run=" + strings.Repeat("1", 65):        "run",
		"/v1/usage?by=colour":                         "by",
		"/v1/usage?zone=Middle/Earth":                 "zone",
		"/v1/usage?since=yesterday":                   "since",
		"/v1/jobs?state=TIRED":                        "state",
		"/v1/jobs?since=1h":                           "since",
		"/v1/jobs?group=x":                            "group",
		"/v1/jobs?name=" + url.QueryEscape("[a"):      "pattern",
		"/v1/jobs?user=" + strings.Repeat("x", 257):   "at most 256",
		"/v1/jobs?site=" + strings.Repeat("x", 1<<10): "at most 256",
	} {
		if status, f := raw(t, s.Addresses()[0], nil, "GET", path, ""); status != 400 || !strings.Contains(f.Text, want) {
			t.Errorf("%.80s: %d %q", path, status, f.Text)
		}
	}
}
