package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"gbroker/api"
	"gbroker/grid"
	"gbroker/test/cluster"
	"gbroker/wire"
)

// intrusion is a home and another site with a job at each, and one that waits; and an
// intruder: a member that knows the identifiers of the jobs, since it is asked about
// them, and has nothing to do with them.
type intrusion struct {
	dir, gate          string // the jobs end when there is a file called gate
	home, honest       site
	liar               *liar
	here, there, waits string
	untouched          []string // all three
}

func newIntrusion(t *testing.T) *intrusion {
	t.Helper()
	dir := place(t)
	in := &intrusion{dir: dir, gate: filepath.Join(dir, "gate"),
		home:   newSite(t, dir, "home", cluster.Options{Nodes: 1, Cores: 1}),
		honest: newSite(t, dir, "honest", cluster.Options{Nodes: 1, Cores: 2})}
	start(t, in.home, in.honest)
	introduce(t, in.home, in.honest)
	in.liar = newLiar(t, dir, "intruder", func(l *liar, from grid.PeerID, m wire.Message) {
		if a, ok := m.(wire.EstimateRequest); ok {
			l.tempt(from, a, -1)
		}
	}, in.home, in.honest)
	must(t, in.home.Sees(t.Context(), patience, "intruder", "honest"))
	must(t, in.honest.Sees(t.Context(), patience, "intruder", "home"))
	held := work{script: "echo before; while [ ! -e " + in.gate + " ]; do sleep 0.2; done; echo after"}
	in.here = held.submit(t, in.home, dir, "here")
	reaches(t, in.home, in.here, "RUNNING")
	held.cpus = 2
	in.there = held.submit(t, in.home, dir, "there")
	reaches(t, in.home, in.there, "RUNNING")
	in.waits = held.submit(t, in.home, dir, "waits")
	reaches(t, in.home, in.waits, "ASSIGNED")
	in.untouched = []string{in.here, in.there, in.waits}
	for _, id := range in.untouched {
		if in.liar.got(func(m wire.Message) bool { a, ok := m.(wire.EstimateRequest); return ok && asksAbout(a, id) }) == 0 {
			t.Fatalf("the intruder was not asked about %s: this shows nothing", id)
		}
	}
	return in
}

// check sees that the lies changed nothing, and that all jobs end as they should.
func (in *intrusion) check(t *testing.T) {
	t.Helper()
	for _, id := range in.untouched {
		if st := status(t, in.home, id); st.Terminal() || st.CancelRequested || st.Owner == "intruder" {
			t.Errorf("after the lies job %s is %s at %s, cancel requested: %t\n%s", id, st.State, st.Owner, st.CancelRequested,
				lines(history(t, in.home, id)))
		}
	}
	must(t, os.WriteFile(in.gate, nil, 0o644))
	completed(t, in.home, in.here, "home")
	completed(t, in.home, in.there, "honest")
	completed(t, in.home, in.waits, "honest")
	for _, id := range in.untouched {
		out := filepath.Join(in.dir, "out", id)
		client(t, in.home, "output", id, out)
		if b, _ := os.ReadFile(filepath.Join(out, "stdout")); string(b) != "before\nafter\n" {
			t.Errorf("the output of %s is %q", id, b)
		}
	}
	for _, s := range []site{in.home, in.honest} {
		for _, st := range told[[]api.Status](t, s, "list") {
			if !slices.Contains(in.untouched, string(st.ID)) {
				t.Errorf("%s has a job that nobody handed in: %+v", s.Name, st)
			}
		}
	}
}

// An intruder tells everybody everything about jobs it has nothing to do with.
func TestIntruder(t *testing.T) {
	t.Parallel()
	in := newIntrusion(t)
	for _, s := range []site{in.home, in.honest} {
		in.liar.lie(t, s, func(id grid.JobID, e grid.Epoch, to grid.PeerID) []wire.Message {
			list := slices.Concat(in.liar.aboutJob(id, e), in.liar.aboutHandoff(id, e, to))
			if e.Compare(grid.Epoch{Term: 1, Hop: 1}) <= 0 {
				list = append(in.liar.reports(id, e), list...)
			}
			return list
		}, in.untouched)
	}
	in.check(t)
}

// An intruder claims to own jobs at an epoch to come.
func TestForgedReports(t *testing.T) {
	t.Parallel()
	in := newIntrusion(t)
	in.liar.lie(t, in.home, func(id grid.JobID, e grid.Epoch, to grid.PeerID) []wire.Message {
		return append(in.liar.reports(id, e), in.liar.aboutHandoff(id, e, to)...)
	}, in.untouched)
	in.check(t)
}

// Only its home hands a job on: an offer of a job whose home is the candidate itself, or
// a site that nobody knows, is refused, and nothing runs.
func TestForgedHomes(t *testing.T) {
	t.Parallel()
	dir := place(t)
	home := newSite(t, dir, "home", cluster.Options{Nodes: 1, Cores: 1})
	start(t, home)
	l := newLiar(t, dir, "intruder", func(l *liar, from grid.PeerID, m wire.Message) {
		if r, ok := m.(wire.Ready); ok {
			l.send(from, wire.Commit{Handoff: r.Handoff})
		}
	}, home)
	must(t, home.Sees(t.Context(), patience, "intruder"))
	r, err := home.Ready()
	must(t, err)
	to := grid.PeerID(r.Peer)
	for id, owner := range map[grid.JobID]grid.PeerID{
		"home.01M7XVNVT1HF2GHP4JW23GK3FT":    to,
		"nowhere.01M7XVNVT1HF2GHP4JW23GK3FV": "12D3KooWK99VoVxNE7XzyBwXEzW7xhK7Gpv85r9F3V3fyKSUKPH5",
	} {
		job := aJob(id, owner)
		l.send(to, wire.Offer{Job: job, Handoff: wire.HandoffID{
			Job: id, Epoch: grid.Epoch{Term: 1, Hop: 1}, To: to, Digest: wire.JobDigest(job),
		}})
	}
	eventually(t, "an error for both offers", func() bool {
		return l.got(func(m wire.Message) bool { e, ok := m.(wire.Error); return ok && e.Of == wire.KindOffer }) == 2
	})
	if list := told[[]api.Status](t, home, "list"); len(list) > 0 {
		t.Errorf("it took jobs that are nobody's: %+v", list)
	}
}

// aJob is a small job that an owner claims to be home of.
func aJob(id grid.JobID, home grid.PeerID) grid.Job {
	return grid.Job{
		ID: id, Home: home, User: grid.User{Home: home, Name: "root"}, Walltime: grid.Minute,
		Program: grid.Program{Executable: "/bin/true"},
		Demand:  grid.Demand{Chunks: []grid.Chunk{{Count: 1, Processes: 1, Cores: 1}}},
	}
}

func asksAbout(a wire.EstimateRequest, id string) bool {
	return slices.ContainsFunc(a.Questions, func(q wire.Question) bool { return string(q.Job) == id })
}

// lie sends what words gives about jobs, at several epochs, and waits until it was
// read: a broker answers a wrong offer, which comes last, with an error.
func (l *liar) lie(t *testing.T, s site, words func(grid.JobID, grid.Epoch, grid.PeerID) []wire.Message, ids []string) {
	t.Helper()
	r, err := s.Ready()
	must(t, err)
	to := grid.PeerID(r.Peer)
	refusals := func() int {
		return l.got(func(m wire.Message) bool { e, ok := m.(wire.Error); return ok && e.Of == wire.KindOffer })
	}
	before, wrong := refusals(), 0
	for _, id := range ids {
		for _, e := range []grid.Epoch{{Term: 1}, {Term: 1, Hop: 1}, {Term: 1, Hop: 9}, {Term: 7}} {
			for _, m := range words(grid.JobID(id), e, to) {
				if m.Kind() == wire.KindOffer {
					wrong++
				}
				// The queue of messages is bounded.
				eventually(t, "room for a lie", func() bool { return l.overlay.Send(to, m) == nil })
			}
		}
	}
	eventually(t, fmt.Sprintf("errors for %d wrong offers at %s", wrong, s.Name), func() bool {
		return refusals() >= before+wrong
	})
}

// aboutJob are words that only its home or its owner may say.
func (l *liar) aboutJob(id grid.JobID, e grid.Epoch) []wire.Message {
	return []wire.Message{
		wire.Cancel{Job: id, Epoch: e},
		wire.ReportAck{Job: id, Epoch: e, Number: 1, Closed: true},
		wire.ReportAck{Job: id, Epoch: e, Number: 99, Cancel: true},
		wire.Closed{Job: id, Term: e.Term},
	}
}

// reports are words of an owner to the home.
func (l *liar) reports(id grid.JobID, e grid.Epoch) []wire.Message {
	return []wire.Message{
		wire.Report{Job: id, Epoch: e, Number: 99, State: grid.Running, Attempt: 1},
		wire.Report{Job: id, Epoch: e, Number: 100, State: grid.StageOut, End: grid.Completed, HasExit: true, ExitCode: 66},
		wire.Report{Job: id, Epoch: e, Number: 101, State: grid.StageOut, End: grid.Killed, Cancel: true},
	}
}

// aboutHandoff are words of handoffs that nobody agreed on, and offers whose handoff id is
// wrong.
func (l *liar) aboutHandoff(id grid.JobID, e grid.Epoch, to grid.PeerID) []wire.Message {
	var list []wire.Message
	job := aJob(id, to)
	for _, b := range []wire.HandoffID{
		{Job: id, Epoch: e, To: l.overlay.Peer(), Digest: wire.JobDigest(job)},
		{Job: id, Epoch: e, To: to},
	} {
		list = append(list,
			wire.Accept{Handoff: b}, wire.Refuse{Handoff: b, Estimate: grid.Estimate{Wait: 1}}, wire.Ready{Handoff: b},
			wire.Abort{Handoff: b, Why: "a lie"}, wire.Commit{Handoff: b}, wire.Commit{Handoff: b, Cancel: true},
			wire.Owned{Handoff: b, Owner: l.overlay.Peer()}, wire.Inquire{Handoff: b}, wire.Declined{Handoff: b}, wire.Unknown{Handoff: b},
			wire.InquireReply{Handoff: b, Verdict: wire.VerdictCommitted, Owner: l.overlay.Peer(), Cancel: true},
			wire.InquireReply{Handoff: b, Verdict: wire.VerdictAborted},
			wire.Offer{Handoff: b, Job: job},
		)
	}
	return list
}
