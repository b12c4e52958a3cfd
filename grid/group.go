package grid

import (
	"cmp"
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

// Reference is what a user names: a job, a group, or, as SITE.ULID, one of the two. That is a job that stands alone, or a
// group without its .all, as the scripts of an array have it in SLURM_ARRAY_JOB_ID; only who knows them can tell.
type Reference struct {
	Job   JobID   // "" where a group is named
	Group GroupID // "" where a job is
}

// ParseReference checks s to be SITE.ULID[.INDEX] or SITE.ULID.all.
func ParseReference(s string) (Reference, error) {
	if g, err := ParseGroupID(s); err == nil {
		return Reference{Group: g}, nil
	}
	id, err := ParseJobID(s)
	if err != nil {
		return Reference{}, err
	}
	g, err := ParseGroupID(s + groupMark)
	if err != nil {
		return Reference{Job: id}, nil
	}
	return Reference{id, g}, nil
}

// String is an identifier as users name it: of what may be either, that of the job.
func (r Reference) String() string { return cmp.Or(string(r.Job), string(r.Group)) }

// Job is the identifier of its job of that number, from 1 on.
func (g GroupID) Job(n int) JobID {
	return JobID(strings.TrimSuffix(string(g), groupMark) + "." + strconv.Itoa(n))
}

// Site is the site part of the identifier: the group's home by name.
func (g GroupID) Site() SiteName { return JobID(g).Site() }

// Group is the group whose job of number n has this identifier; n is 0 of a job that stands alone, and of a part of a job of a
// group.
func (id JobID) Group() (g GroupID, n int) {
	site, rest, _ := strings.Cut(string(id), ".")
	ulid, index, _ := strings.Cut(rest, ".")
	if index == "" {
		return "", 0
	}
	n, err := strconv.Atoi(index)
	if err != nil || n < 1 || n > MaxSweep || NewGroupID(SiteName(site), ulid).Job(n) != id {
		return "", 0
	}
	return NewGroupID(SiteName(site), ulid), n
}

// Template is the number of the job that stands for what the jobs of a group are made from: its
// files are those that they share.
func (g GroupID) Template() JobID { return g.Job(0) }

// TemplateOf is the group whose template has this identifier.
func (id JobID) TemplateOf() (GroupID, bool) {
	stem, is := strings.CutSuffix(string(id), ".0")
	if !is || strings.Count(stem, ".") != 1 {
		return "", false
	}
	return GroupID(stem + groupMark), true
}

// Bounds of the jobs of a group: of one that is handed in with all of its jobs, and of one that makes
// them from a template.
const (
	MaxGroup = 1000
	MaxSweep = 100_000
)

// Group is all that a broker durably knows of a group: a set of jobs of one user, which was
// handed in as one at its home. What became of each of them is in [Results] beside it, what they are made from,
// if they were not handed in, in a [Template].
type Group struct {
	ID   GroupID
	Name string
	User User   // whose home is the group's
	Key  string // made by the submitter; same user and key is the same group
	Jobs int    // how many it has
	// Template is the digest of that from which its jobs are made; zero where they were handed in.
	Template Hash
	// Entered is how many of them have a record, or had one: those of the first numbers. The others wait
	// for their turn. In a group that is removed it is how many still have one.
	Entered int
	AtOnce  int // so many of its jobs are under way at most; 0 is no word
	// Coming are the numbers of those whose files are not all here; 0 is the template. None of its jobs is
	// searched a place for before there is none.
	Coming          []int
	Ends            Counts     // how many of them have ended
	Failing         int        // of those that are Completed, how many ended with another status than 0
	Sites           []SiteName // by which Results say where they ended
	Submitted       Tick
	Ended           Tick // when the last of its jobs had ended; 0 before
	CancelRequested bool
	Removed         bool // a tombstone: its jobs are gone, its key still counts
}

// Entity says that the record is that of a group.
func (g *Group) Entity() (Kind, string) { return KindGroup, string(g.ID) }

// Made tells that its jobs are made from a template.
func (g *Group) Made() bool { return g.Template != Hash{} }

// Counts are numbers of jobs by state.
type Counts [Lost + 1]int

// Sum is how many there are.
func (c Counts) Sum() (n int) {
	for _, k := range c {
		n += k
	}
	return n
}

// Template is what the jobs of a group are made from, one by one as their turn comes.
type Template struct {
	Group    GroupID
	Name     string // of the document, in messages
	Document string // JSDL with a sweep
	// Inputs are the files that its jobs bring, all together, by the names that they have beside the
	// document. They lie in the folder of [GroupID.Template].
	Inputs Manifest
	// Included are those of Inputs that every job has in its sandbox by the same names, though the document
	// does not name them.
	Included   []string
	Rerunnable bool
	Lenient    bool // namespaces that are not understood are ignored
	Anyway     bool // its jobs may wait for a site that can run them
	Walltime   Tick // of a job whose document names none
}

// Entity says that the record is that of a template.
func (t *Template) Entity() (Kind, string) { return KindTemplate, string(t.Group) }

// Size is about what it takes in memory, in bytes.
func (t *Template) Size() int64 {
	n := int64(jobBytes + len(t.Name) + len(t.Document))
	for _, f := range t.Inputs {
		n += entryBytes + int64(len(f.Path)+len(f.Ranges)*len(Hash{}))
	}
	return n
}
