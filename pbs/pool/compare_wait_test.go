package pool_test

import (
	"net/http"
	"slices"
	"testing"

	"gbroker/grid"
	"gbroker/pbs/pool/line"
)

// Computers that all wait for another's result give each other theirs.
func TestResultsWaitForEachOther(t *testing.T) {
	t.Parallel()
	s := untrusting(t)
	wide := func(j *grid.Submission) {
		twice(j)
		j.Job.Demand.Chunks[0].Cores = 4
	}
	a := s.puppet("a")
	one := s.submit("true", wide)
	onA := a.begins(one)
	two := s.submit("true", wide)
	b := s.puppet("b")
	onB := b.begins(two)
	if x, y := a.comes(onA, "x"), b.comes(onB, "x"); x != http.StatusServiceUnavailable || y != http.StatusServiceUnavailable {
		t.Fatalf("the first results are answered %d and %d", x, y)
	}
	if status := b.comes(b.beginsBeside(one, onB), "x"); status != http.StatusOK {
		t.Errorf("the second result of the first job is answered %d", status)
	}
	if status := a.comes(a.beginsBeside(two, onA), "x"); status != http.StatusOK {
		t.Errorf("the second result of the second job is answered %d", status)
	}
	for _, j := range []grid.Submission{one, two} {
		if e := s.end(j); e.Cause != grid.ByItself {
			t.Errorf("it ended %+v", e)
		}
	}
}

// beginsBeside takes a job to its start at a computer that holds another.
func (p *puppet) beginsBeside(j grid.Submission, held line.Report) line.Report {
	p.Helper()
	r := line.Report{Tag: j.ID.Tag(), Stint: line.Nonce(), State: line.Running}
	held.State = line.Returning
	p.until("the computer is given another job", func() bool {
		return slices.ContainsFunc(p.report(held).Jobs, func(o line.Order) bool { return o.Tag == r.Tag })
	})
	var g line.Granted
	p.must(line.JobsPath+r.Tag+"/start", line.Start{Stint: r.Stint}, &g)
	p.must(line.JobsPath+r.Tag+"/began", line.Began{Stint: r.Stint}, nil)
	return r
}
