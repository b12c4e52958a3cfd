package overlay

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	ds "github.com/ipfs/go-datastore"
	"github.com/ipfs/go-datastore/query"
	pb "github.com/libp2p/go-libp2p-kad-dht/pb"
	kadrecord "github.com/libp2p/go-libp2p-record"
	"github.com/libp2p/go-libp2p/core/network"
	"github.com/libp2p/go-libp2p/core/peer"
	"google.golang.org/protobuf/encoding/protodelim"
	"google.golang.org/protobuf/proto"

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
		eventually(t, "members to ask", func() bool { return b.over.current.Load().dht.RoutingTable().Size() == members })
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
	v := validators(g)
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
	subject := GridKey{}.hash(someJob)
	job := &OwnerRecord{Subject: subject, Owner: PeerIDOf(mine), Term: 1}
	noHash := *job
	noHash.Subject = string(someJob)
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
		{"good owner", ownerKey(subject), seal(t, job, mine), true},
		{"an owner of what is no hash", ownerKey(string(someJob)), seal(t, &noHash, mine), false},
		{"another name", "/gbroker-site/near", good, false},
		{"another peer's place", "/gbroker-site/" + string(PeerIDOf(other)), good, false},
		{"a name of the member file", "/gbroker-site/known", site("known", nil), false},
		{"damaged", "/gbroker-site/far", damaged, false},
		{"truncated", "/gbroker-site/far", good[:len(good)-1], false},
		{"empty", "/gbroker-site/far", nil, false},
		{"signed by another", "/gbroker-site/far", site("far", func(r *SiteRecord) { r.Peer = PeerIDOf(other) }), false},
		{"bad address", "/gbroker-site/far", site("far", func(r *SiteRecord) { r.Addresses = []string{"/ip4/192.0.2.1/udp/1"} }), false},
		{"too many addresses", "/gbroker-site/far", site("far", many), false},
		{"too many members", "/gbroker-site/far", site("far", func(r *SiteRecord) { r.Members = slices.Repeat([]grid.PeerID{PeerIDOf(other)}, maxTold+1) }), false},
		{"no peer as a member", "/gbroker-site/far", site("far", func(r *SiteRecord) { r.Members = []grid.PeerID{"x"} }), false},
		{"fewer cores than none", "/gbroker-site/far", site("far", func(r *SiteRecord) { r.Cores = -1 }), false},
		{"too large", "/gbroker-site/far", site("far", func(r *SiteRecord) { r.Addresses = []string{strings.Repeat("x", maxRecord)} }), false},
		{"valid but too large", "/gbroker-site/far", seal(t, &padded{SiteRecord{Site: "far", Peer: PeerIDOf(mine)}, strings.Repeat("x", maxRecord)}, mine), false},
		{"valid but for its type", "/gbroker-site/far", seal(t, &mistyped{SiteRecord{Site: "far", Peer: PeerIDOf(mine)}}, mine), false},
		{"no name of a site", "/gbroker-site/" + string(PeerIDOf(mine)), site("Far away!", nil), false},
		{"owner signed by another", ownerKey(subject), seal(t, &stolen, mine), false},
		{"another job", ownerKey(GridKey{}.hash("site0.01ARZ3NDEKTSV4RRFFQ69G5FAW")), seal(t, job, mine), false},
		{"a site as an owner", ownerKey("far"), good, false},
		{"another namespace", "/pk/far", good, false},
	} {
		if err := v.Validate(c.key, c.value); (err == nil) != c.ok {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	newer := site("far", func(r *SiteRecord) { r.Sequence = 2 })
	if i, err := v.Select("/gbroker-site/far", [][]byte{damaged, good, newer, good}); err != nil || i != 2 {
		t.Errorf("of an old and a new record %d was selected, %v", i, err)
	}
	late := *job
	late.Hop = 1
	late.Sequence = -1
	if i, err := v.Select(ownerKey(subject), [][]byte{seal(t, job, mine), seal(t, &late, mine)}); err != nil || i != 1 {
		t.Errorf("of two epochs %d was selected, %v", i, err)
	}
	if _, err := v.Select("/gbroker-site/far", [][]byte{damaged}); err == nil {
		t.Error("a damaged record was selected")
	}
}

// padded is a site record with a field that nobody knows yet.
type padded struct {
	SiteRecord
	Padding string `json:"padding"`
}

func (r *padded) MarshalRecord() ([]byte, error) { return json.Marshal(r) }

// mistyped is a site record signed as another kind of record of the same domain.
type mistyped struct{ SiteRecord }

func (r *mistyped) Codec() []byte { return []byte("/gbroker/other-record/1") }

// Forged, oversized and older records that a member sends over the wire are refused.
func TestBadRecordsOnTheWire(t *testing.T) {
	t.Parallel()
	a, b := pair(t)
	far := func(by Key, sequence int64) []byte {
		return seal(t, &SiteRecord{Site: "far", Peer: a.peer(), Sequence: sequence}, by)
	}
	for _, c := range []struct {
		name, key string
		value     []byte
		taken     bool
	}{
		{"forged", siteKey("far"), far(b.key, 1), false},
		{"good", siteKey("far"), far(a.key, 2), true},
		{"again", siteKey("far"), far(a.key, 2), true},
		{"older", siteKey("far"), far(a.key, 1), false},
		{"newer", siteKey("far"), far(a.key, 3), true},
		{"large", siteKey("large"), make([]byte, maxRecord+1), false},
		{"without a name", "", far(a.key, 1), false},
		{"of another namespace", "/pk/far", far(a.key, 1), false},
	} {
		if err := giveRecord(t, a, b, c.key, c.value); (err == nil) != c.taken {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	r, err := b.over.FindSite(t.Context(), "far")
	if err != nil || r.Sequence != 3 {
		t.Errorf("after all that far is %+v, %v", r, err)
	}
}

// giveRecord sends a record as it is to a member of a.
func giveRecord(t *testing.T, a, b *broker, key string, value []byte) error {
	t.Helper()
	to, err := peer.Decode(string(b.peer()))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	stream, err := a.over.current.Load().open(ctx, to, recordsProtocol)
	if err != nil {
		return err
	}
	defer stream.Reset()
	m := pb.NewMessage(pb.Message_PUT_VALUE, []byte(key), 0)
	m.Record = kadrecord.MakePutRecord(key, value)
	return converse(stream, m)
}

// A member is served on a bounded number of streams of the DHT at once.
func TestTooManyLookups(t *testing.T) {
	t.Parallel()
	a := newBroker(t, "a")
	key, err := NewKey()
	if err != nil {
		t.Fatal(err)
	}
	a.start(grid.Member{Name: "bare", Peer: PeerIDOf(key)})
	h, to := bareHost(t, key, a)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	served := 0
	for range 2 * maxLookups {
		stream, err := h.NewStream(ctx, to, recordsProtocol)
		if err != nil {
			continue
		}
		defer stream.Reset()
		if converse(stream, pb.NewMessage(pb.Message_PING, nil, 0)) == nil {
			served++
		}
	}
	if served > maxLookups || served < maxLookups/2 {
		t.Errorf("%d streams of the DHT are served, want some, and at most %d", served, maxLookups)
	}
}

// converse makes one request of the DHT and reads the answer.
func converse(stream network.Stream, m *pb.Message) error {
	if err := stream.SetDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	if _, err := protodelim.MarshalTo(stream, m); err != nil {
		return err
	}
	return protodelim.UnmarshalFrom(bufio.NewReader(stream), new(pb.Message))
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

// The shelf forgets what was written longest ago, and nothing else.
func TestShelf(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newShelf(3)
	key := func(i int) ds.Key { return ds.NewKey(fmt.Sprint(i)) }
	for _, i := range []int{1, 2, 3, 1, 4} {
		if err := s.Put(ctx, key(i), []byte{byte(i)}); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range []bool{false, true, false, true, true} {
		if has, err := s.Has(ctx, key(i)); err != nil || has != want {
			t.Errorf("record %d: %v, %v", i, has, err)
		}
	}
	if err := s.Delete(ctx, key(3)); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Get(ctx, key(3)); !errors.Is(err, ds.ErrNotFound) {
		t.Errorf("a deleted record: %v", err)
	}
	found, err := s.Query(ctx, query.Query{Prefix: "/"})
	if err != nil {
		t.Fatal(err)
	}
	entries, err := found.Rest()
	if err != nil || len(entries) != 2 {
		t.Errorf("the query gives %v, %v", entries, err)
	}
}

// Where the shelf is full, who has written the most loses his own: he pushes out no record of another.
func TestShelfOfMany(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	s := newShelf(3)
	by := map[string]Key{}
	for _, who := range []string{"few", "many"} {
		k, err := NewKey()
		if err != nil {
			t.Fatal(err)
		}
		by[who] = k
	}
	write := func(who string, i int) ds.Key {
		name := fmt.Sprintf("%s%d", who, i)
		value := seal(t, &SiteRecord{Site: grid.SiteName(name), Peer: PeerIDOf(by[who])}, by[who])
		b, err := proto.Marshal(kadrecord.MakePutRecord(siteKey(name), value))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Put(ctx, ds.NewKey(name), b); err != nil {
			t.Fatal(err)
		}
		return ds.NewKey(name)
	}
	kept := write("few", 0)
	first := write("many", 0)
	for i := range 10 {
		write("many", i+1)
	}
	if has, _ := s.Has(ctx, kept); !has {
		t.Error("who has one record lost it to one who wrote many")
	}
	if has, _ := s.Has(ctx, first); has {
		t.Error("who wrote many has all of them")
	}
}
