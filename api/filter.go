package api

import (
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"gbroker/grid"
)

// Filter says which jobs are meant; its zero value passes all. What has several parts passes what
// fits all of them.
type Filter struct {
	States []grid.State // one of them; none are all
	Site   grid.SiteName
	Name   string // a glob, as a shell has them: * ? [a-z]
	Since  Time   // handed in at that instant or later
	Group  grid.GroupID
	User   string // for administrators
	// Unswept leaves out the jobs of sweeps. [UserService.Jobs] sees to it: a record does not say what made it.
	Unswept bool
	// Folded leaves out the parts of jobs over several sites whose home this is: their lines are in that of the whole.
	// [UserService.Jobs] sees to it.
	Folded bool
}

const timeText = time.RFC3339Nano

// Passes reports whether a job is meant; name gives the sites' aliases.
func (f *Filter) Passes(r *grid.Record, name func(grid.PeerID) string) bool {
	if len(f.States) > 0 && !slices.Contains(f.States, r.State) || grid.Tick(f.Since) > r.Submitted || f.User != "" && f.User != r.Job.User.Name {
		return false
	}
	if f.Site != "" && string(f.Site) != name(r.Owner) {
		return false
	}
	if f.Group != "" {
		if group, n := r.Job.ID.Group(); n == 0 || group != f.Group {
			return false
		}
	}
	if f.Name == "" {
		return true
	}
	fits, err := path.Match(f.Name, strings.ReplaceAll(r.Job.Name, "/", "\x00")) // a slash is a letter like any other
	return err == nil && fits
}

func (f *Filter) query() url.Values {
	q := url.Values{}
	set := func(name, value string) {
		if value != "" {
			q.Set(name, value)
		}
	}
	var states []string
	for _, s := range f.States {
		states = append(states, s.String())
	}
	set("state", strings.Join(states, ","))
	set("site", string(f.Site))
	set("name", f.Name)
	set("group", string(f.Group))
	set("user", f.User)
	if f.Unswept {
		set("unswept", "true")
	}
	if f.Folded {
		set("folded", "true")
	}
	if f.Since != 0 {
		set("since", f.Since.String())
	}
	return q
}

// maxFilter bounds a word of a filter, in bytes.
const maxFilter = 256

func readFilter(q url.Values) (f Filter, err error) {
	for _, name := range []string{"state", "site", "name", "group", "user", "since"} {
		if len(q.Get(name)) > maxFilter {
			return f, fmt.Errorf("%s=%.40q…: at most %d bytes are taken: %w", name, q.Get(name), maxFilter, grid.ErrInvalid)
		}
	}
	if text := q.Get("state"); text != "" {
		for word := range strings.SplitSeq(text, ",") {
			s, err := grid.ParseState(word)
			if err != nil {
				return f, fmt.Errorf("state: %w: %w", err, grid.ErrInvalid)
			}
			f.States = append(f.States, s)
		}
	}
	f.Unswept, f.Folded = q.Get("unswept") == "true", q.Get("folded") == "true"
	f.Site, f.Name, f.User = grid.SiteName(q.Get("site")), q.Get("name"), q.Get("user")
	if _, err := path.Match(f.Name, ""); err != nil {
		return f, fmt.Errorf("name: %.80q is no pattern: %w", f.Name, grid.ErrInvalid)
	}
	if text := q.Get("group"); text != "" {
		if f.Group, err = grid.ParseGroupID(text); err != nil {
			return f, fmt.Errorf("group: %w: %w", err, grid.ErrInvalid)
		}
	}
	if text := q.Get("since"); text != "" {
		at, err := time.Parse(timeText, text)
		if err != nil {
			return f, fmt.Errorf("since: %.40q is no RFC 3339 time: %w", text, grid.ErrInvalid)
		}
		f.Since = Time(grid.InstantOf(at))
	}
	return f, nil
}
