package e2e

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"gbroker/api"
	"gbroker/grid"
	"gbroker/test/cluster"
)

type site = *cluster.Site

// told is what gclient says with --json, which is started only where the question is not one of [cluster.Site.View].
func told[T any](t *testing.T, s site, args ...string) T {
	t.Helper()
	var v T
	switch err := s.View(t.Context(), &v, args...); {
	case err == nil:
		return v
	case !errors.Is(err, cluster.ErrOtherQuestion):
		t.Fatalf("asking %s for %v: %v", s.Name, args, err)
	}
	return shown[T](t, s, args...)
}

// shown runs gclient with --json and decodes what it says.
func shown[T any](t *testing.T, s site, args ...string) T {
	t.Helper()
	var v T
	out := client(t, s, append(args, "--json")...)
	if err := json.Unmarshal([]byte(out), &v); err != nil {
		t.Fatalf("gclient %v at %s says %q: %v", args, s.Name, out, err)
	}
	return v
}

func status(t *testing.T, s site, id string) api.Status {
	t.Helper()
	return told[api.Status](t, s, "status", id)
}

// ended waits for the end of a job and gives its last status.
func ended(t *testing.T, s site, id string) api.Status {
	t.Helper()
	r := s.Client(t.Context(), "wait", id, "--timeout", "100s")
	st := status(t, s, id)
	if !st.Terminal() {
		t.Fatalf("job %s does not end: it is %s at %s: %s\ngclient wait: %d %s%s", id, st.State, st.Owner, st.Reason,
			r.Code, r.Stderr, lines(history(t, s, id)))
	}
	return st
}

// completed waits for a job that should end by itself with exit code 0 and have run at
// a site.
func completed(t *testing.T, s site, id, at string) api.Status {
	t.Helper()
	st := ended(t, s, id)
	if st.State != "COMPLETED" || st.ExitCode == nil || *st.ExitCode != 0 || string(st.Owner) != at {
		t.Fatalf("job %s ended %s at %s (exit code %v, %s), not COMPLETED at %s\n%s", id, st.State, st.Owner,
			deref(st.ExitCode), st.Reason, at, lines(history(t, s, id)))
	}
	return st
}

func deref(n *int) any {
	if n == nil {
		return "none"
	}
	return *n
}

// reaches waits until a job is in a state.
func reaches(t *testing.T, s site, id, state string) {
	t.Helper()
	eventually(t, "job "+id+" is to become "+state, func() bool {
		st := status(t, s, id)
		if st.Terminal() && st.State != state {
			t.Fatalf("job %s ended %s (%s) and was to become %s", id, st.State, st.Reason, state)
		}
		return st.State == state
	})
}

func history(t *testing.T, s site, id string) []api.Event {
	t.Helper()
	return told[api.History](t, s, "history", id).Events
}

func lines(events []api.Event) string {
	var b strings.Builder
	for _, e := range events {
		b.WriteString(e.At.String() + " " + e.State + " " + string(e.Site) + " " + e.Epoch + " " + e.Why + "\n")
	}
	return b.String()
}

// event finds the first line of a history whose why begins so.
func event(t *testing.T, events []api.Event, why string) api.Event {
	t.Helper()
	for _, e := range events {
		if strings.HasPrefix(e.Why, why) {
			return e
		}
	}
	t.Fatalf("no line of this history begins with %q:\n%s", why, lines(events))
	return api.Event{}
}

func seconds(t api.Time) float64 { return grid.Tick(t).Seconds() }

// decisions are all decisions about a job, once there is one, each recomputed from its
// terms.
func decisions(t *testing.T, s site, id string) (list []api.Decision) {
	t.Helper()
	eventually(t, "a decision about "+id, func() bool {
		list = told[api.Explanation](t, s, "explain", id).Decisions
		return len(list) > 0
	})
	st := status(t, s, id)
	speeds := map[grid.SiteName]float64{}
	for _, v := range told[[]api.Site](t, s, "sites") {
		speeds[v.Name] = v.Speed
	}
	for _, d := range list {
		recompute(t, s.Name, st.WalltimeS, speeds, d)
	}
	return list
}

// recompute checks that each total is what its terms give (to the millisecond, which
// is what a broker reckons in) and that the least is chosen; of equals the site
// itself, then the first by name.
func recompute(t *testing.T, self string, walltime float64, speeds map[grid.SiteName]float64, d api.Decision) {
	t.Helper()
	var best *api.Candidate
	before := func(a, b *api.Candidate) bool {
		if *a.TotalS != *b.TotalS {
			return *a.TotalS < *b.TotalS
		}
		if here := string(a.Site) == self; here || string(b.Site) == self {
			return here
		}
		return a.Site < b.Site
	}
	for i := range d.Candidates {
		c := &d.Candidates[i]
		if c.Refusal != nil {
			if c.Chosen {
				t.Errorf("%s refused (%s) and was chosen", c.Site, c.Refusal.Reason)
			}
			continue
		}
		delivery := 0.0
		if c.Bandwidth != nil {
			delivery = float64(c.SizeBytes) / *c.Bandwidth
		}
		near(t, string(c.Site)+": delivery", c.DeliveryS, delivery, 0.0006)
		near(t, string(c.Site)+": run", c.RunS, walltime/speeds[c.Site], 0.0006)
		near(t, string(c.Site)+": total", *c.TotalS, c.DeliveryS+*c.WaitS+c.RunS+c.CrowdedS, 1e-6)
		if best == nil || before(c, best) {
			best = c
		}
	}
	switch {
	case best == nil && d.Chosen != nil:
		t.Errorf("all refused, and %s was chosen", *d.Chosen)
	case best != nil && (d.Chosen == nil || *d.Chosen != best.Site || !best.Chosen):
		t.Errorf("chosen is %v and not the least, %s: %+v", d.Chosen, best.Site, d.Candidates)
	}
}

// near fails the test if got is farther from want than within.
func near(t *testing.T, what string, got, want, within float64) {
	t.Helper()
	if !(math.Abs(got-want) <= within) {
		t.Errorf("%s is %g and not within %g of %g", what, got, within, want)
	}
}

// row is a site's row of a decision.
func row(t *testing.T, d api.Decision, name string) api.Candidate {
	t.Helper()
	for _, c := range d.Candidates {
		if string(c.Site) == name {
			return c
		}
	}
	t.Fatalf("site %s has no row in %+v", name, d.Candidates)
	return api.Candidate{}
}

// waited is the wait at a site that did not refuse; at the least, where it was not asked as it could not be better.
func waited(t *testing.T, c api.Candidate) float64 {
	t.Helper()
	return orLeast(t, c, c.WaitS, c.WaitLeastS)
}

func total(t *testing.T, c api.Candidate) float64 {
	t.Helper()
	return orLeast(t, c, c.TotalS, c.TotalLeastS)
}

func orLeast(t *testing.T, c api.Candidate, known, least *float64) float64 {
	t.Helper()
	switch {
	case known != nil:
		return *known
	case !c.Told || least == nil:
		t.Fatalf("%s has refused, or nothing is known of it: %+v", c.Site, c)
	}
	return *least
}

// placing is the decision by which a job came to chosen: the first, or the one after an offer was refused because what had been told of
// starts there was no longer so.
func placing(t *testing.T, s site, id, chosen string) api.Decision {
	t.Helper()
	list := decisions(t, s, id)
	if len(list) > 1 && list[0].Chosen != nil && slices.ContainsFunc(list[0].Candidates, func(c api.Candidate) bool { return c.Chosen && c.Told }) {
		list = list[1:]
	}
	if list[0].Chosen == nil || string(*list[0].Chosen) != chosen {
		t.Fatalf("the choice for %s should be %s: %s", id, chosen, client(t, s, "explain", id))
	}
	return list[0]
}

// first is the first decision about a job; chosen must be its choice.
func first(t *testing.T, s site, id, chosen string) api.Decision {
	t.Helper()
	list := decisions(t, s, id)
	if list[0].Chosen == nil || string(*list[0].Chosen) != chosen {
		t.Fatalf("the first choice for %s should be %s: %s", id, chosen, client(t, s, "explain", id))
	}
	return list[0]
}
