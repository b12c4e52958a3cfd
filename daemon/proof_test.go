package daemon

import (
	"encoding/base64"
	"encoding/json"
	"testing"

	"gbroker/api"
	"gbroker/grid"
	"gbroker/overlay"
	"gbroker/wire"
)

// A peer was given a job only by certificates that lead from its home to that peer. One who has handed it on can go on signing: that
// he has it still is proven by none.
func TestOwnershipIsProven(t *testing.T) {
	t.Parallel()
	key := func() (overlay.Key, grid.PeerID) {
		k, err := overlay.NewKey()
		if err != nil {
			t.Fatal(err)
		}
		return k, overlay.PeerIDOf(k)
	}
	homeKey, home := key()
	middleKey, middle := key()
	liarKey, liar := key()
	const id = grid.JobID("a.01ARZ3NDEKTSV4RRFFQ69G5FAV")
	digest := grid.Hash{1, 2, 3}
	give := func(by overlay.Key, job grid.JobID, hop uint32, to grid.PeerID) grid.Certificate {
		e := grid.Epoch{Term: 1, Hop: hop}
		signature, err := by.Sign(wire.CertificateText(job, digest, e, to))
		if err != nil {
			t.Fatal(err)
		}
		return grid.Certificate{Epoch: e, To: to, Signature: signature}
	}
	good := []grid.Certificate{give(homeKey, id, 1, middle)}
	for name, c := range map[string]struct {
		chain []grid.Certificate
		at    grid.PeerID
		named uint32 // the hop at which the directory names him
		ok    bool
	}{
		"from home":                        {good, middle, 1, true},
		"from home over another":           {append(good[:1:1], give(middleKey, id, 2, liar)), liar, 2, true},
		"once, and named by himself later": {good, middle, 3, false},
		"once, and by himself later":       {append(good[:1:1], give(middleKey, id, 1000, middle)), middle, 1000, true},
		"of another":                       {good, liar, 1, false},
		"none":                             {nil, liar, 0, false},
		"by himself":                       {[]grid.Certificate{give(liarKey, id, 1, liar)}, liar, 1, false},
		"behind that of another":           {append(good[:1:1], give(liarKey, id, 2, liar)), liar, 2, false},
		"older":                            {append(good[:1:1], give(middleKey, id, 1, liar)), liar, 1, false},
		"of another job":                   {[]grid.Certificate{give(homeKey, "a.01ARZ3NDEKTSV4RRFFQ69G5FAW", 1, liar)}, liar, 1, false},
	} {
		text, err := json.Marshal(ownership{digest, c.chain})
		if err != nil {
			t.Fatal(err)
		}
		if got := proves(base64.RawURLEncoding.EncodeToString(text), id, home, overlay.OwnerRecord{Owner: c.at, Term: 1, Hop: c.named}); got != c.ok {
			t.Errorf("%s: %v", name, got)
		}
	}
	for _, bad := range []string{"", "!", "e30"} {
		if proves(bad, id, home, overlay.OwnerRecord{Owner: middle, Term: 1, Hop: 1}) {
			t.Errorf("%q proves something", bad)
		}
	}
}

// The proof of a job is told to its user, and to nobody else.
func TestProofIsForTheUser(t *testing.T) {
	t.Parallel()
	r := grid.Record{Job: grid.Job{ID: "a.01ARZ3NDEKTSV4RRFFQ69G5FAV", User: grid.User{Home: "home", Name: "alice"}}}
	r.Certificates = []grid.Certificate{{Epoch: grid.Epoch{Term: 1, Hop: 1}, To: "me"}}
	for p, want := range map[[2]string]bool{{"home", "alice"}: true, {"home", "bob"}: false, {"elsewhere", "alice"}: false} {
		if got := proofFor(api.Pass{Home: grid.PeerID(p[0]), User: p[1]}, r) != ""; got != want {
			t.Errorf("%v is told the proof: %v", p, got)
		}
	}
	r.Certificates = nil
	if proofFor(api.Pass{Home: "home", User: "alice"}, r) != "" {
		t.Error("without certificates there is a proof")
	}
}
