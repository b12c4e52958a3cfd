package daemon

import (
	"context"
	"encoding/base64"
	"encoding/json"

	"gbroker/api"
	"gbroker/broker/core"
	"gbroker/grid"
	"gbroker/overlay"
	"gbroker/wire"
)

// ownership is how an owner proves, to who cannot ask the home, that a job was given to it: the certificates of the handoffs, of
// which the home has signed the first. What the DHT says of owners is a hint, which any broker of the grid may write.
// It is sent in the header [api.ProofHeader], as base64url of JSON.
type ownership struct {
	Digest       grid.Hash          `json:"digest"`
	Certificates []grid.Certificate `json:"certificates"`
}

// Proof proves that this broker was given a job of a user of another home.
func (e elsewhere) Proof(ctx context.Context, p api.Pass, id grid.JobID) string {
	r, err := e.site.broker.Whole(ctx, id) // certificates are of all of it
	if err != nil || len(r.Certificates) == 0 || r.Job.User != (grid.User{Home: p.Home, Name: p.User}) {
		return ""
	}
	text, err := json.Marshal(ownership{wire.JobDigest(r.Job), r.Certificates})
	if err != nil {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(text)
}

// proves tells that a proof shows that a job of home was given to a peer.
func proves(proof string, id grid.JobID, home, at grid.PeerID) bool {
	var o ownership
	text, err := base64.RawURLEncoding.DecodeString(proof)
	if err != nil || json.Unmarshal(text, &o) != nil {
		return false
	}
	return core.Owned(overlay.Verify, id, home, at, o.Digest, o.Certificates)
}
