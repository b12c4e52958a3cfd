package grid

import (
	"slices"
	"strconv"
)

// Result is what is kept of each job of a group when it has ended, also when its record is not any more.
type Result struct {
	State    State // terminal; 0 of one that has not ended
	ExitCode int   // 0 to 255, valid with HasExit
	HasExit  bool
	Signal   int      // 0 to 127
	Site     SiteName // that ran it, if known
}

// Failed tells that the program has ended by itself, and not well.
func (r Result) Failed() bool {
	return r.State == Completed && (r.Signal != 0 || r.HasExit && r.ExitCode != 0)
}

// ResultsPage is how many jobs one Results is of.
const ResultsPage = 256

// resultSize is what one takes, in bytes:
//
//	state | exit code | signal, with 0x80 where there is an exit code | number of the site in Group.Sites from 1 on, or 0
const resultSize = 4

// maxSites bounds Group.Sites. Of jobs that ended at more, it is not kept where.
const maxSites = 255

// Results are those of the jobs Page*ResultsPage+1 and so on of a group.
type Results struct {
	Group GroupID
	Page  int
	Of    []byte // resultSize for each; jobs beyond its end have none
}

// Entity says that the record is that of results.
func (r *Results) Entity() (Kind, string) { return KindResults, ResultsKey(r.Group, r.Page) }

// ResultsKey is what a page is called.
func ResultsKey(g GroupID, page int) string { return string(g) + "." + strconv.Itoa(page) }

// Of is the result of the n-th job of the group of which r is the page that has it.
func (g *Group) Of(r *Results, n int) Result {
	at := (n - 1) % ResultsPage * resultSize
	if r == nil || at+resultSize > len(r.Of) || r.Of[at] == 0 {
		return Result{}
	}
	b := r.Of[at : at+resultSize]
	of := Result{State: State(b[0]), Signal: int(b[2] & 0x7f), HasExit: b[2]&0x80 != 0}
	if of.HasExit {
		of.ExitCode = int(b[1])
	}
	if site := int(b[3]); site > 0 && site <= len(g.Sites) {
		of.Site = g.Sites[site-1]
	}
	return of
}

// Set gives the n-th job of the group its result, in the page that has it.
func (g *Group) Set(r *Results, n int, of Result) {
	at := (n - 1) % ResultsPage * resultSize
	if need := at + resultSize; need > len(r.Of) {
		r.Of = append(r.Of, make([]byte, need-len(r.Of))...)
	}
	b := r.Of[at : at+resultSize]
	if b[0] != 0 {
		g.Ends[b[0]]--
		if g.Of(r, n).Failed() {
			g.Failing = max(0, g.Failing-1) // one that was counted by an older version was not
		}
	}
	g.Ends[of.State]++
	if of.Failed() {
		g.Failing++
	}
	b[0], b[1], b[2], b[3] = byte(of.State), 0, byte(of.Signal&0x7f), g.site(of.Site)
	if of.HasExit {
		b[1], b[2] = byte(of.ExitCode), b[2]|0x80
	}
}

func (g *Group) site(name SiteName) byte {
	if name == "" {
		return 0
	}
	k := slices.Index(g.Sites, name)
	if k < 0 && len(g.Sites) == maxSites {
		return 0
	}
	if k < 0 {
		g.Sites = append(slices.Clip(g.Sites), name)
		k = len(g.Sites) - 1
	}
	return byte(k + 1)
}

// whyEnded says what is known of the end of a job without a record. What is cancelled and ran nowhere was never started, where it is kept
// which site ran a job.
func (g *Group) whyEnded(of Result) string {
	switch {
	case of.Site != "":
		return "of this job of the group no more is kept than its end, at " + string(of.Site)
	case of.State == Killed && !of.HasExit && of.Signal == 0 && len(g.Sites) < maxSites:
		return "cancelled before it started"
	}
	return "of this job of the group no more is kept than its end"
}

// Outline is what is known of the n-th job without a record of its own: it waits for its turn, or of has what
// became of it.
func (g *Group) Outline(n int, of Result) Record {
	r := Record{
		Job:             Job{ID: g.ID.Job(n), Name: g.Name, Home: g.User.Home, User: g.User},
		Submitted:       g.Submitted,
		State:           Submitted,
		CancelRequested: g.CancelRequested,
		Tenure:          Tenure{Role: Owning, Owner: g.User.Home},
	}
	switch {
	case of.State != 0:
		r.State, r.End, r.Ended = of.State, of.State, g.Ended
		r.ExitCode, r.HasExit, r.Signal = of.ExitCode, of.HasExit, of.Signal
		r.Reason = g.whyEnded(of)
	case len(g.Coming) > 0:
		r.Reason = "the files of its group are to come"
	default:
		r.Reason = "it waits for its turn in its group: " + strconv.Itoa(g.Entered) + " of " + strconv.Itoa(g.Jobs) + " jobs have had theirs"
	}
	return r
}
