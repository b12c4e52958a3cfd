package grid

import (
	"path"
	"slices"
	"strings"
)

// The names of the files of a batch script may ask for its number, which is known when the job is made: in
// Output and Error of a program with a dialect %j stands for the job's identifier, %A for that of
// its group (of a job without one the same), and %% for a %.
const (
	NumberOfJob   = "%j"
	NumberOfGroup = "%A"
)

// longestID is the longest identifier of a job: a site, a ULID and an index.
const longestID = MaxName + 1 + 26 + 1 + 9

// Numbered is a name with the identifier in it.
func (id JobID) Numbered(name string) string {
	if !strings.Contains(name, "%") {
		return name
	}
	group := string(id)
	if strings.Count(group, ".") == 2 {
		group = group[:strings.LastIndex(group, ".")]
	}
	return strings.NewReplacer("%%", "%", NumberOfJob, string(id), NumberOfGroup, group).Replace(name)
}

// FitsNumbered tells whether a name with any identifier in it is a path.
func FitsNumbered(name string) bool {
	long := JobID(strings.Repeat("x", longestID)).Numbered(name)
	for part := range strings.SplitSeq(long, "/") {
		if len(part) > 255 {
			return false
		}
	}
	return len(long) <= MaxPath
}

// Number puts the identifier into the names of the files of a batch script.
func (j *Job) Number() {
	if j.Program.Dialect != "" {
		j.rename(j.ID.Numbered)
	}
}

// Renumber makes the job one of another identifier.
func (j *Job) Renumber(id JobID) {
	old := string(j.ID)
	j.ID = id
	if j.Program.Dialect != "" && old != "" {
		j.rename(func(name string) string { return strings.ReplaceAll(name, old, string(id)) })
	}
}

// rename changes the names of standard output and error, and the outputs that they are.
func (j *Job) rename(to func(string) string) {
	p := &j.Program
	outputs := slices.Clone(j.Outputs)
	for _, name := range []*string{&p.Output, &p.Error} {
		was, now := *name, to(*name)
		for i, o := range j.Outputs {
			if was == "" || o.Path != path.Join(p.Directory, was) {
				continue
			}
			outputs[i].Path = path.Join(p.Directory, now)
			if o.Target == was {
				outputs[i].Target = now
			}
		}
		*name = now
	}
	j.Outputs = outputs
}
