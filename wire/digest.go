package wire

import (
	"bytes"
	"fmt"
	"slices"

	"lukechampine.com/blake3"

	"gbroker/grid"
)

// digestSalt keeps the digest of a job apart from any other hash of the same bytes.
const digestSalt = "gbroker job 1\n"

// JobDigest is what the messages of a handoff name the job's content by; see the
// package comment. It is the same before and after the job has travelled. The
// candidate compares it with the digest of the job it was offered. It does not cover
// what only describes the job, nor what its home alone sees to: its terms, and whether it may have several sites.
func JobDigest(j grid.Job) grid.Hash {
	var b bytes.Buffer
	b.WriteString(digestSalt)
	j.About, j.Sharing, j.Coallocation, j.Part = grid.About{}, grid.Sharing{}, nil, nameless(j.Part)
	write(&b, fromJob(j))
	return grid.Hash(blake3.Sum256(b.Bytes()))
}

// nameless is a part without the peer IDs of its sites, which older brokers do not read.
func nameless(p *grid.Part) *grid.Part {
	if p == nil {
		return nil
	}
	q := *p
	q.Sites = slices.Clone(p.Sites)
	for i := range q.Sites {
		q.Sites[i].Peer = ""
	}
	return &q
}

// certificateSalt keeps what a certificate's signature covers apart from any other signed text.
const certificateSalt = "gbroker deed 1\n"

// CertificateText is what the signature of a certificate covers: that the job of this identifier
// and content is given to the peer to, who owns it at epoch.
func CertificateText(job grid.JobID, digest grid.Hash, epoch grid.Epoch, to grid.PeerID) []byte {
	return fmt.Appendf([]byte(certificateSalt), "%s\n%x\n%d.%d\n%s\n", job, digest, epoch.Term, epoch.Hop, to)
}
