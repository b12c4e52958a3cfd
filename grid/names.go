package grid

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"fmt"
	"strings"
)

// Identifiers. Each has a type of its own, so that none is taken for another.
type (
	// PeerID is a broker's identity: the text form of its libp2p peer ID.
	PeerID string
	// SiteName is the alias of a site in the local member file.
	SiteName string
	// QueueName names a queue (partition) of a site; "" is the site's default.
	QueueName string
	// NodeName names one node of a site.
	NodeName string
	// LocalID is what a local batch system calls a job.
	LocalID string
	// JobID is SITE.ULID[.INDEX]: the home's site name, a ULID made at
	// submission, and an index for parts of a job.
	JobID string
)

// MaxName bounds site, queue and node names, in bytes.
const MaxName = 63

// CheckName says why s cannot name a site, queue or node: names are 1 to 63 of
// a-z 0-9 - _ and start with a letter or digit, so that they are safe as a folder
// name, a DNS label and a word of a command.
func CheckName(s string) error {
	if s == "" {
		return fmt.Errorf("the name is empty: use 1 to %d of a-z 0-9 - _", MaxName)
	}
	if len(s) > MaxName {
		return fmt.Errorf("the name %.20q… has %d characters: at most %d", s, len(s), MaxName)
	}
	for i, c := range []byte(s) {
		letter := c >= 'a' && c <= 'z' || c >= '0' && c <= '9'
		if letter || i > 0 && (c == '-' || c == '_') {
			continue
		}
		return fmt.Errorf("the name %q has %q at position %d: use a-z 0-9 - _, first a letter or digit", s, c, i+1)
	}
	return nil
}

// NewJobID joins the parts of a job's identifier.
func NewJobID(home SiteName, ulid string) JobID {
	return JobID(string(home) + "." + ulid)
}

// ParseJobID checks s to be SITE.ULID[.INDEX].
func ParseJobID(s string) (JobID, error) {
	site, rest, ok := strings.Cut(s, ".")
	if !ok {
		return "", fmt.Errorf("%.80q is no job identifier: it looks like SITE.01ABCDEFGHJKMNPQRSTVWXYZ00", s)
	}
	if err := CheckName(site); err != nil {
		return "", fmt.Errorf("%.80q is no job identifier: %w", s, err)
	}
	ulid, index, hasIndex := strings.Cut(rest, ".")
	if len(ulid) != 26 || strings.Trim(ulid, "0123456789ABCDEFGHJKMNPQRSTVWXYZ") != "" {
		return "", fmt.Errorf("%.80q is no job identifier: after the site come 26 characters 0-9 A-Z", s)
	}
	if hasIndex && "."+index == groupMark {
		return "", fmt.Errorf("%.80q is a group of jobs: name one of them, as %s.%s.1", s, site, ulid)
	}
	if hasIndex && (index == "" || len(index) > 9 || strings.Trim(index, "0123456789") != "") {
		return "", fmt.Errorf("%.80q is no job identifier: its index is no number", s)
	}
	return JobID(s), nil
}

// Site is the site part of the identifier: the job's home by name.
func (id JobID) Site() SiteName {
	site, _, _ := strings.Cut(string(id), ".")
	return SiteName(site)
}

// User is a person at their home site: two people called alice are two users.
type User struct {
	Home PeerID // the broker whose operating system knows the name
	Name string
}

// Epoch orders words about who owns a job. Only the home raises Term, only the
// owner raises Hop, once for each Offer.
type Epoch struct {
	Term, Hop uint32
}

// Compare is -1, 0 or 1 as e is before, equal to or after o.
func (e Epoch) Compare(o Epoch) int {
	switch {
	case e.Term < o.Term || e.Term == o.Term && e.Hop < o.Hop:
		return -1
	case e == o:
		return 0
	}
	return 1
}

// Before reports that e is older than o.
func (e Epoch) Before(o Epoch) bool { return e.Compare(o) < 0 }

func (e Epoch) String() string { return fmt.Sprintf("%d.%d", e.Term, e.Hop) }

// AttemptID names one submission of a job to a batch system.
type AttemptID struct {
	Job     JobID
	Epoch   Epoch
	Attempt uint32
}

func (a AttemptID) String() string {
	return fmt.Sprintf("%s@%s#%d", a.Job, a.Epoch, a.Attempt)
}

var tagEncoding = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// Tag is the attempt's mark in the name of the local job: a letter and 14 base32
// characters of a hash, which every batch system accepts as a job name.
func (a AttemptID) Tag() string {
	h := sha256.New()
	h.Write([]byte(a.Job))
	var b [13]byte
	binary.BigEndian.PutUint32(b[1:], a.Epoch.Term)
	binary.BigEndian.PutUint32(b[5:], a.Epoch.Hop)
	binary.BigEndian.PutUint32(b[9:], a.Attempt)
	h.Write(b[:])
	return "g" + tagEncoding.EncodeToString(h.Sum(nil))[:14]
}
