package overlay

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/libp2p/go-libp2p/core/peer"

	"gbroker/grid"
)

const someJob = grid.JobID("site0.01ARZ3NDEKTSV4RRFFQ69G5FAV")

// Are sites and owners found across a line of members, the newest epoch winning?
func TestDirectory(t *testing.T) {
	t.Parallel()
	all := several(t, 3)
	connect(t, all, [][2]int{{0, 1}, {1, 2}})
	ctx := context.Background()
	for i, b := range all {
		members := []int{1, 2, 1}[i]
		eventually(t, "members to ask", func() bool { return len(b.over.current.Load().nearest("", "")) == members })
		eventually(t, "the site record is published", func() bool { return b.over.PublishSite(ctx) == nil })
	}
	// 0 and 2 are no members of each other: they meet through 1.
	r, err := all[0].over.FindSite(ctx, "site2")
	if err != nil {
		t.Fatal(err)
	}
	if r.Peer != all[2].peer() || !slices.Equal(r.Addresses, all[2].where) {
		t.Errorf("site2 is found as %+v", r)
	}
	if _, err := all[0].over.FindSite(ctx, "nowhere"); !errors.Is(err, grid.ErrNotFound) {
		t.Errorf("a site that is not there: %v", err)
	}

	if err := all[0].over.PublishOwner(ctx, someJob, grid.Epoch{Term: 1, Hop: 0}); err != nil {
		t.Fatal(err)
	}
	if err := all[1].over.PublishOwner(ctx, someJob, grid.Epoch{Term: 1, Hop: 1}); err != nil {
		t.Fatal(err)
	}
	owner, err := all[2].over.FindOwner(ctx, someJob)
	if err != nil {
		t.Fatal(err)
	}
	if owner.Owner != all[1].peer() || owner.Epoch() != (grid.Epoch{Term: 1, Hop: 1}) {
		t.Errorf("the owner is found as %+v", owner)
	}
	// The older owner speaks up again, and is not believed.
	if err := all[0].over.PublishOwner(ctx, someJob, grid.Epoch{Term: 1, Hop: 0}); err == nil {
		t.Error("an older epoch replaced a newer one")
	}
	if owner, err := all[0].over.FindOwner(ctx, someJob); err != nil || owner.Owner != all[1].peer() {
		t.Errorf("after that the owner is found as %+v, %v", owner, err)
	}
	if _, err := all[0].over.FindOwner(ctx, "nonsense"); err == nil {
		t.Error("what is no job was looked up")
	}
}

// A member without an address in either file is found by its record.
func TestAddressFromRecord(t *testing.T) {
	t.Parallel()
	all := several(t, 3)
	connect(t, all, [][2]int{{0, 1}, {1, 2}})
	ctx := context.Background()
	eventually(t, "the site record is published", func() bool { return all[2].over.PublishSite(ctx) == nil })
	without := func(b *broker) grid.Member {
		m := b.as()
		m.Addresses = nil
		return m
	}
	if err := all[0].over.SetMembers([]grid.Member{all[1].as(), without(all[2])}); err != nil {
		t.Fatal(err)
	}
	if err := all[2].over.SetMembers([]grid.Member{all[1].as(), without(all[0])}); err != nil {
		t.Fatal(err)
	}
	all[0].sees(all[2], grid.Alive)
	all[2].sees(all[0], grid.Alive)
}

func TestForgedRecords(t *testing.T) {
	t.Parallel()
	mine, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	other, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	members, err := checkMembers("", []grid.Member{{Name: "known", Peer: PeerIDOf(other)}})
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{}
	g.members.Store(members)
	v := judge{g}
	site := func(name string, change func(*SiteRecord)) []byte {
		r := &SiteRecord{Site: grid.SiteName(name), Peer: PeerIDOf(mine), Addresses: []string{"/ip4/192.0.2.1/tcp/1"}, Sequence: 1}
		if change != nil {
			change(r)
		}
		return seal(t, r, mine)
	}
	good := site("far", nil)
	damaged := slices.Clone(good)
	damaged[len(damaged)/2] ^= 1
	job := &OwnerRecord{Job: someJob, Owner: PeerIDOf(mine), Term: 1}
	stolen := *job
	stolen.Owner = PeerIDOf(other)
	many := func(r *SiteRecord) {
		for i := range maxAddresses + 1 {
			r.Addresses = append(r.Addresses, fmt.Sprintf("/ip4/192.0.2.1/tcp/%d", i+1))
		}
	}
	for _, c := range []struct {
		name, key string
		value     []byte
		ok        bool
	}{
		{"good, by name", "/gbroker-site/far", good, true},
		{"good, by peer", "/gbroker-site/" + string(PeerIDOf(mine)), good, true},
		{"good owner", "/gbroker-job/" + string(someJob), seal(t, job, mine), true},
		{"another name", "/gbroker-site/near", good, false},
		{"another peer's place", "/gbroker-site/" + string(PeerIDOf(other)), good, false},
		{"a name of the member file", "/gbroker-site/known", site("known", nil), false},
		{"damaged", "/gbroker-site/far", damaged, false},
		{"truncated", "/gbroker-site/far", good[:len(good)-1], false},
		{"empty", "/gbroker-site/far", nil, false},
		{"signed by another", "/gbroker-site/far", site("far", func(r *SiteRecord) { r.Peer = PeerIDOf(other) }), false},
		{"bad address", "/gbroker-site/far", site("far", func(r *SiteRecord) { r.Addresses = []string{"/ip4/192.0.2.1/udp/1"} }), false},
		{"too many addresses", "/gbroker-site/far", site("far", many), false},
		{"too large", "/gbroker-site/far", site("far", func(r *SiteRecord) { r.Addresses = []string{strings.Repeat("x", maxRecord)} }), false},
		{"owner signed by another", "/gbroker-job/" + string(someJob), seal(t, &stolen, mine), false},
		{"another job", "/gbroker-job/site0.01ARZ3NDEKTSV4RRFFQ69G5FAW", seal(t, job, mine), false},
		{"a site as an owner", "/gbroker-job/far", good, false},
		{"another namespace", "/pk/far", good, false},
	} {
		if _, err := v.rank(c.key, c.value); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	newer := site("far", func(r *SiteRecord) { r.Sequence = 2 })
	if i, err := v.newest("/gbroker-site/far", damaged, good, newer, good); err != nil || i != 2 {
		t.Errorf("of an old and a new record %d was selected, %v", i, err)
	}
	late := *job
	late.Hop = 1
	late.Sequence = -1
	if i, err := v.newest("/gbroker-job/"+string(someJob), seal(t, job, mine), seal(t, &late, mine)); err != nil || i != 1 {
		t.Errorf("of two epochs %d was selected, %v", i, err)
	}
	if _, err := v.newest("/gbroker-site/far", damaged); err == nil {
		t.Error("a damaged record was selected")
	}
}

// Forged, oversized and older records that a member sends over the wire are refused.
func TestBadRecordsOnTheWire(t *testing.T) {
	t.Parallel()
	a, b := pair(t)
	s, ctx := a.over.current.Load(), t.Context()
	eventually(t, "a member to ask", func() bool { return len(s.nearest("", "")) == 1 })
	ask := func(q frame) (frame, error) {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		return s.ask(ctx, s.nearest("", "")[0], q)
	}
	far := func(by Key, sequence int64) frame {
		r := &SiteRecord{Site: "far", Peer: a.peer(), Sequence: sequence}
		return frame{what: putRecord, key: siteKey("far"), value: seal(t, r, by)}
	}
	forged := far(b.key, 1)
	for _, c := range []struct {
		name string
		q    frame
		want what
	}{
		{"forged", forged, isRefused},
		{"none", frame{what: getRecord, key: siteKey("far")}, isNowhere},
		{"good", far(a.key, 2), isKept},
		{"again", far(a.key, 2), isKept},
		{"older", far(a.key, 1), isOlder},
		{"newer", far(a.key, 3), isKept},
		{"without a name", frame{what: putRecord, value: forged.value}, isRefused},
	} {
		if got, err := ask(c.q); err != nil || got.what != c.want {
			t.Errorf("%s: the answer is %d, %v; want %d", c.name, got.what, err, c.want)
		}
	}
	for name, q := range map[string]frame{
		"large":    {what: putRecord, key: siteKey("large"), value: make([]byte, maxRecord+1)},
		"long key": {what: getRecord, key: strings.Repeat("k", maxKey+1)},
		"nonsense": {what: isKept, key: siteKey("far")},
	} {
		if got, err := ask(q); err == nil {
			t.Errorf("%s: was answered by %d", name, got.what)
		}
	}
	r, err := b.over.FindSite(ctx, "far")
	if err != nil || r.Sequence != 3 {
		t.Errorf("after all that far is %+v, %v", r, err)
	}
}

// A member with too many requests under way is not served, until some have ended.
func TestTooManyRequests(t *testing.T) {
	t.Parallel()
	a, b := pair(t)
	s := a.over.current.Load()
	eventually(t, "a member to ask", func() bool { return len(s.nearest("", "")) == 1 })
	ask := func() error {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		_, err := s.ask(ctx, s.nearest("", "")[0], frame{what: getRecord, key: siteKey("far")})
		return err
	}
	here := b.over.current.Load().neighbour(s.self)
	here.served.Add(maxServed)
	if ask() == nil {
		t.Error("one request too many was served")
	}
	here.served.Add(-maxServed)
	if err := ask(); err != nil {
		t.Errorf("after that: %v", err)
	}
}

// A request is passed on once: to the members of those that are asked, no further.
func TestPassedOnOnce(t *testing.T) {
	t.Parallel()
	all := several(t, 5)
	connect(t, all, [][2]int{{0, 1}, {1, 2}, {2, 3}, {3, 4}})
	ctx := t.Context()
	// 3 writes at 2 and 4, and 4 at 3.
	for _, i := range []int{3, 4} {
		eventually(t, "the site record is published", func() bool { return all[i].over.PublishSite(ctx) == nil })
	}
	eventually(t, "the record two members away is found", func() bool {
		r, err := all[0].over.FindSite(ctx, "site3")
		return err == nil && r.Peer == all[3].peer()
	})
	if r, err := all[0].over.FindSite(ctx, "site4"); err == nil {
		t.Errorf("a record three members away is found: %+v", r)
	}
	eventually(t, "the same record from where it is two away", func() bool {
		r, err := all[1].over.FindSite(ctx, "site4")
		return err == nil && r.Peer == all[4].peer()
	})
}

func seal(t *testing.T, r interface {
	Domain() string
	Codec() []byte
	MarshalRecord() ([]byte, error)
	UnmarshalRecord([]byte) error
}, k Key) []byte {
	t.Helper()
	value, err := sealRecord(r, k)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// first prefers what is written now.
func first(string, ...[]byte) (int, error) { return 0, nil }

// The shelf forgets what was written longest ago, and nothing else.
func TestShelf(t *testing.T) {
	t.Parallel()
	s := newShelf(3, 3)
	for _, i := range []byte{1, 2, 3, 1, 4} {
		if err := s.put("writer", string(i), []byte{i}, first); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range []bool{false, true, false, true, true} {
		if has := s.get(string(byte(i))) != nil; has != want {
			t.Errorf("record %d: %v", i, has)
		}
	}
}

// One writer displaces its own records, and not those of others.
func TestShelfOfWriter(t *testing.T) {
	t.Parallel()
	s := newShelf(10, 2)
	for _, w := range []struct {
		writer peer.ID
		key    string
	}{{"a", "a1"}, {"b", "b1"}, {"b", "b2"}, {"b", "b2"}, {"b", "b3"}, {"a", "b3"}, {"b", "b4"}} {
		if err := s.put(w.writer, w.key, []byte{1}, first); err != nil {
			t.Fatal(err)
		}
	}
	for key, want := range map[string]bool{"a1": true, "b1": false, "b2": true, "b3": true, "b4": true} {
		if has := s.get(key) != nil; has != want {
			t.Errorf("record %s: %v", key, has)
		}
	}
}

// A record that nobody writes again is gone after recordAge, and then blocks no other.
func TestShelfExpires(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := newShelf(10, 10)
		put := func(key string) error {
			return s.put("writer", key, []byte(key), func(string, ...[]byte) (int, error) { return 1, nil })
		}
		if err := errors.Join(put("old"), put("both")); err != nil {
			t.Fatal(err)
		}
		if err := put("old"); !errors.Is(err, errOlder) {
			t.Errorf("an older record: %v", err)
		}
		time.Sleep(recordAge / 2)
		if err := s.put("writer", "both", []byte("again"), first); err != nil {
			t.Fatal(err)
		}
		time.Sleep(recordAge / 2)
		if s.get("old") != nil || string(s.get("both")) != "again" {
			t.Errorf("after its age: old %q, both %q", s.get("old"), s.get("both"))
		}
		if err := put("old"); err != nil {
			t.Errorf("an expired record blocks another: %v", err)
		}
	})
}
