package pool_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/pbs/pool"
	"gbroker/pbs/pool/line"
)

const empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" // the SHA-256 of nothing

// A computer that knows all of another's job but its key, the tag and the stint, has no say about it, and neither has one that was removed.
func TestJobOfAnother(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	owner := s.puppet("owner")
	j := s.submit("true", nil)
	r := owner.start(j)
	steals := func(p *puppet, who string) {
		for what, message := range map[string]any{
			"start": line.Start{Stint: r.Stint}, "began": line.Began{Stint: r.Stint}, "end": line.End{Stint: r.Stint, Cause: line.ByItself},
			"refuse": line.Refused{Why: "mine"}, "cannot": line.Refused{Why: "mine"},
		} {
			var g line.Granted
			status := p.post(line.JobsPath+r.Tag+"/"+what, message, &g)
			if status == http.StatusOK && (what != "start" || g.Granted) {
				t.Errorf("%s may %s a job that is not its own", who, what)
			}
		}
		if status := p.put(r, "out", empty, 0, http.NoBody); status != http.StatusForbidden {
			t.Errorf("%s brings a file of a job that is not its own: %d", who, status)
		}
		for _, what := range []string{"files", "file?path=bmFtZQ"} {
			got, err := p.http.Get(p.base + line.JobsPath + r.Tag + "/" + what)
			if err != nil {
				t.Fatal(err)
			}
			text, _ := io.ReadAll(got.Body)
			got.Body.Close()
			if got.StatusCode != http.StatusForbidden {
				t.Errorf("%s reads %s of a job that is not its own: %s %s", who, what, got.Status, text)
			}
		}
		if o := (line.Status{Session: p.session, Availability: line.Free, Idle: 1, Jobs: []line.Report{r}}); p.post(line.ReportPath, o, nil) == http.StatusOK {
			var got line.Orders
			p.must(line.ReportPath, o, &got)
			if len(got.Jobs) > 0 {
				t.Errorf("%s says that it holds the job of another, and is told %+v", who, got.Jobs)
			}
		}
	}
	steals(s.puppet("thief"), "another computer")
	former := r
	former.Stint = line.Nonce() // of an earlier hold
	if status := owner.post(line.JobsPath+r.Tag+"/end", line.End{Stint: former.Stint, Cause: line.ByItself}, nil); status != http.StatusForbidden {
		t.Errorf("the end of an earlier hold of the job is answered %d", status)
	}
	if status := owner.put(former, "out", empty, 0, http.NoBody); status != http.StatusForbidden {
		t.Errorf("a file of an earlier hold of the job is answered %d", status)
	}
	if o := owner.report(r); len(o.Jobs) != 1 || o.Jobs[0].Kill {
		t.Errorf("its own computer hears %+v of it", o.Jobs)
	}
	if err := pool.Revoke(s.conf.Spool, "owner"); err != nil {
		t.Fatal(err)
	}
	steals(owner, "a computer that was removed")
	owner.http.CloseIdleConnections() // another connection, which the earlier one vouches for
	steals(owner, "a computer that was removed and comes back")
	if p := s.end(j); p.Cause == grid.ByItself {
		t.Errorf("it ended %+v", p)
	}
}

// What cannot be is not taken, and changes nothing.
func TestWhatCannotBe(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := s.puppet("liar")
	j := s.submit("true", nil)
	r := p.start(j)
	one := func(path, text string) {
		t.Helper()
		got, err := p.http.Post(p.base+path, "application/json", strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		got.Body.Close()
		if got.StatusCode != http.StatusBadRequest {
			t.Errorf("%s is answered %s to %.200s", path, got.Status, text)
		}
	}
	for _, computer := range []string{
		`"cores":1,"speed":0`, `"cores":1,"speed":-1`, `"cores":1,"speed":1001`, `"cores":1,"speed":1e999`, `"cores":0,"speed":1`, `"cores":1,"speed":1,"memory":-1`, `"cores":1,"speed":1,"disk":-1`,
		`"cores":1,"speed":1,"architecture":"` + strings.Repeat("x", 1000) + `"`,
	} {
		one(line.RegisterPath, fmt.Sprintf(`{"version":%d,"computer":{%s}}`, line.Version, computer))
	}
	for _, status := range []string{
		`"availability":"busy"`, `"availability":"free","idle":2`, `"availability":"free","idle":-1`, `"availability":"free","speed":1001`, `"availability":"free","speed":-1`,
		`"availability":"free","jobs":[{"tag":"` + r.Tag + `","stint":"` + r.Stint + `","state":"running","wall":-1}]`,
		`"availability":"free","jobs":[{"tag":"` + r.Tag + `","stint":"` + r.Stint + `","state":"done"}]`,
		`"availability":"free","jobs":[{"tag":"../../x","stint":"` + r.Stint + `","state":"running"}]`,
		`"availability":"free","why":"` + strings.Repeat("x", line.MaxDetail+1) + `"`,
	} {
		one(line.ReportPath, `{"session":"`+p.session+`",`+status+`}`)
	}
	for _, end := range []string{
		`"cause":"won"`, `"cause":"itself","exit_code":256`, `"cause":"itself","exit_code":-1`, `"cause":"itself","signal":200`, `"cause":"itself","began":1,"ended":2`, `"cause":"itself","ended":-1`,
		`"cause":"itself","cpu":-1`, `"cause":"itself","memory":-1`, `"cause":"itself","detail":"` + strings.Repeat("x", line.MaxDetail+1) + `"`,
	} {
		one(line.JobsPath+r.Tag+"/end", `{"stint":"`+r.Stint+`",`+end+`}`)
	}
	one(line.ReportPath, `{"session":"`+p.session+`","availability":"free","why":"`+strings.Repeat("x", line.MaxMessage)+`"}`)

	for name, size := range map[string]int64{"huge": grid.MaxSandbox + 1, "unknown": -1} {
		read, write := io.Pipe()
		if size < 0 {
			write.Close()
		}
		late := time.AfterFunc(5*time.Second, func() { write.Close() }) // who is to read it waits for it
		if status := p.put(r, name, empty, size, read); status != http.StatusBadRequest {
			t.Errorf("a file of %s size is answered %d", name, status)
		}
		late.Stop()
		write.Close()
	}
	for _, name := range []string{"../out", "/out", "a/../../out", "."} {
		if status := p.put(r, name, "", 0, http.NoBody); status != http.StatusBadRequest {
			t.Errorf("a file called %q is answered %d", name, status)
		}
	}
	if status := p.put(r, "out", strings.Repeat("0", 64), 4, bytes.NewReader([]byte("lies"))); status != http.StatusBadRequest {
		t.Errorf("a file of another content than was told is answered %d", status)
	}
	if list, err := os.ReadDir(j.Work); err != nil || len(list) > 0 {
		t.Errorf("in the sandbox there are %v, %v", list, err)
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(j.Work), "out")); err == nil {
		t.Error("a file lies outside the sandbox")
	}
	if o := p.report(r); len(o.Jobs) != 1 || o.Jobs[0].Kill {
		t.Errorf("after all that it hears %+v", o.Jobs)
	}
	p.must(line.JobsPath+r.Tag+"/end", line.End{Stint: r.Stint, Cause: line.ByItself, ExitCode: 3}, nil)
	if e := s.end(j); e.Cause != grid.ByItself || e.ExitCode != 3 {
		t.Errorf("it ended %+v", e)
	}
}

// Who has no user is no job of a pool: owners admit users, and these are kept apart.
func TestNoUserNoJob(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.puppet("a")
	j := s.draft("true", func(j *grid.Submission) { j.Job.User.Name = "" })
	if _, err := s.Submit(t.Context(), j); !errors.Is(err, grid.ErrInvalid) || !strings.Contains(err.Error(), "jobs of users alone") {
		t.Errorf("a job of nobody: %v", err)
	}
}
