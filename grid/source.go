package grid

import (
	"errors"
	"fmt"
	"strings"
)

// Limits of what comes from elsewhere and goes there.
const (
	MaxURI     = 4096 // bytes
	MaxSources = 1000 // of one job
)

// CreationFlag says what becomes of a file that is there already. The numbers are stored and sent.
type CreationFlag uint8

// Creation flags, in JSDL's words.
const (
	Overwrite CreationFlag = iota
	Append
	DontOverwrite
)

func (f CreationFlag) String() string {
	return [...]string{"overwrite", "append", "dontOverwrite", "unknown"}[min(int(f), 3)]
}

// Valid tells that it is one of those above.
func (f CreationFlag) Valid() bool { return f <= DontOverwrite }

// Source is an input that the site fetches by a URI, before the job is ready there.
type Source struct {
	Path string // relative to the sandbox's top
	URI  string // without a password
	Flag CreationFlag
}

// SourceCost is what it takes to bring the inputs by URI of a job, as far as it is known.
type SourceCost struct {
	Bytes    int64
	Measured int64 // of these, over ways on which files have come to this site
	Takes    Tick  // these, by how fast those came
}

// ErrPassword is a URI that holds a password.
var ErrPassword = errors.New("the URI holds a password, which others may see: take it out")

// CheckURI says why s is no absolute URI that a job may name: it has a scheme, is visible ASCII,
// and holds no password, for it is shown to whoever sees the job. The error repeats nothing of it.
func CheckURI(s string) error {
	scheme, rest, ok := strings.Cut(s, ":")
	switch {
	case len(s) > MaxURI:
		return fmt.Errorf("the URI has %d bytes: at most %d", len(s), MaxURI)
	case !ok || !isScheme(scheme) || rest == "":
		return fmt.Errorf("the URI has no scheme: it begins as in https:")
	case strings.IndexFunc(s, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune("\"<>\\^`{|}", r) }) >= 0:
		return fmt.Errorf("the URI has characters that no URI has: encode them with %%")
	case hasPassword(rest):
		return ErrPassword
	}
	return nil
}

func isScheme(s string) bool {
	for i, c := range []byte(s) {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (i == 0 || (c < '0' || c > '9') && c != '+' && c != '-' && c != '.') {
			return false
		}
	}
	return s != ""
}

// hasPassword tells that what follows the scheme has NAME:PASSWORD@ in its authority.
func hasPassword(rest string) bool {
	authority, ok := strings.CutPrefix(rest, "//")
	if i := strings.IndexAny(authority, "/?#"); i >= 0 {
		authority = authority[:i]
	}
	user, _, at := cutLast(authority, "@")
	return ok && at && strings.Contains(user, ":")
}

func cutLast(s, sep string) (before, after string, found bool) {
	if i := strings.LastIndex(s, sep); i >= 0 {
		return s[:i], s[i+len(sep):], true
	}
	return s, "", false
}
