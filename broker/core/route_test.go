package core

import (
	"fmt"
	"slices"
	"testing"

	"gbroker/grid"
)

// Each slow effect has its queue: what a job's files need is in one order, what the batch system is asked is
// in another, and what takes long stands in the way of neither.
func TestEachEffectHasItsQueue(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	at := grid.AttemptID{Job: j.ID}
	far := j
	far.Sources = []grid.Source{{}}
	of := string(j.ID)
	for _, k := range []struct {
		e    Effect
		want WorkKey
	}{
		{Look{}, WorkKey{LookWork, ""}},
		{Reconcile{}, WorkKey{LookWork, "reconcile"}},
		{Launch{Submission: grid.Submission{ID: at, Job: j}}, WorkKey{FileWork, of}},
		{Launch{Submission: grid.Submission{ID: at, Job: far}}, WorkKey{FetchWork, of}},
		{Check{Job: j.ID}, WorkKey{FileWork, of}},
		{Furnish{Job: j.ID}, WorkKey{FileWork, of}},
		{Collect{Job: j}, WorkKey{FileWork, of}},
		{Gather{ID: at}, WorkKey{FileWork, of}},
		{Withdraw{ID: at}, WorkKey{BatchWork, of}},
		{Kill{ID: at}, WorkKey{BatchWork, of}},
		{Probe{ID: at}, WorkKey{BatchWork, of}},
		{Fetch{Job: j.ID}, WorkKey{FetchWork, of}},
		{Discard{Job: j.ID}, WorkKey{FetchWork, of}},
		{SetAside{Job: j.ID}, WorkKey{FetchWork, of}},
		{Export{Job: j}, WorkKey{FetchWork, of}},
		{Weigh{Job: j}, WorkKey{WeighWork, of}},
		{Notify{Record: grid.Record{Job: j}}, WorkKey{NoticeWork, of}},
		{Serve{From: her, Number: 7}, WorkKey{ServeWork, string(her) + "/7"}},
		{Reserve{}, WorkKey{ReserveWork, ""}},
		{Unreserve{}, WorkKey{ReserveWork, ""}},
		{ListReservations{}, WorkKey{ReserveWork, ""}},
		{Publish{Job: j.ID}, WorkKey{HintWork, of}},
		{Delivered{}, WorkKey{HintWork, "deliveries"}},
	} {
		key, ends, slow := Route(k.e)
		if key != k.want || !slow {
			t.Errorf("%T is on %v (slow: %t), want %v", k.e, key, slow, k.want)
		}
		clears := []WorkKey{{FetchWork, of}, {FileWork, of}}
		switch k.e.(type) {
		case Discard, SetAside:
			if !slices.Equal(ends, clears) {
				t.Errorf("%T ends %v before it, want %v", k.e, ends, clears)
			}
		default:
			if len(ends) > 0 {
				t.Errorf("%T ends %v before it", k.e, ends)
			}
		}
	}
	for _, e := range []Effect{Save{}, Send{}, Show{}, Answer{}, Note{}, KeepTold{}} {
		if key, _, slow := Route(e); slow {
			t.Errorf("%s is not at once, but on %v", fmt.Sprintf("%T", e), key)
		}
	}
}
