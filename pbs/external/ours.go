package external

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"gbroker/grid"
)

// markOf is what a local job of an owner's attempt carries beside its tag: OWNER/JOB@E#A.
func markOf(owner string, at grid.AttemptID) string { return owner + "/" + at.String() }

// parseMark is the attempt of a mark of this owner.
func parseMark(owner, mark string) (at grid.AttemptID, is bool) {
	rest, is := strings.CutPrefix(mark, owner+"/")
	job, rest, is2 := strings.Cut(rest, "@")
	epoch, attempt, is3 := strings.Cut(rest, "#")
	term, hop, is4 := strings.Cut(epoch, ".")
	if !is || !is2 || !is3 || !is4 {
		return at, false
	}
	id, err := grid.ParseJobID(job)
	if err != nil {
		return at, false
	}
	at.Job = id
	for _, f := range []struct {
		text string
		to   *uint32
	}{{term, &at.Epoch.Term}, {hop, &at.Epoch.Hop}, {attempt, &at.Attempt}} {
		n, err := strconv.ParseUint(f.text, 10, 32)
		if err != nil {
			return at, false
		}
		*f.to = uint32(n)
	}
	return at, mark == markOf(owner, at)
}

// attempt tells whose a local job is: ours only with the tag and the mark of one attempt,
// and under the account that its jobs have.
func (s *System) attempt(j Job) (at grid.AttemptID, is bool) {
	at, is = parseMark(s.config.Owner, j.Mark)
	if !is || !strings.HasPrefix(j.Name, at.Tag()) {
		return at, false
	}
	s.mu.Lock()
	e := s.entries[at]
	s.mu.Unlock()
	switch {
	case e != nil:
		return at, j.User == s.account(e.As)
	case s.config.Accounts != nil:
		return at, j.User != "" // the spool that knew the account is lost
	}
	return at, j.User == s.config.Own
}

func (s *System) account(as string) string {
	if as == "" {
		return s.config.Own
	}
	return as
}

// look reads one local job of an attempt afresh. What goes by its identifier and is not
// ours is an error: the system may have given the number to another.
func (s *System) look(ctx context.Context, at grid.AttemptID, id grid.LocalID) (j Job, there bool, err error) {
	jobs, err := s.config.Client.Look(ctx, id)
	if err != nil {
		return j, false, fmt.Errorf("looking for %s, which is %s: %w", id, at, err)
	}
	for _, j := range jobs {
		if j.Local != id {
			continue
		}
		if whose, is := s.attempt(j); !is || whose != at {
			return j, false, fmt.Errorf("%w: job %s of the batch system is not %s: it is called %.40q, marked %.120q, and of user %.40q; it is left alone",
				grid.ErrInvalid, id, at, j.Name, j.Mark, j.User)
		}
		return j, true, nil
	}
	return j, false, nil
}

// act does something to a local job, if a fresh look shows that it is ours and still there.
func (s *System) act(ctx context.Context, at grid.AttemptID, id grid.LocalID,
	do func(ctx context.Context, as string, id grid.LocalID) error,
) (j Job, done bool, err error) {
	j, there, err := s.look(ctx, at, id)
	if err != nil || !there || j.State == Done {
		return j, false, err
	}
	as := ""
	if j.User != s.config.Own {
		as = j.User
	}
	if err := do(ctx, as, id); err != nil {
		return j, false, fmt.Errorf("job %s, which is %s: %w", id, at, err)
	}
	return j, true, nil
}

// locals are the jobs of a listing that are an attempt's, by their marks.
func (s *System) locals(l []Job, at grid.AttemptID) (found []Job) {
	mark := markOf(s.config.Owner, at)
	for _, j := range l {
		if j.Mark != mark {
			continue
		}
		if _, is := s.attempt(j); is {
			found = append(found, j)
		}
	}
	return found
}
