package daemon

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"

	"gbroker/api"
	"gbroker/broker/core"
	"gbroker/grid"
	"gbroker/overlay"
	"gbroker/wire"
)

// ownership is how an owner proves, to who cannot ask the home, that a job was given to it: the certificates of the handoffs, of
// which the home has signed the first. What the DHT says of owners is a hint, which any broker of the grid may write.
// Certificates do not prove that it has the job still: one who has handed it on can sign another one, to himself too, and no
// later one is known here that would show it. What is answered so is unconfirmed, and marked as such.
// It is sent in the header [api.ProofHeader], as base64url of JSON.
type ownership struct {
	Digest       grid.Hash          `json:"digest"`
	Certificates []grid.Certificate `json:"certificates"`
}

// Proof proves that this broker was given a job of a user of another home.
func (e elsewhere) Proof(ctx context.Context, p api.Pass, id grid.JobID) string {
	r, err := e.site.broker.Whole(ctx, id) // certificates are of all of it
	if err != nil {
		return ""
	}
	return proofFor(p, r)
}

// proofFor is the proof of a record that the user of a pass is told: only of his own job.
func proofFor(p api.Pass, r grid.Record) string {
	if len(r.Certificates) == 0 || r.Job.User != (grid.User{Home: p.Home, Name: p.User}) {
		return ""
	}
	text, err := json.Marshal(ownership{wire.JobDigest(r.Job), r.Certificates})
	if err != nil {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

// belief tells whether an answer with this proof is passed on, and what is to be said with it: why it may not be true.
type belief func(proof string) (unconfirmed string, err error)

// ofHome believes the home: it knows who owns the job, and needs no proof.
func ofHome(string) (string, error) { return "", nil }

// ofOwner passes on an answer about a job whose home cannot be asked, as unconfirmed, if its proof is of whom a hint names.
func ofOwner(id grid.JobID, home grid.PeerID, hint overlay.OwnerRecord) belief {
	return func(proof string) (string, error) {
		if !proves(proof, id, home, hint) {
			return "", fmt.Errorf("%w: the home of %s cannot be reached through the grid now, and %s, which the directory names as its owner, does not prove that it was given the job",
				grid.ErrUnavailable, id, hint.Owner)
		}
		return fmt.Sprintf("unconfirmed, as the home of %s cannot be reached through the grid now: this is what %s says, which has, or once had, the job", id, hint.Owner), nil
	}
}

// proves tells that a proof shows that a job of home was given to whom a hint names, and that its last certificate is of the epoch that
// the hint names: a hint and a proof that do not fit are not of one time.
func proves(proof string, id grid.JobID, home grid.PeerID, hint overlay.OwnerRecord) bool {
	var o ownership
	text, err := base64.RawURLEncoding.DecodeString(proof)
	if err != nil || json.Unmarshal(text, &o) != nil {
		return false
	}
	n := len(o.Certificates)
	return n > 0 && o.Certificates[n-1].Epoch == hint.Epoch() && core.Owned(overlay.Verify, id, home, hint.Owner, o.Digest, o.Certificates)
}
