package broker

import (
	"errors"
	"fmt"
	"testing"

	"gbroker/broker/core"
	"gbroker/grid"
	"gbroker/wire"
)

// Where one message of several is not answered, what the others found is told; of its jobs nothing is known.
func TestWhereAllOfSome(t *testing.T) {
	t.Parallel()
	b := NewBroker(core.Config{Self: me}, nil, Ports{})
	go func() {
		for {
			select {
			case e := <-b.events:
				w := e.(core.Where)
				a := core.Answer{Token: w.Token, Where: grid.Decision{Chosen: "a"}, Beside: make([]grid.Decision, len(w.Beside))}
				if w.Job.Name == "fails" {
					a = core.Answer{Token: w.Token, Err: grid.ErrUnavailable}
				}
				b.answer(a)
			case <-t.Context().Done():
				return
			}
		}
	}()
	jobs := make([]grid.Job, 2*wire.MaxAsked+1)
	jobs[wire.MaxAsked].Name = "fails"
	got, err := b.WhereAllOf(t.Context(), jobs)
	if err != nil || len(got) != len(jobs) || got[0].Chosen != "a" || got[wire.MaxAsked].Chosen != "" || got[2*wire.MaxAsked].Chosen != "a" {
		t.Errorf("%d answers (%v)", len(got), err)
	}
	if got, err := b.WhereAllOf(t.Context(), jobs[wire.MaxAsked:2*wire.MaxAsked]); !errors.Is(err, grid.ErrUnavailable) || got != nil {
		t.Errorf("nothing is known, and %d answers are told (%v)", len(got), err)
	}
}

// More jobs than one message asks about are asked about in several, and each has its own answer.
func TestWhereAllOfMany(t *testing.T) {
	t.Parallel()
	b := NewBroker(core.Config{Self: me}, nil, Ports{})
	asked := make(chan int, 8)
	go func() {
		for {
			select {
			case e := <-b.events:
				w := e.(core.Where)
				asked <- 1 + len(w.Beside)
				a := core.Answer{Token: w.Token, Where: grid.Decision{Chosen: grid.SiteName(w.Job.Name)}}
				for _, j := range w.Beside {
					a.Beside = append(a.Beside, grid.Decision{Chosen: grid.SiteName(j.Name)})
				}
				b.answer(a)
			case <-t.Context().Done():
				return
			}
		}
	}()
	for _, n := range []int{0, 1, wire.MaxAsked, wire.MaxAsked + 1, 2*wire.MaxAsked + 3} {
		jobs := make([]grid.Job, n)
		for i := range jobs {
			jobs[i].Name = fmt.Sprint("j", i)
		}
		got, err := b.WhereAllOf(t.Context(), jobs)
		if err != nil || len(got) != n {
			t.Fatalf("%d jobs: %d answers, %v", n, len(got), err)
		}
		for i := range got {
			if string(got[i].Chosen) != jobs[i].Name {
				t.Errorf("the answer of %s is that of %s", jobs[i].Name, got[i].Chosen)
			}
		}
		for left := n; left > 0; {
			k := <-asked
			if left -= k; k > wire.MaxAsked || left < 0 {
				t.Fatalf("%d of %d jobs are asked about at once", k, n)
			}
		}
	}
}
