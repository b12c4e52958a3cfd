package pool_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/pbs/control"
	"gbroker/pbs/pool/line"
)

// untrusting is a pool that trusts none of the computers a, b and c.
func untrusting(t *testing.T) *site {
	t.Helper()
	f := newFleet(t, nil)
	s := &site{T: t, fleet: f, conf: f.config(f.dir + "/spool")}
	s.conf.Site = grid.Site{Name: "here", Speed: 1, Architecture: "x86_64", System: "LINUX"}
	s.conf.Untrusted = []string{"a", "b", "c"}
	s.start()
	t.Cleanup(func() { s.stop() })
	return s
}

// comes leaves a file of some content, and says the end.
func (p *puppet) comes(r line.Report, content string) int {
	p.Helper()
	if status := p.leaves(r, "out", content); status != http.StatusOK {
		p.Fatalf("the output is answered %d", status)
	}
	return p.ends(r, line.ByItself)
}

// Of an untrusted computer a result counts once another computer has come to the same.
func TestResultsAreCompared(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		contents []string // of a, b, and c if it is asked
		out      string   // "" is that it fails
	}{
		"two agree":           {[]string{"x", "x"}, "x"},
		"the third decides":   {[]string{"x", "y", "x"}, "x"},
		"the third decides b": {[]string{"x", "y", "y"}, "y"},
		"all differ":          {[]string{"x", "y", "z"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := untrusting(t)
			a := s.puppet("a")
			j := s.submit("true", twice)
			puppets, reports := []*puppet{a}, []line.Report{a.begins(j)}
			for i, text := range test.contents {
				if i > 0 {
					p := s.puppet(string(rune('a' + i)))
					puppets, reports = append(puppets, p), append(reports, p.begins(j))
				}
				want := http.StatusServiceUnavailable
				if i == len(test.contents)-1 {
					want = http.StatusOK
				}
				if status := puppets[i].comes(reports[i], text); status != want {
					t.Fatalf("result %d is answered %d", i, status)
				}
				if names, _ := content(t, j); want != http.StatusOK && slices.Contains(names, "out") {
					t.Error("a result that was not compared is the job's")
				}
			}
			p := s.end(j)
			names, out := content(t, j)
			switch {
			case test.out != "" && (p.Cause != grid.ByItself || out != test.out || len(names) != 1):
				t.Errorf("it ended %+v with %q: %q", p, names, out)
			case test.out == "" && (p.Cause != grid.Unbrought || !strings.Contains(p.Detail, "a, b, c") || len(names) > 0):
				t.Errorf("it ended %+v with %q", p, names)
			}
			if status := a.ends(reports[0], line.ByItself); status != http.StatusForbidden {
				t.Errorf("who had waited is answered %d", status)
			}
		})
	}
}

// What a trusted computer says counts at once, and so does all of jobs that may not run twice.
func TestResultsThatAreNotCompared(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		computer string
		change   func(*grid.Submission)
	}{"trusted": {"d", twice}, "once": {"a", nil}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := untrusting(t)
			p := s.puppet(test.computer)
			j := s.submit("true", test.change)
			if status := p.comes(p.begins(j), "x"); status != http.StatusOK {
				t.Fatalf("the end is answered %d", status)
			}
			if e := s.end(j); e.Cause != grid.ByItself {
				t.Errorf("it ended %+v", e)
			}
			if _, out := content(t, j); out != "x" {
				t.Errorf("it left %q", out)
			}
		})
	}
}

// A trusted computer that runs the job beside an untrusted one decides.
func TestTrustedDecides(t *testing.T) {
	t.Parallel()
	s := untrusting(t)
	a := s.puppet("a")
	j := s.submit("true", twice)
	r := a.begins(j)
	if status := a.comes(r, "lie"); status != http.StatusServiceUnavailable {
		t.Fatalf("the first is answered %d", status)
	}
	if p, err := s.Progress(t.Context(), j.ID, j.Control); err != nil || p.Phase != grid.Started || !strings.Contains(p.Still, "compared") {
		t.Errorf("it is %+v, %v", p, err)
	}
	d := s.puppet("d")
	if status := d.comes(d.begins(j), "truth"); status != http.StatusOK {
		t.Fatalf("the second is answered %d", status)
	}
	s.end(j)
	if _, out := content(t, j); out != "truth" {
		t.Errorf("it left %q", out)
	}
}

// A result that waits is no end where the user wants none, and it waits on over a restart of the pool.
func TestResultThatWaits(t *testing.T) {
	t.Parallel()
	s := untrusting(t)
	a := s.puppet("a")
	j := s.submit("true", twice)
	r := a.begins(j)
	if status := a.comes(r, "x"); status != http.StatusServiceUnavailable {
		t.Fatalf("it is answered %d", status)
	}
	s.restart(func() {})
	a.session = line.Nonce()
	a.must(line.ConnectPath, line.Connect{Version: line.Version, Session: a.session, Jobs: []line.Report{r}}, nil)
	if status := a.ends(r, line.ByItself); status != http.StatusServiceUnavailable {
		t.Fatalf("to the pool that was started again it is answered %d", status)
	}
	if err := s.Kill(t.Context(), j.ID, j.Control); err != nil {
		t.Fatal(err)
	}
	if asked, err := control.KillAsked(j.Control, j.ID); !asked || err != nil {
		t.Fatal(asked, err)
	}
	if status := a.ends(r, line.ByItself); status != http.StatusOK {
		t.Fatalf("after the kill it is answered %d", status)
	}
	if p := s.end(j); p.Cause != grid.ByRequest {
		t.Errorf("it ended %+v", p)
	}
}
