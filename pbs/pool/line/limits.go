package line

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path"
	"regexp"
	"strings"

	"gbroker/grid"
)

// Limits of what is believed of the other side.
const (
	MaxMessage  = 16 << 20 // bytes of a message
	maxJobs     = 1024     // of one computer
	MaxDetail   = 2 << 10  // bytes of a text for people
	maxSpeed    = 1000.0
	maxInterval = int64(grid.Hour)
	maxSpan     = int64(grid.MaxUsedCPU)
)

// ErrLimit tells that a message is out of bounds.
var ErrLimit = errors.New("out of bounds")

var (
	tag   = regexp.MustCompile(`^[a-z][a-z0-9]{14}$`)
	nonce = regexp.MustCompile(`^[A-Z2-7]{16,64}$`)
)

// CheckTag says why a text is no tag of a job.
func CheckTag(s string) error {
	if !tag.MatchString(s) {
		return fmt.Errorf("%w: %.40q is no tag of a job", ErrLimit, s)
	}
	return nil
}

// CheckNonce says why a text names no session and no stint.
func CheckNonce(s string) error {
	if !nonce.MatchString(s) {
		return fmt.Errorf("%w: %.80q names no session", ErrLimit, s)
	}
	return nil
}

// CheckRegistration says why a text is no registration; "" is none.
func CheckRegistration(s string) error {
	if s == "" {
		return nil
	}
	return CheckNonce(s)
}

// Read decodes one message of at most MaxMessage bytes. Fields that it does not know are skipped.
func Read(r io.Reader, into any) error {
	limited := &io.LimitedReader{R: r, N: MaxMessage + 1}
	d := json.NewDecoder(limited)
	err := d.Decode(into)
	if limited.N <= 0 {
		return fmt.Errorf("%w: the message is longer than %d bytes", ErrLimit, MaxMessage)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", ErrLimit, err)
	}
	return nil
}

// Check says what of a computer cannot be.
func (c *Computer) Check() error {
	switch {
	case c.Cores < 1 || c.Cores > grid.MaxProcesses:
		return fmt.Errorf("%w: it has %d cores", ErrLimit, c.Cores)
	case c.Memory < 0 || c.Memory > grid.MaxMemory || c.Disk < 0 || c.Disk > grid.MaxDisk:
		return fmt.Errorf("%w: it has %d bytes of memory and %d of disk", ErrLimit, c.Memory, c.Disk)
	case !(c.Speed > 0 && c.Speed <= maxSpeed):
		return fmt.Errorf("%w: its speed is %v", ErrLimit, c.Speed)
	case len(c.Architecture) > grid.MaxName || len(c.System) > grid.MaxName:
		return fmt.Errorf("%w: its architecture is %.80q and its system %.80q", ErrLimit, c.Architecture, c.System)
	case c.Policy.Hours >= 1<<24 || c.Policy.Offset < -int64(grid.Day) || c.Policy.Offset > int64(grid.Day):
		return fmt.Errorf("%w: its hours are %x, and its clock is %d ms from UTC", ErrLimit, c.Policy.Hours, c.Policy.Offset)
	case len(c.Users) > maxJobs:
		return fmt.Errorf("%w: it admits %d users", ErrLimit, len(c.Users))
	}
	for _, u := range c.Users {
		if len(u) > 2*grid.MaxName {
			return fmt.Errorf("%w: it admits %.80q", ErrLimit, u)
		}
	}
	if err := grid.CheckProperties(c.Properties); err != nil {
		return fmt.Errorf("%w: %w", ErrLimit, err)
	}
	if err := grid.CheckResources(c.Named()); err != nil {
		return fmt.Errorf("%w: %w", ErrLimit, err)
	}
	return nil
}

// Check says what of a status cannot be.
func (s *Status) Check() error {
	switch s.Availability {
	case Free, Active, Barred, Paused:
	default:
		return fmt.Errorf("%w: %.40q is no availability", ErrLimit, s.Availability)
	}
	switch {
	case !(s.Idle >= 0 && s.Idle <= 1) || !(s.Speed >= 0 && s.Speed <= maxSpeed) || s.Disk < 0 || s.Disk > grid.MaxDisk:
		return fmt.Errorf("%w: idle %v, speed %v, disk %d", ErrLimit, s.Idle, s.Speed, s.Disk)
	case s.Seen.Active < 0 || s.Seen.Battery < 0 || s.Seen.Span > maxSpan || s.Seen.Battery > s.Seen.Span-s.Seen.Active || !(s.Seen.Idle >= 0 && s.Seen.Idle <= 1):
		return fmt.Errorf("%w: it saw %+v", ErrLimit, s.Seen)
	case len(s.Why) > MaxDetail:
		return fmt.Errorf("%w: the reason has %d bytes", ErrLimit, len(s.Why))
	}
	return checkReports(s.Session, s.Jobs)
}

// Check says what of a connection cannot be.
func (c *Connect) Check() error { return checkReports(c.Session, c.Jobs) }

func checkReports(session string, jobs []Report) error {
	if err := CheckNonce(session); err != nil {
		return err
	}
	if len(jobs) > maxJobs {
		return fmt.Errorf("%w: it holds %d jobs", ErrLimit, len(jobs))
	}
	seen := map[string]bool{}
	for _, j := range jobs {
		if err := errors.Join(CheckTag(j.Tag), CheckNonce(j.Stint)); err != nil {
			return err
		}
		if seen[j.Tag] {
			return fmt.Errorf("%w: job %s twice", ErrLimit, j.Tag)
		}
		seen[j.Tag] = true
		switch j.State {
		case Fetching, Running, Suspended, Returning:
		default:
			return fmt.Errorf("%w: %.40q is no state of a job", ErrLimit, j.State)
		}
		if j.Wall < 0 || j.Wall > maxSpan || j.CPU < 0 || j.CPU > maxSpan {
			return fmt.Errorf("%w: job %s ran for %d ms with %d ms of processor time", ErrLimit, j.Tag, j.Wall, j.CPU)
		}
	}
	return nil
}

// Check says what of an end cannot be.
func (e *End) Check() error {
	if err := CheckNonce(e.Stint); err != nil {
		return err
	}
	switch e.Cause {
	case ByItself, ByWalltime, ByRequest, NeverRan, CutOff, Killed, Unbrought:
	default:
		return fmt.Errorf("%w: %.40q is no cause of an end", ErrLimit, e.Cause)
	}
	switch {
	case e.ExitCode < 0 || e.ExitCode > 255 || e.Signal < 0 || e.Signal > 127:
		return fmt.Errorf("%w: exit code %d, signal %d", ErrLimit, e.ExitCode, e.Signal)
	case e.Ended < 0 || e.Began < e.Ended || e.Began > maxSpan:
		return fmt.Errorf("%w: it began %d ms and ended %d ms ago", ErrLimit, e.Began, e.Ended)
	case e.CPU < 0 || e.CPU > maxSpan || e.Memory < 0 || e.Memory > grid.MaxUsedMemory || len(e.Detail) > MaxDetail:
		return fmt.Errorf("%w: it used %d ms and %d bytes; its detail has %d bytes", ErrLimit, e.CPU, e.Memory, len(e.Detail))
	}
	return nil
}

// Check says what of an order cannot be.
func (o *Orders) Check() error {
	if o.Interval < 1 || o.Interval > maxInterval || o.Poll < 0 || o.Poll > maxInterval || len(o.Jobs) > maxJobs {
		return fmt.Errorf("%w: report each %d ms, poll for %d ms, %d jobs", ErrLimit, o.Interval, o.Poll, len(o.Jobs))
	}
	for _, j := range o.Jobs {
		if err := CheckTag(j.Tag); err != nil {
			return err
		}
		if a := j.Assignment; a != nil && (a.Processes < 1 || a.Cores < 1 || a.Limit < 1 || a.Grace < 0 || a.Memory < 0 || a.Disk < 0 ||
			len(a.Arguments) > grid.MaxArguments || len(a.Environment) > grid.MaxArguments) {
			return fmt.Errorf("%w: the assignment of %s", ErrLimit, a.Attempt)
		}
	}
	return nil
}

// Check says why a list is none of files of a sandbox.
func (f *Files) Check() error {
	if len(f.Files) > grid.MaxFiles {
		return fmt.Errorf("%w: %d files, more than %d", ErrLimit, len(f.Files), grid.MaxFiles)
	}
	total := int64(0)
	for _, one := range f.Files {
		if err := CheckPath(string(one.Path)); err != nil {
			return err
		}
		if one.Size < 0 || one.Size > math.MaxInt64-total || one.Mode > 0o777 || len(one.Link) > grid.MaxPath {
			return fmt.Errorf("%w: file %.80q of %d bytes with mode %o", ErrLimit, one.Path, one.Size, one.Mode)
		}
		if total += one.Size; total > grid.MaxSandbox {
			return fmt.Errorf("%w: files of more than %d bytes", ErrLimit, grid.MaxSandbox)
		}
	}
	return nil
}

// CheckPath says why a path is none inside a sandbox.
func CheckPath(p string) error {
	if p == "" || p == "." || len(p) > grid.MaxPath || path.IsAbs(p) || path.Clean(p) != p || p == ".." || strings.HasPrefix(p, "../") || strings.ContainsRune(p, 0) {
		return fmt.Errorf("%w: %.80q is no path inside a sandbox", ErrLimit, p)
	}
	return nil
}
