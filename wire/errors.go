package wire

import (
	"errors"
	"fmt"
)

// UnknownKind says that the message is of a kind this version does not have.
type UnknownKind struct{ Number Kind }

func (e *UnknownKind) Error() string {
	return fmt.Sprintf("message kind %d is unknown here: the sender's gbroker is newer (this one knows 1 to %d)", uint8(e.Number), len(rules)-1)
}

// UnsupportedFeature says that the sender requires what this version lacks.
type UnsupportedFeature struct {
	Of      Kind
	Feature string
}

func (e *UnsupportedFeature) Error() string {
	return fmt.Sprintf("%v needs the feature %q, which this gbroker does not have", e.Of, e.Feature)
}

// UnsupportedVersion says that the envelope is of another version.
type UnsupportedVersion struct{ Number uint64 }

func (e *UnsupportedVersion) Error() string {
	age := "newer"
	if e.Number < Version {
		age = "older"
	}
	return fmt.Sprintf("message version %d is %s than this gbroker's %d", e.Number, age, Version)
}

// TooLarge says that a frame is over the limit of its kind. Size is 0 where only
// the limit is known to be passed.
type TooLarge struct {
	Of          Kind // 0 if not known
	Size, Limit int  // bytes
}

func (e *TooLarge) Error() string {
	if e.Of == 0 {
		return fmt.Sprintf("frame of %d bytes: at most %d are allowed", e.Size, e.Limit)
	}
	return fmt.Sprintf("%v of %d bytes: at most %d are allowed", e.Of, e.Size, e.Limit)
}

// Malformed says that a message does not keep to its format or limits.
type Malformed struct {
	Of  Kind // 0 if not known
	Err error
}

func (e *Malformed) Error() string {
	if e.Of == 0 {
		return fmt.Sprintf("malformed message: %v", e.Err)
	}
	return fmt.Sprintf("malformed %v: %v", e.Of, e.Err)
}

func (e *Malformed) Unwrap() error { return e.Err }

// Complaint makes the Error message that tells the sender why its frame was not
// understood. ok is false where there is nothing to answer: the error is one of
// the stream itself, which has to be closed, or the frame was an Error.
func Complaint(err error) (answer Error, ok bool) {
	var (
		kind      *UnknownKind
		feature   *UnsupportedFeature
		version   *UnsupportedVersion
		malformed *Malformed
	)
	switch {
	case errors.As(err, &kind):
		answer.Of = kind.Number
	case errors.As(err, &feature):
		answer.Of = feature.Of
	case errors.As(err, &version):
	case errors.As(err, &malformed):
		answer.Of = malformed.Of
	default:
		return Error{}, false
	}
	if answer.Of == KindError {
		return Error{}, false
	}
	answer.Why = plain(err.Error(), MaxWhy)
	return answer, true
}
