package wire

import (
	"bytes"

	"lukechampine.com/blake3"

	"gbroker/grid"
)

// digestSalt keeps the digest of a job apart from any other hash of the same bytes.
const digestSalt = "gbroker job 1\n"

// JobDigest is what the messages of a handoff name the job's content by; see the
// package comment. It is the same before and after the job has travelled. The
// candidate compares it with the digest of the job it was offered.
func JobDigest(j grid.Job) grid.Hash {
	var b bytes.Buffer
	b.WriteString(digestSalt)
	write(&b, fromJob(j))
	return grid.Hash(blake3.Sum256(b.Bytes()))
}
