package daemon

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"gbroker/grid"
	"gbroker/overlay"
)

func invitation(t *testing.T, c Config) overlay.Invitation {
	t.Helper()
	i := overlay.NewInvitation("here", peerA, nil, time.Now().Add(time.Hour))
	if err := Invite(t.Context(), c, i); err != nil {
		t.Fatal(err)
	}
	return i
}

// An invitation is used up by who is written down by it, and by nobody who is refused.
func TestAdmit(t *testing.T) {
	t.Parallel()
	c := initSite(t)
	s := &site{cfg: c, ctx: t.Context()}
	i := invitation(t, c)
	m := grid.Member{Name: "b", Peer: peerB, Send: true, DefaultBandwidth: grid.DefaultBandwidth}
	good, err := os.ReadFile(c.Neighbours)
	if err != nil {
		t.Fatal(err)
	}
	set := func(text string) {
		if err := os.WriteFile(c.Neighbours, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	set("members: [oops\n")
	if err := s.admit(i.Secret, m); err == nil {
		t.Fatal("one is admitted though the file cannot be changed")
	}
	set(string(good))
	if err := s.admit(i.Secret, grid.Member{Name: "Not A Name", Peer: peerB}); err == nil {
		t.Fatal("one without a name is admitted")
	}
	if err := s.admit(i.Secret, m); err != nil {
		t.Fatalf("after a trouble that is over: %v", err)
	}
	if got, err := LoadNeighbours(c); err != nil || len(got.Members) != 1 || got.Members[0].Peer != peerB {
		t.Errorf("the file has %+v, %v", got.Members, err)
	}
	if err := s.admit(i.Secret, grid.Member{Name: "d", Peer: peerA}); err == nil || !strings.Contains(err.Error(), "used already") {
		t.Errorf("the code again: %v", err)
	}
}

// The secrets of the file are those that stand, whatever is changed in it, and it is read once for each change.
func TestSecrets(t *testing.T) {
	t.Parallel()
	c := initSite(t)
	var v invited
	if got := v.secrets(&c); len(got) != 0 {
		t.Errorf("without a file: %v", got)
	}
	first := invitation(t, c)
	if got := v.secrets(&c); !slices.Equal(got, []overlay.GridKey{first.Secret}) {
		t.Errorf("after the first: %v", got)
	}
	second := invitation(t, c)
	if got := v.secrets(&c); !slices.Equal(got, []overlay.GridKey{first.Secret, second.Secret}) {
		t.Errorf("after the second: %v", got)
	}
	v.list[0].Until = 1 // as it is remembered; a file that is the same is not read again
	if got := v.secrets(&c); !slices.Equal(got, []overlay.GridKey{second.Secret}) {
		t.Errorf("the file was read again, or what ran out still stands: %v", got)
	}
	if err := os.Remove(c.invitationsFile()); err != nil {
		t.Fatal(err)
	}
	if got := v.secrets(&c); len(got) != 0 {
		t.Errorf("after its end: %v", got)
	}
}
