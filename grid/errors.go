package grid

import "errors"

// Kinds of refusal that cross package borders; test with errors.Is. The text
// around them says which operation on what.
var (
	ErrInvalid     = errors.New("invalid")                // the request itself is wrong
	ErrNotFound    = errors.New("not found")              // no such job, file, site
	ErrForbidden   = errors.New("not allowed")            // exists, but not for this user
	ErrNotYet      = errors.New("not yet")                // will be possible later
	ErrUnavailable = errors.New("temporarily impossible") // disk, peer or batch system
	ErrDamaged     = errors.New("damaged")                // what is kept on disk is not as it was written
)

// RefusalOf is the kind of a refusal that an error is: what is temporarily impossible, what is
// wrong for ever, or nothing that says so.
func RefusalOf(err error) RefusalKind {
	switch {
	case errors.Is(err, ErrUnavailable):
		return Temporary
	case errors.Is(err, ErrInvalid):
		return Permanent
	}
	return UnknownRefusal
}
