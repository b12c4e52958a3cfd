package core

import (
	"fmt"
	"slices"
	"testing"

	"gbroker/grid"
)

// Each slow effect has its queue: what a job's files need is in one order, what the batch system is asked is
// in another; and what waits for others bounds nothing that is done here.
func TestEachEffectHasItsQueue(t *testing.T) {
	t.Parallel()
	j := jobOf(me, "a", "1")
	at := grid.AttemptID{Job: j.ID}
	far := j
	far.Sources = []grid.Source{{}}
	of := string(j.ID)
	for _, k := range []struct {
		e     Effect
		want  WorkKey
		bound WorkKind
	}{
		{Look{}, WorkKey{LookWork, ""}, LookWork},
		{Reconcile{}, WorkKey{LookWork, "reconcile"}, LookWork},
		{Launch{Submission: grid.Submission{ID: at, Job: j}}, WorkKey{FileWork, of}, FileWork},
		{Launch{Submission: grid.Submission{ID: at, Job: far}}, WorkKey{FileWork, of}, FetchWork},
		{Check{Job: j.ID}, WorkKey{FileWork, of}, FileWork},
		{Furnish{Job: j.ID}, WorkKey{FileWork, of}, FileWork},
		{Collect{Job: j}, WorkKey{FileWork, of}, FileWork},
		{Gather{ID: at}, WorkKey{FileWork, of}, FileWork},
		{Withdraw{ID: at}, WorkKey{BatchWork, of}, BatchWork},
		{Kill{ID: at}, WorkKey{BatchWork, of}, BatchWork},
		{Probe{ID: at}, WorkKey{BatchWork, of}, BatchWork},
		{Fetch{Job: j.ID}, WorkKey{FileWork, of}, FetchWork},
		{Discard{Job: j.ID}, WorkKey{FileWork, of}, FileWork},
		{SetAside{Job: j.ID}, WorkKey{FileWork, of}, FileWork},
		{Export{Job: j}, WorkKey{FileWork, of}, FetchWork},
		{Weigh{Job: j}, WorkKey{WeighWork, of}, WeighWork},
		{Notify{Record: grid.Record{Job: j}}, WorkKey{NoticeWork, of}, NoticeWork},
		{Serve{From: her, Number: 7}, WorkKey{ServeWork, string(her) + "/7"}, ServeWork},
		{Reserve{}, WorkKey{ReserveWork, ""}, ReserveWork},
		{Unreserve{}, WorkKey{ReserveWork, ""}, ReserveWork},
		{ListReservations{}, WorkKey{ReserveWork, ""}, ReserveWork},
		{Publish{Job: j.ID}, WorkKey{HintWork, of}, HintWork},
		{Delivered{}, WorkKey{HintWork, "deliveries"}, HintWork},
	} {
		key, ends, slow := Route(k.e)
		if key != k.want || !slow {
			t.Errorf("%T is on %v (slow: %t), want %v", k.e, key, slow, k.want)
		}
		if got := Bound(k.e, key); got != k.bound {
			t.Errorf("%T is bounded as kind %d, want %d", k.e, got, k.bound)
		}
		clears := []WorkKey{{FileWork, of}}
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
