package daemon

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"gbroker/api"
	"gbroker/grid"
)

// followed are the events of the feed behind a position, to the first that is as it should be; and the last position that came.
func (r *running) followed(after api.Position, what string, is func(api.FeedEvent) bool, kinds ...api.Kind) (seen []api.FeedEvent, at api.Position) {
	r.Helper()
	ctx, stop := context.WithTimeout(r.Context(), time.Minute)
	defer stop()
	enough := errors.New("enough")
	err := r.Changes(ctx, after, func(e api.FeedEvent) error {
		if seen = append(seen, e); e.At != (api.Position{}) {
			at = e.At
		}
		if is(e) {
			return enough
		}
		return nil
	}, kinds...)
	if !errors.Is(err, enough) {
		r.Fatalf("%s: %v, after %+v", what, err, seen)
	}
	return seen, at
}

// A group, a reservation and a workflow are followed to their ends, by who goes on in the middle too, each as its list has it; who
// asks for jobs alone hears of nothing else.
func TestChangesOfAllKindsOfASite(t *testing.T) {
	t.Parallel()
	a := serveSite(t, "alpha", 2)
	here := func(e api.FeedEvent) bool { return e.Name == api.EventHere }
	_, begin := a.followed(api.Position{}, "it begins", here, api.Kinds...)

	g, err := a.SubmitGroup(t.Context(), api.GroupSubmission{Key: "g", Name: "both", Jobs: []api.Submission{
		{Name: "j.jsdl", Document: documentOf("one", "true", 1)}, {Name: "j.jsdl", Document: documentOf("two", "true", 1)},
	}})
	if err != nil {
		t.Fatal(err)
	}
	over := func(e api.FeedEvent) bool { return e.Group != nil && e.Group.ID == g.ID && e.Group.Ended != 0 }
	seen, _ := a.followed(begin, "the end of the group", over, api.Kinds...)
	if last := seen[len(seen)-1].Group; last.Over != 2 || last.States["COMPLETED"] != 2 || len(last.Members) > 0 {
		t.Errorf("the group is told as %+v", last)
	}
	if !slices.ContainsFunc(seen, func(e api.FeedEvent) bool { return e.Job != nil && e.Job.ID == g.ID.Job(2) }) {
		t.Error("of its jobs nothing is told")
	}

	from := grid.InstantOf(time.Now()) + grid.Hour
	h, err := a.Reserve(t.Context(), api.ReservationRequest{Nodes: 1, Cores: 1, From: api.Time(from), Span: 600})
	if err != nil {
		t.Fatal(err)
	}
	held := func(e api.FeedEvent) bool { return e.Reservation != nil && e.Reservation.State == h.State }
	seen, _ = a.followed(begin, "the reservation", held, api.KindGroup, api.KindReservation)
	if r := seen[len(seen)-1].Reservation; r.ID != h.ID || r.Site != "alpha" || r.User != g.User {
		t.Errorf("the reservation is told as %+v", r)
	}
	// That broke within a piece: it comes again, as it is.
	seen, middle := a.followed(begin, "where it was", here, api.KindGroup, api.KindReservation)
	if !slices.ContainsFunc(seen, over) || !slices.ContainsFunc(seen, held) {
		t.Errorf("again is told %+v", seen)
	}
	if _, err := a.ReleaseReservation(t.Context(), h.ID); err != nil {
		t.Fatal(err)
	}
	seen, _ = a.followed(middle, "its end", func(e api.FeedEvent) bool {
		return e.Reservation != nil && e.Reservation.State == grid.Released.String() || e.Name == api.EventRemoved && e.ID == string(h.ID) && e.Kind == api.KindReservation
	}, api.KindGroup, api.KindReservation)
	if slices.ContainsFunc(seen, func(e api.FeedEvent) bool { return e.Group != nil }) {
		t.Errorf("what came before the middle is told behind it: %+v", seen)
	}

	f, err := a.SubmitFlow(t.Context(), api.FlowSubmission{Key: "f", Name: "w", Tasks: []api.FlowTask{{Name: "only", Document: documentOf("only", "true", 1), RuntimeS: 1}}})
	if err != nil {
		t.Fatal(err)
	}
	seen, middle = a.followed(middle, "the end of the workflow", func(e api.FeedEvent) bool { return e.Flow != nil && e.Flow.ID == f.ID && e.Flow.State == "ended" }, api.KindFlow)
	if last := seen[len(seen)-1].Flow; last.States[api.FlowDone] != 1 || len(last.Tasks)+len(last.Edges) > 0 {
		t.Errorf("the workflow is told as %+v", last)
	}
	if err := errors.Join(a.RemoveFlow(t.Context(), f.ID), a.RemoveGroup(t.Context(), g.ID)); err != nil {
		t.Fatal(err)
	}
	for id, kind := range map[string]api.Kind{string(f.ID): api.KindFlow, string(g.ID): api.KindGroup} {
		a.followed(middle, fmt.Sprint("the removal of ", id), func(e api.FeedEvent) bool { return e.Name == api.EventRemoved && e.ID == id && e.Kind == kind }, api.Kinds...)
	}

	last := a.submit("last", "true", 1)
	seen, _ = a.followed(begin, "the last job", func(e api.FeedEvent) bool { return e.Job != nil && e.Job.ID == last })
	for _, e := range seen {
		if e.Job == nil && e.Kind != api.KindJob && !here(e) {
			t.Errorf("who names no kind is told %+v", e)
		}
	}
}
