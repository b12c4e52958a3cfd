package core

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"gbroker/grid"
	"gbroker/wire"
)

// holder steps the machine that keeps what users hold elsewhere, with such reservations of the journal.
func holder(t *testing.T, list ...grid.Reservation) (*holdings, *alone) {
	o := &others{}
	k := kernelOf(o)
	m := newHoldings(k)
	m.reservations = o
	m.take(list)
	return m, steppedAlone(t, k, o, m)
}

// What the last life asked for, and nobody had an answer of, is given up; what was confirmed stays.
func TestHoldingsAfterAStart(t *testing.T) {
	t.Parallel()
	m, a := holder(t, grid.Reservation{ID: "r1", Site: her, State: grid.Tentative, End: 2_000_000},
		grid.Reservation{ID: "r2", Site: her, State: grid.Confirmed, End: 2_000_000}, grid.Reservation{ID: "r3", Site: me, State: grid.Tentative})
	a.want(Boot{}, "Release>b, Save")
	gone := wire.Reserved{Of: wire.KindRelease, Reservation: grid.Reservation{ID: "r1", State: grid.Released, Seq: 1}}
	a.want(Message{him, gone}, "") // it is not there
	a.want(Message{her, wire.Reserved{Of: wire.KindConfirm, Reservation: gone.Reservation}}, "")
	a.want(Message{her, gone}, "")
	if len(m.all) != 2 || m.all["r1"].State != grid.Released || m.all["r2"].State != grid.Confirmed {
		t.Errorf("there are %v", m.all)
	}
}

// A reservation whose site is silent is over an hour after its end, and is listed for a day more.
func TestHoldingsEndByThemselves(t *testing.T) {
	t.Parallel()
	m, a := holder(t, grid.Reservation{ID: "r1", Site: her, State: grid.Confirmed, End: 2_000_000})
	a.want(Boot{}, "")
	a.now = 2_000_000 + grid.Hour - 10
	a.want(Tick{}, "")
	if m.all["r1"].State != grid.Confirmed {
		t.Fatal("it is over before its time")
	}
	a.now += 10 * grid.Minute
	a.want(Tick{}, "Save")
	if r := m.all["r1"]; r.State != grid.Released || r.Ended != a.now {
		t.Fatalf("it is %v since %v", r.State, r.Ended)
	}
	a.now += grid.Day - grid.Minute
	a.want(Tick{}, "")
	a.now += 10 * grid.Minute
	a.want(Tick{}, "Save")
	if len(m.all) != 0 {
		t.Errorf("there are %v", m.all)
	}
}

// What a site says to a wish for a reservation is told to the user who waits.
func TestWhatSitesSayToAReservation(t *testing.T) {
	t.Parallel()
	tentative := grid.Reservation{ID: "r1", State: grid.Tentative, Seq: 1, Holder: grid.User{Home: me, Name: "alice"}}
	over := tentative
	over.State, over.Seq = grid.Expired, 2
	busy, never := forNow("it is busy"), &grid.Refusal{Kind: grid.Permanent, Reason: "no such node"}
	for name, k := range map[string]struct {
		confirm bool // it was made, and is being confirmed
		said    wire.Reserved
		did     string
		done    bool
	}{
		"refused":               {false, wire.Reserved{Of: wire.KindReserve, Reservation: grid.Reservation{ID: "r1"}, Refusal: never}, "Answer", true},
		"refused for now":       {false, wire.Reserved{Of: wire.KindReserve, Reservation: grid.Reservation{ID: "r1"}, Refusal: busy}, "Answer", true},
		"not confirmed":         {true, wire.Reserved{Of: wire.KindConfirm, Reservation: grid.Reservation{ID: "r1"}, Refusal: never}, "Save, Answer", true},
		"not confirmed for now": {true, wire.Reserved{Of: wire.KindConfirm, Reservation: grid.Reservation{ID: "r1"}, Refusal: busy}, "", false},
		"expired meanwhile":     {true, wire.Reserved{Of: wire.KindConfirm, Reservation: over}, "Save, Answer", true},
	} {
		m, a := holder(t)
		a.t.Log(name)
		a.want(ReserveRequest{Token: 1, To: her, Reserve: wire.Reserve{ID: "r1"}}, "Reserve>b")
		if k.confirm {
			a.want(Message{her, wire.Reserved{Of: wire.KindReserve, Reservation: tentative}}, "Save, Confirm>b")
		}
		a.want(Message{her, k.said}, k.did)
		if (m.asks["r1"] == nil) != k.done {
			t.Errorf("%s: asked on: %t", name, m.asks["r1"] != nil)
		}
	}
}

// A reservation is given up where it is, once at a time; a word for another home is not heard.
func TestAHoldingIsGivenUp(t *testing.T) {
	t.Parallel()
	_, a := holder(t, grid.Reservation{ID: "r1", Site: her, State: grid.Confirmed, End: 2_000_000})
	a.want(ReleaseRequest{Token: 1, ID: "r1", By: "alice"}, "Release>b")
	a.want(ReleaseRequest{Token: 2, ID: "r1", By: "alice"}, "Answer")
	a.want(ChangeRequest{Token: 3, ID: "r1", Start: 1_500_000}, "Answer")
	a.want(Message{her, wire.Reserved{Of: wire.KindRelease, Reservation: grid.Reservation{ID: "r1", State: grid.Released, Seq: 1}}}, "Save, Answer")
	a.want(Message{her, wire.ReservationWord{Reservation: grid.Reservation{ID: "r1", State: grid.Expired, Seq: 9, Holder: grid.User{Home: him}}}}, "")
}

// Users are told the kind of a refusal, its numbers, and when to ask again.
func TestWordsOfARefusal(t *testing.T) {
	t.Parallel()
	m, _ := holder(t)
	for _, k := range []struct {
		r    grid.Refusal
		kind error
		want string
	}{
		{grid.Refusal{Kind: grid.Permanent, Reason: "no"}, grid.ErrInvalid, "b says: no"},
		{grid.Refusal{Kind: grid.Temporary, Reason: "no", Asked: "4 nodes"}, grid.ErrNotYet, "b says: no (asked 4 nodes, available -)"},
		{grid.Refusal{Kind: grid.Temporary, Reason: "no", Available: "2 nodes"}, grid.ErrNotYet, "b says: no (asked -, available 2 nodes)"},
		{grid.Refusal{Kind: grid.Temporary, Reason: "no", Again: grid.Minute}, grid.ErrNotYet, "b says: no, perhaps 1m0s later"},
	} {
		if err := m.refusedBy(her, &k.r); !errors.Is(err, k.kind) || !strings.HasSuffix(err.Error(), k.want) {
			t.Errorf("%+v is told as %q", k.r, err)
		}
	}
}

// A site whose journal was put back, or is lost, says less of a reservation than is known here: what it does not have any more is over. One that was
// told to be over stays so.
func TestHoldingsAtASiteThatForgets(t *testing.T) {
	t.Parallel()
	of := grid.User{Home: me, Name: "alice"}
	kept := grid.Reservation{ID: "r1", Site: her, Holder: of, State: grid.Confirmed, Seq: 5, Start: 1_500_000, End: 2_000_000}
	m, a := holder(t, kept)
	word := wire.ReservationWord{Reservation: grid.Reservation{ID: "r1", Holder: of, State: grid.Expired, Seq: 4, Start: 1_500_000, End: 2_000_000}}
	a.want(Message{her, word}, "Save, ReservationAck>b")
	if r := m.all["r1"]; r.State != grid.Expired {
		t.Errorf("it is %v", r.State)
	}
	word.Reservation.State, word.Reservation.Seq = grid.Confirmed, 6
	a.want(Message{her, word}, "Release>b") // and acknowledged when it is over there
	if r := m.all["r1"]; r.State != grid.Expired {
		t.Errorf("told otherwise, it is %v", r.State)
	}
	for kind, ask := range map[wire.Kind]Event{
		wire.KindRelease: ReleaseRequest{Token: 1, ID: "r1", By: "alice"}, wire.KindChange: ChangeRequest{Token: 1, ID: "r1", Start: 1_600_000},
	} {
		m, a := holder(t, kept)
		a.step(ask)
		a.want(Message{her, wire.Reserved{Of: kind, Reservation: grid.Reservation{ID: "r1"}, Refusal: map[bool]*grid.Refusal{true: forNow("no")}[kind == wire.KindChange]}}, "Save, Answer")
		if r := m.all["r1"]; r.State != grid.Released || r.Holder != of {
			t.Errorf("asked for %v, it is %v, of %v", kind, r.State, r.Holder)
		}
	}
}

// A site follows its journal, and its holder the site, but for what users were told to be confirmed: the site, whose journal was put back to before
// that, is asked to confirm it again, and not while it is asked for something else.
func TestAWordThatATableLacks(t *testing.T) {
	t.Parallel()
	of := grid.User{Home: me, Name: "alice"}
	for _, has := range []grid.ReservationState{grid.Tentative, grid.Confirmed, grid.Bound, grid.Active} {
		for said := grid.Tentative; said <= grid.ReservationLost; said++ {
			m, a := holder(t, grid.Reservation{ID: "r1", Site: her, Holder: of, State: has, Seq: 5, End: 2_000_000})
			word := Message{her, wire.ReservationWord{Reservation: grid.Reservation{ID: "r1", Holder: of, State: said, Seq: 9, End: 2_000_000}}}
			want, did := said, "Save, ReservationAck>b"
			if said == grid.Tentative && has != said {
				want, did = has, "Confirm>b, ReservationAck>b"
			}
			a.want(word, did)
			if r := m.all["r1"]; r.State != want {
				t.Errorf("%v, and then %v: it is %v", has, said, r.State)
			}
			if want != said {
				a.want(word, "ReservationAck>b")
			}
		}
	}
}

// Who asks for more reservations all the time puts off no answer to who waits for a site that is silent.
func TestAReservationAmongMany(t *testing.T) {
	t.Parallel()
	m, a := holder(t)
	m.cfg.Retry = grid.Second
	ask := func(k int) string {
		return a.step(ReserveRequest{Token: Token(k), To: her, Reserve: wire.Reserve{ID: grid.ReservationID(strconv.Itoa(k))}})
	}
	ask(1)
	for k, began := 2, a.now; a.now < began+holdingLimit+10*grid.Second; k++ {
		a.now += grid.Second / 2
		ask(k)
	}
	if m.asks["1"] != nil {
		t.Errorf("after %v its user waits for it", holdingLimit.Duration())
	}
}

// A site that tells of reservations without end, which nobody here has asked for, fills no journal.
func TestReservationsThatNobodyAskedFor(t *testing.T) {
	t.Parallel()
	word := wire.ReservationWord{Reservation: grid.Reservation{ID: "new", Holder: grid.User{Home: me, Name: "alice"}, State: grid.Confirmed, Seq: 1, End: 2_000_000}}
	for n, did := range map[int]string{10_000 - 1: "Save, ReservationAck>b", 10_000: "Release>b"} {
		m, a := holder(t)
		for k := range n {
			id := grid.ReservationID(strconv.Itoa(k))
			m.all[id] = &grid.Reservation{ID: id, Site: her, State: grid.Confirmed}
		}
		a.want(Message{her, word}, did)
	}
}
