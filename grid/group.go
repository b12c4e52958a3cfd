package grid

import (
	"fmt"
	"strconv"
	"strings"
)

// GroupID is SITE.ULID.all: the home's site name, and a ULID made at submission. The jobs of the
// group are SITE.ULID.1, SITE.ULID.2 and so on.
type GroupID string

const groupMark = ".all"

// NewGroupID joins the parts of a group's identifier.
func NewGroupID(home SiteName, ulid string) GroupID {
	return GroupID(string(home) + "." + ulid + groupMark)
}

// ParseGroupID checks s to be SITE.ULID.all.
func ParseGroupID(s string) (GroupID, error) {
	stem, is := strings.CutSuffix(s, groupMark)
	if id, err := ParseJobID(stem); !is || err != nil || strings.Count(string(id), ".") != 1 {
		return "", fmt.Errorf("%.80q is no identifier of a group: it looks like SITE.01ABCDEFGHJKMNPQRSTVWXYZ00.all", s)
	}
	return GroupID(s), nil
}

// Job is the identifier of its job of that number, from 1 on.
func (g GroupID) Job(n int) JobID {
	return JobID(strings.TrimSuffix(string(g), groupMark) + "." + strconv.Itoa(n))
}

// Site is the site part of the identifier: the group's home by name.
func (g GroupID) Site() SiteName { return JobID(g).Site() }

// Group is the group whose job of number n has this identifier; n is 0 of a job that stands alone.
func (id JobID) Group() (g GroupID, n int) {
	site, rest, _ := strings.Cut(string(id), ".")
	ulid, index, _ := strings.Cut(rest, ".")
	n, err := strconv.Atoi(index)
	if err != nil || n < 1 || NewGroupID(SiteName(site), ulid).Job(n) != id {
		return "", 0
	}
	return NewGroupID(SiteName(site), ulid), n
}

// MaxGroup bounds the jobs of a group.
const MaxGroup = 1000

// Group is all that a broker durably knows of a group: a set of jobs of one user, which was
// handed in as one at its home.
type Group struct {
	ID   GroupID
	Name string
	User User   // whose home is the group's
	Key  string // made by the submitter; same user and key is the same group
	Jobs int    // how many it has
	// Coming are the numbers of those whose files are not all here. None of its jobs is searched a
	// place for before there is none.
	Coming          []int
	Submitted       Tick
	Ended           Tick // when the last of its jobs had ended; 0 before
	CancelRequested bool
	Removed         bool // a tombstone: its jobs are gone, its key still counts
}

// Entity says that the record is that of a group.
func (g *Group) Entity() (Kind, string) { return KindGroup, string(g.ID) }
