package pool_test

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/pbs/pool"
	"gbroker/pbs/pool/line"
)

// twice lets a job run on several computers at once.
func twice(j *grid.Submission) {
	j.Job.Program.Environment = append(j.Job.Program.Environment, grid.Variable{Name: pool.Twice, Value: "1"})
}

// begins takes a job to its start, and tells that its program runs.
func (p *puppet) begins(j grid.Submission) line.Report {
	p.Helper()
	r := p.start(j)
	p.must(line.JobsPath+r.Tag+"/began", line.Began{Stint: r.Stint}, nil)
	return r
}

// stands reports that the owner of the computer is at work.
func (p *puppet) stands(jobs ...line.Report) (o line.Orders) {
	p.Helper()
	p.must(line.ReportPath, line.Status{Session: p.session, Availability: line.Active, Speed: 1, Disk: 1 << 40, Jobs: jobs}, &o)
	return o
}

// leaves brings a file with some content.
func (p *puppet) leaves(r line.Report, name, content string) int {
	sum := sha256.Sum256([]byte(content))
	return p.put(r, name, hex.EncodeToString(sum[:]), int64(len(content)), strings.NewReader(content))
}

// ends tells the end of a job, and gives the status of the answer.
func (p *puppet) ends(r line.Report, cause string) int {
	p.Helper()
	return p.post(line.JobsPath+r.Tag+"/end", line.End{Stint: r.Stint, Cause: cause, Detail: cause}, nil)
}

// race is a job that leads at computer a, which stands still, and has a copy at computer b.
func race(t *testing.T, change func(*grid.Submission)) (s *site, j grid.Submission, a, b *puppet, onA, onB line.Report) {
	t.Helper()
	s = newSite(t)
	a = s.puppet("a")
	j = s.submit("true", change)
	onA = a.begins(j)
	a.stands(onA)
	b = s.puppet("b")
	return s, j, a, b, onA, b.begins(j)
}

// content is what a job has come to: the files of its sandbox.
func content(t *testing.T, j grid.Submission) (names []string, out string) {
	t.Helper()
	list, err := os.ReadDir(j.Work)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range list {
		names = append(names, d.Name())
	}
	data, _ := os.ReadFile(filepath.Join(j.Work, "out"))
	return names, string(data)
}

// The first end counts, with all that its computer has brought and nothing of the other's, whichever is first. The other hears that the job is not its any more.
func TestFirstEndCounts(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]int{"the lead": 0, "the copy": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, j, a, b, onA, onB := race(t, twice)
			both, reports := []*puppet{a, b}, []line.Report{onA, onB}
			for i, p := range both {
				for _, file := range []string{"out", "of " + string(rune('a'+i))} {
					if status := p.leaves(reports[i], file, "of "+string(rune('a'+i))); status != http.StatusOK {
						t.Fatalf("%q is answered %d", file, status)
					}
				}
			}
			if names, _ := content(t, j); slices.Contains(names, "out") {
				t.Error("who has not won has brought what is the job's")
			}
			winner, loser := both[first], both[1-first]
			if status := winner.ends(reports[first], line.ByItself); status != http.StatusOK {
				t.Fatalf("the first end is answered %d", status)
			}
			if status := loser.ends(reports[1-first], line.ByItself); status != http.StatusForbidden {
				t.Errorf("the second end is answered %d", status)
			}
			if p := s.end(j); p.Cause != grid.ByItself || p.ExitCode != 0 {
				t.Errorf("it ended %+v", p)
			}
			want := "of " + string(rune('a'+first))
			if names, out := content(t, j); out != want || !slices.Equal(names, []string{want, "out"}) {
				t.Errorf("%s has won, and there is %q: %q", want, names, out)
			}
			if o := loser.report(reports[1-first]); len(o.Jobs) != 0 {
				t.Errorf("who has lost is still to hold %+v", o.Jobs)
			}
		})
	}
}

// Of two ends at one moment one counts.
func TestEndsAtOnce(t *testing.T) {
	t.Parallel()
	s, j, a, b, onA, onB := race(t, twice)
	a.leaves(onA, "out", "a")
	b.leaves(onB, "out", "b")
	answers := make(chan int)
	go func() { answers <- a.ends(onA, line.ByItself) }()
	of := map[string]int{"b": b.ends(onB, line.ByItself)}
	of["a"] = <-answers
	s.end(j)
	_, out := content(t, j)
	if of[out] != http.StatusOK || of["a"] == of["b"] {
		t.Errorf("the answers are %v, and the job's output is of %q", of, out)
	}
}

// A job whose lead is cut off goes on at the computer of its copy, also where it may not be started again.
func TestCopyGoesOn(t *testing.T) {
	t.Parallel()
	s, j, a, b, onA, onB := race(t, twice)
	a.leaves(onA, "half", "of a")
	if status := a.ends(onA, line.CutOff); status != http.StatusOK {
		t.Fatalf("the cut is answered %d", status)
	}
	if p, err := s.Progress(t.Context(), j.ID, j.Control); err != nil || p.Phase != grid.Started {
		t.Fatalf("it is %+v, %v", p, err)
	}
	b.leaves(onB, "out", "of b")
	s.restart(func() {}) // by the grant the pool knows who leads
	b.session = line.Nonce()
	b.must(line.ConnectPath, line.Connect{Version: line.Version, Session: b.session, Jobs: []line.Report{onB}}, nil)
	if status := b.ends(onB, line.ByItself); status != http.StatusOK {
		t.Fatalf("the end is answered %d", status)
	}
	if p := s.end(j); p.Cause != grid.ByItself {
		t.Errorf("it ended %+v", p)
	}
	if names, out := content(t, j); out != "of b" || len(names) != 1 {
		t.Errorf("there is %q: %q", names, out)
	}
}

// A copy that cannot run at its computer, or is cut off there, is no end of its job, and a pool that is started again knows no copies. What the lead has brought
// apart becomes the job's all the same.
func TestCopyIsGone(t *testing.T) {
	t.Parallel()
	for name, gone := range map[string]func(s *site, b *puppet, r line.Report){
		"cut off":   func(_ *site, b *puppet, r line.Report) { b.ends(r, line.CutOff) },
		"never ran": func(_ *site, b *puppet, r line.Report) { b.ends(r, line.NeverRan) },
		"its agent has lost it": func(_ *site, b *puppet, _ line.Report) {
			b.session = line.Nonce()
			b.must(line.ConnectPath, line.Connect{Version: line.Version, Session: b.session}, nil)
		},
		"the pool is started again": func(s *site, _ *puppet, _ line.Report) { s.restart(func() {}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, j, a, b, onA, onB := race(t, twice)
			a.leaves(onA, "out", "of a")
			b.leaves(onB, "out", "of b")
			gone(s, b, onB)
			if status := b.ends(onB, line.ByItself); status == http.StatusOK {
				t.Error("an end of what is gone is taken")
			}
			if p, err := s.Progress(t.Context(), j.ID, j.Control); err != nil || p.Phase != grid.Started {
				t.Fatalf("it is %+v, %v", p, err)
			}
			a.session = line.Nonce()
			a.must(line.ConnectPath, line.Connect{Version: line.Version, Session: a.session, Jobs: []line.Report{onA}}, nil)
			if status := a.ends(onA, line.ByItself); status != http.StatusOK {
				t.Fatalf("the end of the lead is answered %d", status)
			}
			if names, out := content(t, j); out != "of a" || len(names) != 1 {
				t.Errorf("there is %q: %q", names, out)
			}
			s.end(j)
		})
	}
}

// A copy makes way for a job that waits, and who kills the job kills its copies.
func TestCopyMakesWay(t *testing.T) {
	t.Parallel()
	s, j, a, b, onA, onB := race(t, twice)
	other := s.submit("true", nil)
	s.until("the other job has the computer", func() bool {
		o := b.report(onB)
		return len(o.Jobs) == 1 && o.Jobs[0].Tag == other.ID.Tag()
	})
	if err := s.Kill(t.Context(), j.ID, j.Control); err != nil {
		t.Fatal(err)
	}
	if o := a.stands(onA); len(o.Jobs) != 1 || !o.Jobs[0].Kill {
		t.Errorf("its lead hears %+v", o)
	}
}

// Only who says so runs twice, and not where no computer would end it sooner.
func TestNoCopy(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*grid.Submission){"not declared": nil, "not sooner": twice} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			a := s.puppet("a")
			r := a.begins(s.submit("true", change))
			say := a.report
			if change == nil {
				say = a.stands
			}
			say(r)
			b := s.puppet("b")
			b.report()
			s.submit("true", nil) // a pass that gives this looks at copies too
			s.until("another is given", func() bool { return len(say(r).Jobs)+len(b.report().Jobs) > 1 })
			if o := b.report(); slices.ContainsFunc(o.Jobs, func(o line.Order) bool { return o.Tag == r.Tag }) {
				t.Errorf("it holds a copy: %+v", o.Jobs)
			}
		})
	}
}

// A job that is started again on a computer of another platform begins without the checkpoint; on one of the same it has it.
func TestCheckpointOfAnotherPlatform(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	a := s.puppet("a")
	j := s.submit("true", func(j *grid.Submission) {
		j.Job.Rerunnable = true
		j.Job.Program.Environment = []grid.Variable{{Name: pool.Checkpoint, Value: "state"}}
	})
	r := a.begins(j)
	if status := a.leaves(r, "state/1", "x"); status != http.StatusOK {
		t.Fatal(status)
	}
	for i, architecture := range []string{"arm", "x86_64"} {
		a.ends(r, line.CutOff)
		a.stands()
		b := s.puppet([]string{"b", "c"}[i])
		b.must(line.RegisterPath, line.Register{Version: line.Version, Computer: line.Computer{Architecture: architecture, System: "LINUX", Cores: 4, Speed: 1, Disk: 1 << 40}}, nil)
		a, r = b, b.begins(j)
		var got line.Files
		q, err := b.http.Get(b.base + line.JobsPath + r.Tag + "/files")
		if err != nil {
			t.Fatal(err)
		}
		if err := line.Read(q.Body, &got); err != nil {
			t.Fatal(err)
		}
		q.Body.Close()
		has := slices.ContainsFunc(got.Files, func(f line.File) bool { return string(f.Path) == "state/1" })
		if has != (architecture == "x86_64") {
			t.Errorf("%s: it has the checkpoint: %v", architecture, has)
		}
	}
}

// Who has lost hears so before what the winner has brought moves to its places: nothing of the other's can come between.
func TestCopiesEndBeforeFilesMove(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]int{"the lead wins": 0, "the copy wins": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, j, a, b, onA, onB := race(t, twice)
			both, reports := []*puppet{a, b}, []line.Report{onA, onB}
			for i, p := range both {
				if status := p.leaves(reports[i], "out", string(rune('a'+i))); status != http.StatusOK {
					t.Fatalf("the output is answered %d", status)
				}
			}
			loser, lost := both[1-first], reports[1-first]
			move := s.HoldFiles(j.ID)
			answer := make(chan int, 1)
			go func() { answer <- both[first].ends(reports[first], line.ByItself) }()
			s.until("the other has lost it", func() bool { return len(loser.stands(lost).Jobs) == 0 })
			if status := loser.leaves(lost, "late", "x"); status != http.StatusForbidden {
				t.Errorf("what comes late is answered %d", status)
			}
			if names, _ := content(t, j); slices.Contains(names, "out") {
				t.Error("the files have moved")
			}
			move()
			if status := <-answer; status != http.StatusOK {
				t.Errorf("the end is answered %d", status)
			}
			s.end(j)
			if names, out := content(t, j); len(names) != 1 || out != string(rune('a'+first)) {
				t.Errorf("there is %q: %q", names, out)
			}
		})
	}
}
