package grid

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of what a job says about itself, and of how it is to be treated.
const (
	MaxAnnotations = 64       // annotations of a job, and projects
	MaxAbout       = 64 << 10 // bytes of all that only describes a job
	MaxChoice      = 64       // sites of one list of a Choice
	MaxPriority    = 1000     // and -MaxPriority
	MaxAfter       = 1000     // dependencies of a job
	MaxNotices     = 16       // of a job
	MaxAddress     = 512      // bytes, of where a notice goes
	MaxAccount     = 64       // bytes
	MaxSignalSent  = 64       // the highest number of a signal
	MaxFee         = int64(1) << 53
)

// About is what only describes a job: it is kept and shown, and has no effect.
type About struct {
	Description string
	Application string // the name of what the program is, beside the executable
	Version     string // of Application
	Annotations []string
	Projects    []string
}

// Choice narrows the sites where a job may run, by their names at its home.
type Choice struct {
	Only   []SiteName // none is any
	Not    []SiteName
	Prefer []SiteName // one of these is chosen unless it is later by more than a minute and a tenth
}

// Terms are what the home of a job sees to. Of these only Deadline travels to other sites.
type Terms struct {
	NotBefore Tick         // an instant: the job waits at its home until then
	Deadline  Tick         // an instant by which it must have ended; 0 is none
	Priority  int          // among the waiting jobs of its user; greater goes first
	Held      bool         // it waits at home until it is released
	After     []Dependency // all of them must hold
	Fee       int64        // the most that its user pays for a core and hour, in the unit of the sites' prices; 0 is no word
	Notify    []Notice
}

// DependencyKind is when a job may go that depends on another.
type DependencyKind string

// Kinds of dependencies, in the words of the batch systems.
const (
	After      DependencyKind = "after"      // the other has started or was cancelled
	AfterOK    DependencyKind = "afterok"    // it has ended well
	AfterNotOK DependencyKind = "afternotok" // it has ended otherwise
	AfterAny   DependencyKind = "afterany"   // it has ended
	AfterCorr  DependencyKind = "aftercorr"  // the job of the same number in the other's group has ended well
	Singleton  DependencyKind = "singleton"  // no earlier job of the same user and name is left
)

var dependencyKinds = []DependencyKind{After, AfterOK, AfterNotOK, AfterAny, AfterCorr, Singleton}

// Dependency is one thing that a job waits for at its home.
type Dependency struct {
	Kind DependencyKind
	On   string // a JobID or GroupID; "" of Singleton
}

// Occasion is when a notice is sent.
type Occasion string

// Occasions.
const (
	OnBegin Occasion = "begin"
	OnEnd   Occasion = "end"  // however it ends
	OnFail  Occasion = "fail" // when it ends otherwise than well
)

var occasions = []Occasion{OnBegin, OnEnd, OnFail}

// Notice is a word to somebody outside.
type Notice struct {
	When Occasion
	To   string // mailto:NAME@HOST, or an https or http address that is posted to
}

// Warning is a signal that the program gets before its time is up; the zero Warning is none.
type Warning struct {
	Signal int
	Before Tick // a span: so long before the limit
	// Leader: its first process alone gets it. Else all of them on its first node do, but of a program
	// with a [Dialect] not the first, which is the shell that reads the script.
	Leader bool
}

// Check says why what describes a job is none.
func (a *About) Check() error {
	texts := append(append([]string{a.Description, a.Application, a.Version}, a.Annotations...), a.Projects...)
	if len(a.Annotations) > MaxAnnotations || len(a.Projects) > MaxAnnotations {
		return fmt.Errorf("%d annotations and %d projects: at most %d each", len(a.Annotations), len(a.Projects), MaxAnnotations)
	}
	n := 0
	for _, s := range texts {
		n += len(s)
		if !readable(s) {
			return fmt.Errorf("the description %.40q holds what is no text", s)
		}
	}
	if n > MaxAbout {
		return fmt.Errorf("%d bytes describe the job: at most %d", n, MaxAbout)
	}
	return nil
}

// readable tells that s is UTF-8 without control characters but for white space.
func readable(s string) bool {
	return utf8.ValidString(s) && strings.IndexFunc(s, func(r rune) bool {
		return unicode.IsControl(r) && r != '\n' && r != '\r' && r != '\t'
	}) < 0
}

// Check says why a choice of sites is none.
func (c *Choice) Check() error {
	for what, list := range map[string][]SiteName{"only": c.Only, "not": c.Not, "prefer": c.Prefer} {
		if len(list) > MaxChoice {
			return fmt.Errorf("%s names %d sites: at most %d", what, len(list), MaxChoice)
		}
		for i, s := range list {
			if err := CheckName(string(s)); err != nil {
				return fmt.Errorf("%s: %w", what, err)
			}
			if slices.Contains(list[:i], s) {
				return fmt.Errorf("%s names site %s twice: once only", what, s)
			}
		}
	}
	for _, s := range c.Not {
		if slices.Contains(c.Only, s) || slices.Contains(c.Prefer, s) {
			return fmt.Errorf("site %s is excluded, and asked for too: name it once", s)
		}
	}
	if len(c.Only) > 0 {
		for _, s := range c.Prefer {
			if !slices.Contains(c.Only, s) {
				return fmt.Errorf("site %s is preferred, but is not among the only ones", s)
			}
		}
	}
	return nil
}

// Allows tells that the job may run at the site.
func (c *Choice) Allows(s SiteName) bool {
	return (len(c.Only) == 0 || slices.Contains(c.Only, s)) && !slices.Contains(c.Not, s)
}

// Check says why terms are none. Instants are not compared with a clock.
func (t *Terms) Check() error {
	switch {
	case t.NotBefore < 0 || t.Deadline < 0:
		return fmt.Errorf("the job may start at %d and must end at %d: an instant is not negative", t.NotBefore, t.Deadline)
	case t.Deadline != 0 && t.NotBefore >= t.Deadline:
		return fmt.Errorf("the job may not start before %s, and must have ended by %s",
			t.NotBefore.Time().Format("2006-01-02T15:04:05Z07:00"), t.Deadline.Time().Format("2006-01-02T15:04:05Z07:00"))
	case t.Priority < -MaxPriority || t.Priority > MaxPriority:
		return fmt.Errorf("the priority %d is not within %d to %d", t.Priority, -MaxPriority, MaxPriority)
	case t.Fee < 0 || t.Fee > MaxFee:
		return fmt.Errorf("the fee %d is not within 0 to %d", t.Fee, MaxFee)
	case len(t.After) > MaxAfter:
		return fmt.Errorf("%d dependencies: at most %d", len(t.After), MaxAfter)
	case len(t.Notify) > MaxNotices:
		return fmt.Errorf("%d notices: at most %d", len(t.Notify), MaxNotices)
	}
	for _, d := range t.After {
		if err := d.Check(); err != nil {
			return err
		}
	}
	for _, n := range t.Notify {
		if err := n.Check(); err != nil {
			return err
		}
	}
	return nil
}

// Check says why a dependency is none.
func (d Dependency) Check() error {
	if !slices.Contains(dependencyKinds, d.Kind) {
		return fmt.Errorf("%.40q is no kind of dependency: use one of %v", string(d.Kind), dependencyKinds)
	}
	if d.Kind == Singleton {
		if d.On != "" {
			return fmt.Errorf("singleton names no job, but has %.80q", d.On)
		}
		return nil
	}
	if _, err := ParseReference(d.On); err != nil {
		return fmt.Errorf("%s: %w", d.Kind, err)
	}
	return nil
}

// Check says why a notice is none.
func (n Notice) Check() error {
	if !slices.Contains(occasions, n.When) {
		return fmt.Errorf("%.40q is no occasion of a notice: use one of %v", string(n.When), occasions)
	}
	scheme, rest, _ := strings.Cut(n.To, ":")
	switch {
	case len(n.To) > MaxAddress:
		return fmt.Errorf("the address of a notice has %d bytes: at most %d", len(n.To), MaxAddress)
	case strings.IndexFunc(n.To, func(r rune) bool { return r <= ' ' || r > '~' }) >= 0:
		return fmt.Errorf("the address of a notice has characters besides visible ASCII: encode them with %%")
	case scheme == "mailto":
		return CheckMailAddress(rest)
	case scheme == "https" || scheme == "http":
		return CheckURI(n.To)
	}
	return fmt.Errorf("a notice goes to mailto:NAME@HOST or https://HOST/PATH")
}

// Mail is the address that gets the notice as a mail; "" if it goes elsewhere.
func (n Notice) Mail() string {
	address, is := strings.CutPrefix(n.To, "mailto:")
	if !is {
		return ""
	}
	return address
}

// Check says why a warning is none.
func (w Warning) Check() error {
	switch {
	case w == Warning{}:
		return nil
	case w.Signal < 1 || w.Signal > MaxSignalSent:
		return fmt.Errorf("the signal %d is not within 1 to %d", w.Signal, MaxSignalSent)
	case w.Before < 1 || w.Before > MaxWalltime:
		return fmt.Errorf("a signal %d ms before the limit: at least 1, at most %d", w.Before, MaxWalltime)
	}
	return nil
}

// CheckAccount says why s is no account of a batch system: "" is none, else it is a word.
func CheckAccount(s string) error {
	if s == "" {
		return nil
	}
	if len(s) > MaxAccount {
		return fmt.Errorf("the account %.20q… has %d characters: at most %d", s, len(s), MaxAccount)
	}
	for i, c := range []byte(s) {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9'
		if letter || i > 0 && strings.IndexByte("._@+-", c) >= 0 {
			continue
		}
		return fmt.Errorf("the account %q has %q at position %d: use letters, digits and . _ @ + -, first a letter or digit", s, c, i+1)
	}
	return nil
}

// Owed is a notice that is to be sent.
type Owed struct {
	Notice
	At Tick // of what it tells
}
