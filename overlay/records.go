package overlay

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	kadrecord "github.com/libp2p/go-libp2p-record"
	"github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/record"

	"gbroker/grid"
)

// Namespaces of the DHT's keys. A site record is kept twice: under the name its
// broker uses for itself, and under its peer ID (which is no possible name).
const (
	siteNamespace  = "gbroker-site"
	ownerNamespace = "gbroker-job"
)

// maxRecord bounds a record with its signature, in bytes.
const maxRecord = 4096

// SiteRecord says where a site's broker is. It is signed by that broker.
type SiteRecord struct {
	Site      grid.SiteName `json:"site"` // as it calls itself
	Peer      grid.PeerID   `json:"peer"`
	Addresses []string      `json:"addresses"` // multiaddresses without /p2p
	Sequence  int64         `json:"sequence"`  // milliseconds since the Unix epoch at its making; the highest wins
}

// OwnerRecord says who owns a job. It is signed by that owner; the highest epoch
// wins, then the highest sequence.
type OwnerRecord struct {
	Job      grid.JobID  `json:"job"`
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
func (r *OwnerRecord) Codec() []byte                  { return []byte("/gbroker/owner-record/1") }
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

// siteValidator takes a site record that its own broker signed. Where the member
// file knows the name, only that member's record is taken: the file wins.
type siteValidator struct{ gate *gate }

func (v siteValidator) parse(key string, value []byte) (SiteRecord, error) {
	var r SiteRecord
	signer, err := openRecord(value, &r)
	if err != nil {
		return r, err
	}
	subject, ok := strings.CutPrefix(key, "/"+siteNamespace+"/")
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
		if err := CheckAddress(a); err != nil {
			return r, err
		}
	}
	if member, known := v.gate.members.Load().byName[grid.SiteName(subject)]; known && member.String() != string(r.Peer) {
		return r, fmt.Errorf("site %s is %s by the member file, and not %s", subject, member, r.Peer)
	}
	return r, nil
}

func (v siteValidator) Validate(key string, value []byte) error {
	_, err := v.parse(key, value)
	return err
}

// Select takes the newest.
func (v siteValidator) Select(key string, values [][]byte) (int, error) {
	return best(values, func(value []byte) (SiteRecord, error) { return v.parse(key, value) },
		func(a, b SiteRecord) bool { return a.Sequence > b.Sequence })
}

// ownerValidator takes an owner record that the owner it names has signed.
type ownerValidator struct{}

func (ownerValidator) parse(key string, value []byte) (OwnerRecord, error) {
	var r OwnerRecord
	signer, err := openRecord(value, &r)
	if err != nil {
		return r, err
	}
	if subject, ok := strings.CutPrefix(key, "/"+ownerNamespace+"/"); !ok || subject != string(r.Job) {
		return r, fmt.Errorf("the record of job %.80q is filed under %.80q", r.Job, key)
	}
	if signer != r.Owner {
		return r, fmt.Errorf("the record of job %.80q was not signed by the owner it names", r.Job)
	}
	_, err = grid.ParseJobID(string(r.Job))
	return r, err
}

func (v ownerValidator) Validate(key string, value []byte) error {
	_, err := v.parse(key, value)
	return err
}

// Select takes the highest epoch.
func (v ownerValidator) Select(key string, values [][]byte) (int, error) {
	return best(values, func(value []byte) (OwnerRecord, error) { return v.parse(key, value) },
		func(a, b OwnerRecord) bool {
			if c := a.Epoch().Compare(b.Epoch()); c != 0 {
				return c > 0
			}
			return a.Sequence > b.Sequence
		})
}

// best is the index of the best valid record; of equals the first.
func best[R any](values [][]byte, parse func([]byte) (R, error), better func(a, b R) bool) (int, error) {
	found := -1
	var top R
	for i, value := range values {
		r, err := parse(value)
		if err == nil && (found < 0 || better(r, top)) {
			found, top = i, r
		}
	}
	if found < 0 {
		return 0, errors.New("none of the records is valid")
	}
	return found, nil
}

func validators(g *gate) kadrecord.Validator {
	return kadrecord.NamespacedValidator{siteNamespace: siteValidator{g}, ownerNamespace: ownerValidator{}}
}
