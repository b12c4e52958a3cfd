package api

import (
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"gbroker/grid"
)

// Limits on what a client may send.
const (
	MaxDocument    = 1 << 20  // bytes of a JSDL document
	MaxSubmission  = 20 << 20 // bytes of a submission's JSON: the document, escaped, and grid.MaxFiles paths
	MaxKey         = 128      // bytes of a submission's key
	MaxCredentials = 64 << 10 // bytes of credentials
	MaxPage        = 1000     // jobs in one page of a list
)

// Submission is what POST /v1/jobs takes.
type Submission struct {
	// Key is made before sending, 1 to 128 printable ASCII characters; the same
	// user and key is the same job.
	Key        string `json:"key"`
	Document   string `json:"document"`
	Name       string `json:"name"` // of the document's file, for messages
	Rerunnable bool   `json:"rerunnable"`
	// Lenient ignores what is of namespaces that are not understood.
	Lenient bool `json:"lenient,omitempty"`
	// QueueAnyway takes a job that no known site could ever run: one may come.
	QueueAnyway bool   `json:"queue_anyway"`
	Files       []File `json:"files"` // those beside the document that it names
	// Include are files that go into the sandbox too, by their paths there; the document does not name them.
	Include []File `json:"include,omitempty"`
	// Reservation is one of the user's, for which the job is.
	Reservation grid.ReservationID `json:"reservation,omitempty"`
	// Guaranteed has a reservation made for it at the site where it would end first, so that it begins as is estimated.
	Guaranteed bool `json:"guaranteed,omitempty"`
	// Credentials is a file of credentials for the URIs of the job, at most 64 KiB.
	Credentials string `json:"credentials,omitempty"`
}

// File is a file beside a document, one to upload, or one that a job left.
type File struct {
	Path string `json:"path"`
	From string `json:"from,omitempty"` // of one to upload: its name beside the document; Path is that in the sandbox
	Size int64  `json:"size"`
	Mode uint32 `json:"mode"`
}

// Accepted is the answer to a submission.
type Accepted struct {
	Status
	Again  bool   `json:"again"` // the key was known: this is the job it made
	Wanted []File `json:"wanted"`
	// Warnings are what of the document will not come true at this broker.
	Warnings []string `json:"warnings,omitempty"`
}

// Page is a part of the list of jobs.
type Page struct {
	Jobs []Status    `json:"jobs"`
	Next *grid.JobID `json:"next"` // what to give as "after" for the next part; null at the end
}

// Confirmation is the answer to a cancel, and to an Alteration.
type Confirmation struct {
	Confirmed bool   `json:"confirmed"` // false: recorded, and not unsaid, but the job's owner has not answered yet
	Job       Status `json:"job"`
}

// Outputs lists what a job left, or has written so far.
type Outputs struct {
	ID       grid.JobID `json:"id"`
	Complete bool       `json:"complete"`
	Files    []File     `json:"files"`
}

func checkKey(key string) error {
	if key == "" || len(key) > MaxKey || strings.IndexFunc(key, func(c rune) bool { return c <= ' ' || c > '~' }) >= 0 {
		return fmt.Errorf("the key of a submission is 1 to %d printable ASCII characters: %w", MaxKey, grid.ErrInvalid)
	}
	return nil
}

// check refuses what no honest client sends.
func (s *Submission) check() error {
	if err := checkKey(s.Key); err != nil {
		return err
	}
	if len(s.Document) > MaxDocument {
		return fmt.Errorf("the document has %d bytes, at most %d are taken: %w", len(s.Document), MaxDocument, grid.ErrInvalid)
	}
	if len(s.Credentials) > MaxCredentials {
		return fmt.Errorf("the credentials have %d bytes, at most %d are taken: %w", len(s.Credentials), MaxCredentials, grid.ErrInvalid)
	}
	if s.Name == "" {
		s.Name = "document"
	}
	if len(s.Name) > grid.MaxPath || strings.IndexFunc(s.Name, unicode.IsControl) >= 0 {
		return fmt.Errorf("the document's name is longer than %d bytes or has control characters: %w", grid.MaxPath, grid.ErrInvalid)
	}
	if len(s.Files) > grid.MaxFiles {
		return fmt.Errorf("%d files are declared, at most %d are taken: %w", len(s.Files), grid.MaxFiles, grid.ErrInvalid)
	}
	if len(s.Files)+len(s.Include) > grid.MaxFiles {
		return fmt.Errorf("%d files are declared and included, at most %d are taken: put them into an archive, and unpack it in the job: %w", len(s.Files)+len(s.Include), grid.MaxFiles, grid.ErrInvalid)
	}
	total := int64(0)
	for _, f := range slices.Concat(s.Files, s.Include) {
		if err := checkPath(f.Path); err != nil {
			return err
		}
		if f.Size < 0 || f.Mode > 0o777 {
			return fmt.Errorf("file %q: size %d or mode %#o is out of range: %w", f.Path, f.Size, f.Mode, grid.ErrInvalid)
		}
		if f.Size > grid.MaxSandbox {
			return fmt.Errorf("file %q: %d bytes are declared, and a job may bring %d in all (%d GiB): put it on a file system that the sites share, or split the job: %w",
				f.Path, f.Size, grid.MaxSandbox, grid.MaxSandbox>>30, grid.ErrInvalid)
		}
		if total += f.Size; total > grid.MaxSandbox { // no overflow: each summand is checked
			return fmt.Errorf("%d files with %d bytes or more are declared, and a job may bring %d in all (%d GiB): put them on a file system that the sites share, or split the job: %w",
				len(s.Files), total, grid.MaxSandbox, grid.MaxSandbox>>30, grid.ErrInvalid)
		}
	}
	return nil
}

// checkPath takes only clean relative paths that go no way up.
func checkPath(p string) error {
	if !fs.ValidPath(p) || p == "." || strings.ContainsRune(p, 0) || !utf8.ValidString(p) {
		return fmt.Errorf("path %.80q: not a clean relative path inside the sandbox: %w", p, grid.ErrInvalid)
	}
	if len(p) > grid.MaxPath {
		return fmt.Errorf("path %.80q…: longer than %d bytes: %w", p, grid.MaxPath, grid.ErrInvalid)
	}
	return nil
}
