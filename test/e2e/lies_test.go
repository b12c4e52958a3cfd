package e2e

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"gbroker/api"
	"gbroker/grid"
	"gbroker/test/cluster"
	"gbroker/wire"
)

// answers are lies told when a broker asks for an estimate. Each spoils the liar's
// own row of every decision, and nothing else.
var answers = []struct {
	name, refusal string
	hears         func(l *liar, to grid.PeerID, a wire.EstimateRequest)
}{
	{"silent", "no answer in time", func(*liar, grid.PeerID, wire.EstimateRequest) {}},
	{"few", "the answer makes no sense", func(l *liar, to grid.PeerID, a wire.EstimateRequest) {
		l.send(to, wire.EstimateReply{Round: a.Round, Site: l.site})
	}},
	{"many", "the answer makes no sense", func(l *liar, to grid.PeerID, a wire.EstimateRequest) {
		t := l.tell(a, func(wire.Question) grid.Estimate { return grid.Estimate{} })
		t.Answers = append(t.Answers, t.Answers...)
		l.send(to, t)
	}},
	{"confused", "the answer makes no sense", func(l *liar, to grid.PeerID, a wire.EstimateRequest) {
		t := l.tell(a, func(wire.Question) grid.Estimate { return grid.Estimate{} })
		t.Answers[0].Job = "elsewhere.01M7XVNVT1HF2GHP4JW23GK3FT"
		l.send(to, t)
	}},
	{"eternal", "the answer makes no sense", func(l *liar, to grid.PeerID, a wire.EstimateRequest) {
		l.send(to, l.tell(a, func(wire.Question) grid.Estimate { return grid.Estimate{Wait: wire.MaxSpan} }))
	}},
	{"outdated", "no answer in time", func(l *liar, to grid.PeerID, a wire.EstimateRequest) {
		a.Round--
		l.send(to, l.tell(a, func(wire.Question) grid.Estimate { return grid.Estimate{} }))
	}},
}

func TestAbsurdEstimates(t *testing.T) {
	t.Parallel()
	dir := place(t)
	home := newSite(t, dir, "home", cluster.Options{Nodes: 1, Cores: 1})
	honest := newSite(t, dir, "honest", cluster.Options{Nodes: 1, Cores: 2})
	start(t, home, honest)
	introduce(t, home, honest)
	var liars []string
	for _, lie := range answers {
		newLiar(t, dir, lie.name, func(l *liar, from grid.PeerID, m wire.Message) {
			if a, ok := m.(wire.EstimateRequest); ok {
				lie.hears(l, from, a)
			}
		}, home)
		liars = append(liars, lie.name)
	}
	for name, body := range map[string]func(wire.EstimateRequest) any{
		"negative": func(a wire.EstimateRequest) any { return tellBody(a, -5000, 1000) },
		"nan":      func(a wire.EstimateRequest) any { return tellBody(a, 0, math.NaN()) },
		"infinite": func(a wire.EstimateRequest) any { return tellBody(a, 0, math.Inf(1)) },
		"backward": func(a wire.EstimateRequest) any { return tellBody(a, 0, -2) },
	} {
		l := newLiar(t, dir, name, func(l *liar, _ grid.PeerID, m wire.Message) {
			if a, ok := m.(wire.EstimateRequest); ok {
				l.raw(home, wire.KindEstimateReply, body(a))
			}
		}, home)
		t.Cleanup(func() { // the broker says what it thinks of it
			if l.got(func(m wire.Message) bool { e, ok := m.(wire.Error); return ok && e.Of == wire.KindEstimateReply }) == 0 {
				t.Errorf("%s was not answered with an error", l.name)
			}
		})
		liars = append(liars, name)
	}
	must(t, home.Sees(t.Context(), patience, append(liars, "honest")...))

	id := work{script: "true", cpus: 2}.submit(t, home, dir, "job")
	completed(t, home, id, "honest")
	d := first(t, home, id, "honest")
	for _, lie := range answers {
		refused(t, d, lie.name, lie.refusal)
	}
	for _, name := range []string{"negative", "nan", "infinite", "backward"} {
		refused(t, d, name, "no answer in time")
	}
}

func refused(t *testing.T, d api.Decision, name, reason string) {
	t.Helper()
	if r := row(t, d, name).Refusal; r == nil || r.Reason != reason {
		t.Errorf("%s is refused for %+v, and should be for %q", name, r, reason)
	}
}

// tellBody is a Tell as it is encoded, with any numbers.
func tellBody(a wire.EstimateRequest, wait int64, speed float64) any {
	var list []any
	for _, q := range a.Questions {
		list = append(list, map[string]any{"j": string(q.Job), "e": map[string]any{"w": wait}})
	}
	return map[string]any{
		"r": a.Round, "a": list,
		"s": map[string]any{"n": "liar", "p": 1000, "s": speed, "a": "x86_64", "o": "LINUX"},
	}
}

// handoffs are lies told by a site that was chosen and gets an offer (or what else
// comes after it).
var handoffs = []struct {
	name, why string // how the line of history begins that tells of it
	slow      bool   // shows only after the lease of half a minute
	hears     func(l *liar, to grid.PeerID, m wire.Message)
}{
	{"mute", "offer to mute given up: no answer to the offer", false, func(*liar, grid.PeerID, wire.Message) {}},
	{"lazy", "offer to lazy given up: no word while it fetched the files", true, onOffer(func(l *liar, to grid.PeerID, o wire.Offer) {
		l.send(to, wire.Accept{Handoff: o.Handoff})
	})},
	{"forger", "offer to forger given up: it is ready for another job than the one offered", false, onOffer(func(l *liar, to grid.PeerID, o wire.Offer) {
		o.Handoff.Digest[0]++
		l.send(to, wire.Ready{Handoff: o.Handoff})
	})},
	{"futurist", "offer to futurist given up: no answer to the offer", false, onOffer(func(l *liar, to grid.PeerID, o wire.Offer) {
		o.Handoff.Epoch.Hop += 5
		l.send(to, wire.Ready{Handoff: o.Handoff})
		l.send(to, wire.Owned{Handoff: o.Handoff, Owner: l.overlay.Peer()})
	})},
	{"greedy", "offer to greedy given up: no answer to the offer", false, onOffer(func(l *liar, to grid.PeerID, o wire.Offer) {
		l.send(to, wire.Owned{Handoff: o.Handoff, Owner: l.overlay.Peer()})
		l.send(to, wire.Report{Job: o.Handoff.Job, Epoch: o.Handoff.Epoch, Number: 1, State: grid.StageOut, End: grid.Completed, HasExit: true})
		l.send(to, wire.InquireReply{Handoff: o.Handoff, Verdict: wire.VerdictCommitted, Owner: l.overlay.Peer()})
		l.send(to, wire.Unknown{Handoff: o.Handoff})
	})},
	{"moody", "refused by moody: not today", false, onOffer(func(l *liar, to grid.PeerID, o wire.Offer) {
		l.send(to, wire.Refuse{Handoff: o.Handoff, Estimate: grid.Estimate{Refusal: &grid.Refusal{Reason: "not today"}}})
	})},
	{"coy", "declined by coy", false, onOffer(func(l *liar, to grid.PeerID, o wire.Offer) {
		l.send(to, wire.Declined{Handoff: o.Handoff})
	})},
	{"fickle", "declined after the commit by fickle", false, func(l *liar, to grid.PeerID, m wire.Message) {
		switch m := m.(type) {
		case wire.Offer:
			l.send(to, wire.Ready{Handoff: m.Handoff})
		case wire.Commit:
			l.send(to, wire.Declined{Handoff: m.Handoff})
		}
	}},
}

func onOffer(f func(*liar, grid.PeerID, wire.Offer)) func(*liar, grid.PeerID, wire.Message) {
	return func(l *liar, to grid.PeerID, m wire.Message) {
		if o, ok := m.(wire.Offer); ok {
			f(l, to, o)
		}
	}
}

// Each job is drawn to one liar, and runs in the end, once, at an honest site.
func TestBrokenPromises(t *testing.T) {
	t.Parallel()
	dir := place(t)
	home := newSite(t, dir, "home", cluster.Options{Nodes: 1, Cores: 2})
	honest := newSite(t, dir, "honest", cluster.Options{Nodes: 1, Cores: 4})
	start(t, home, honest)
	introduce(t, home, honest)
	var liars []string
	var chosen []int // indices of the lies that are told
	for i, lie := range handoffs {
		if lie.slow && testing.Short() {
			t.Logf("left out with -short: %s", lie.name)
			continue
		}
		newLiar(t, dir, lie.name, func(l *liar, from grid.PeerID, m wire.Message) {
			if a, ok := m.(wire.EstimateRequest); ok {
				l.tempt(from, a, walltimeOf(i))
				return
			}
			lie.hears(l, from, m)
		}, home)
		liars, chosen = append(liars, lie.name), append(chosen, i)
	}
	must(t, home.Sees(t.Context(), patience, liars...))
	var all sync.WaitGroup
	for _, i := range chosen {
		lie := handoffs[i]
		ledger := filepath.Join(dir, lie.name+".ran")
		id := work{script: "echo ran >>" + ledger, walltime: int(walltimeOf(i) / grid.Second)}.submit(t, home, dir, lie.name)
		all.Go(func() { home.Client(t.Context(), "wait", id, "--timeout", "100s") })
		defer func() { brokenPromise(t, home, id, lie.name, lie.why, ledger) }()
	}
	all.Wait()
}

// walltimeOf is the walltime of the jobs that liar i is after.
func walltimeOf(i int) grid.Tick { return grid.Tick(100+i) * grid.Second }

func brokenPromise(t *testing.T, home site, id, liar, why, ledger string) {
	t.Helper()
	st := ended(t, home, id)
	if st.State != "COMPLETED" || !slices.Contains([]string{"home", "honest"}, string(st.Owner)) {
		t.Errorf("%s: the job ended %s at %s: %s", liar, st.State, st.Owner, st.Reason)
	}
	first(t, home, id, liar) // or this shows nothing
	list := decisions(t, home, id)
	refused(t, list[len(list)-1], liar, "refused the offer a moment ago")
	event(t, history(t, home, id), why)
	if ran, err := os.ReadFile(ledger); err != nil || strings.Count(string(ran), "ran\n") != 1 {
		t.Errorf("%s: its job has run %q (%v), and should have once", liar, ran, err)
	}
}
