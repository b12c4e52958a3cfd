package overlay

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	kadrecord "github.com/libp2p/go-libp2p-record"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/record"

	"gbroker/grid"
)

// Namespaces of the DHT's keys, as in /gbroker-site/NAME. A site record is kept twice: under the name its
// broker uses for itself, and under its peer ID (which is no possible name).
const (
	siteNamespace  = "gbroker-site"
	ownerNamespace = "gbroker-owner"
)

// maxTold bounds the members that a site record names.
const maxTold = 40

// maxTellable bounds the numbers of a site record.
const maxTellable = 1e9

// maxRecord bounds a record with its signature, in bytes.
const maxRecord = 4096

// SiteRecord says where a site's broker is, and how the site was. It is signed by that broker.
type SiteRecord struct {
	Site      grid.SiteName `json:"site"` // as it calls itself
	Peer      grid.PeerID   `json:"peer"`
	Addresses []string      `json:"addresses"` // multiaddresses without /p2p
	Sequence  int64         `json:"sequence"`  // milliseconds since the Unix epoch at its making, or one more than the last; the highest wins
	Cores     int           `json:"cores,omitempty"`
	Speed     float64       `json:"speed,omitempty"`
	Busy      int           `json:"busy,omitempty"`    // cores
	Waiting   int           `json:"waiting,omitempty"` // jobs
	Draining  bool          `json:"draining,omitempty"`
	Members   []grid.PeerID `json:"members,omitempty"` // some of those that were alive; only where there is a grid key
}

// Made is when the record was made, by its maker's clock.
func (r SiteRecord) Made() time.Time { return time.UnixMilli(r.Sequence) }

// OwnerRecord says who owns a job. (A group is its home's always, and needs none.) It is signed by that owner; the highest epoch
// wins, then the highest sequence. Subject is a hash under the grid key: who does not know the
// identifier learns nothing of it.
type OwnerRecord struct {
	Subject  string      `json:"subject"` // 32 hexadecimal digits
	Owner    grid.PeerID `json:"owner"`
	Term     uint32      `json:"term"`
	Hop      uint32      `json:"hop"`
	Sequence int64       `json:"sequence"`
}

// Epoch is the epoch at which Owner owns.
func (r OwnerRecord) Epoch() grid.Epoch { return grid.Epoch{Term: r.Term, Hop: r.Hop} }

// The libp2p envelope around a record carries signature and public key; the
// domain keeps a signature from being used for anything else.

func (r *SiteRecord) Domain() string                 { return siteNamespace }
func (r *SiteRecord) Codec() []byte                  { return []byte("/gbroker/site-record/1") }
func (r *SiteRecord) MarshalRecord() ([]byte, error) { return json.Marshal(r) }
func (r *SiteRecord) UnmarshalRecord(b []byte) error { return strictJSON(b, r) }

func (r *OwnerRecord) Domain() string                 { return ownerNamespace }
func (r *OwnerRecord) Codec() []byte                  { return []byte("/gbroker/owner-record/2") }
func (r *OwnerRecord) MarshalRecord() ([]byte, error) { return json.Marshal(r) }
func (r *OwnerRecord) UnmarshalRecord(b []byte) error { return strictJSON(b, r) }

// strictJSON takes exactly one value. Unknown fields are skipped: they are a newer
// version's.
func strictJSON(b []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	if err := d.Decode(v); err != nil {
		return err
	}
	if d.More() {
		return errors.New("there is more than one value")
	}
	return nil
}

func sealRecord(r record.Record, k Key) ([]byte, error) {
	envelope, err := record.Seal(r, k.private)
	if err != nil {
		return nil, fmt.Errorf("signing a record: %w", err)
	}
	return envelope.Marshal()
}

// openRecord checks size and signature, fills r, and gives back who signed.
func openRecord(value []byte, r record.Record) (grid.PeerID, error) {
	if len(value) > maxRecord {
		return "", fmt.Errorf("a record of %d bytes: at most %d are taken", len(value), maxRecord)
	}
	envelope, err := record.ConsumeTypedEnvelope(value, r)
	if err != nil {
		return "", fmt.Errorf("a record's signature: %w", err)
	}
	if !bytes.Equal(envelope.PayloadType, r.Codec()) {
		return "", fmt.Errorf("a record of type %.40q where %q is wanted", envelope.PayloadType, r.Codec())
	}
	id, err := peer.IDFromPublicKey(envelope.PublicKey)
	if err != nil {
		return "", fmt.Errorf("a record's signer: %w", err)
	}
	return grid.PeerID(id.String()), nil
}

func siteKey(subject string) string  { return "/" + siteNamespace + "/" + subject }
func ownerKey(subject string) string { return "/" + ownerNamespace + "/" + subject }

// rank orders the records under one key: the highest is the newest.
type rank struct {
	epoch    grid.Epoch
	sequence int64
}

func (a rank) compare(b rank) int {
	return cmp.Or(a.epoch.Compare(b.epoch), cmp.Compare(a.sequence, b.sequence))
}

// judge says which records the DHT takes, and which of several.
type judge struct{ gate *gate }

func validators(g *gate) kadrecord.Validator {
	return kadrecord.NamespacedValidator{siteNamespace: judge{g}, ownerNamespace: judge{g}}
}

// Validate says why a record is not taken.
func (j judge) Validate(key string, value []byte) error {
	_, err := j.rank(key, value)
	return err
}

// rank is the rank of a valid record.
func (j judge) rank(key string, value []byte) (rank, error) {
	if strings.HasPrefix(key, siteKey("")) {
		r, err := j.site(key, value)
		return rank{sequence: r.Sequence}, err
	}
	r, err := j.owner(key, value)
	return rank{r.Epoch(), r.Sequence}, err
}

// Select is the index of the valid record that ranks highest; of equals the first.
func (j judge) Select(key string, values [][]byte) (int, error) {
	found := -1
	var top rank
	for i, value := range values {
		r, err := j.rank(key, value)
		if err == nil && (found < 0 || r.compare(top) > 0) {
			found, top = i, r
		}
	}
	if found < 0 {
		return 0, errors.New("none of the records is valid")
	}
	return found, nil
}

// site takes a site record that its own broker signed. Where the member file knows
// the name, only that member's record is taken: the file wins.
func (j judge) site(key string, value []byte) (SiteRecord, error) {
	var r SiteRecord
	signer, err := openRecord(value, &r)
	if err != nil {
		return r, err
	}
	subject, ok := strings.CutPrefix(key, siteKey(""))
	switch {
	case !ok || subject != string(r.Site) && subject != string(r.Peer):
		return r, fmt.Errorf("the record of site %.80q is filed under %.80q", r.Site, key)
	case signer != r.Peer:
		return r, fmt.Errorf("the record of site %s was signed by another peer", r.Peer)
	}
	if err := grid.CheckName(string(r.Site)); err != nil {
		return r, err
	}
	if len(r.Addresses) > maxAddresses {
		return r, fmt.Errorf("the record of site %s has %d addresses: at most %d are taken", r.Site, len(r.Addresses), maxAddresses)
	}
	for _, a := range r.Addresses {
		if err := checkAddress(a); err != nil {
			return r, err
		}
	}
	if len(r.Members) > maxTold {
		return r, fmt.Errorf("the record of site %s names %d members: at most %d are taken", r.Site, len(r.Members), maxTold)
	}
	for _, p := range r.Members {
		if err := CheckPeerID(p); err != nil {
			return r, err
		}
	}
	if min(r.Cores, r.Busy, r.Waiting) < 0 || !(r.Speed >= 0 && r.Speed <= maxTellable) || max(r.Cores, r.Busy, r.Waiting) > maxTellable {
		return r, fmt.Errorf("the record of site %s has numbers that no site has", r.Site)
	}
	if member, known := j.gate.members.Load().byName[grid.SiteName(subject)]; known && member.String() != string(r.Peer) {
		return r, fmt.Errorf("site %s is %s by the member file, and not %s", subject, member, r.Peer)
	}
	return r, nil
}

// owner takes an owner record that the owner it names has signed.
func (judge) owner(key string, value []byte) (OwnerRecord, error) {
	var r OwnerRecord
	signer, err := openRecord(value, &r)
	if err != nil {
		return r, err
	}
	if key != ownerKey(r.Subject) {
		return r, fmt.Errorf("the record of %.80q is filed under %.80q", r.Subject, key)
	}
	if signer != r.Owner {
		return r, fmt.Errorf("the record of %.80q was not signed by the owner it names", r.Subject)
	}
	if b, err := hex.DecodeString(r.Subject); err != nil || len(b) != 16 {
		return r, fmt.Errorf("%.80q is no hash of a job", r.Subject)
	}
	return r, nil
}
