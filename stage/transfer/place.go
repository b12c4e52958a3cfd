package transfer

import (
	"fmt"
	"net/url"
	"strings"

	"gbroker/grid"
)

// maxURI is the longest URI, in bytes.
const maxURI = 4096

// Place is where a file is, or is to be brought, and in whose name.
type Place struct {
	URI     string
	Account string      // under which file: is read; "" is this process' own
	Secrets Secrets     // of the user; those of the site come after
	Failed  func(error) // is told of each try that failed and is followed by another; nil: nobody is
}

// failed tells of a try that is followed by another.
func (p Place) failed(err error) {
	if p.Failed != nil {
		p.Failed(err)
	}
}

// target is a place as read.
type target struct {
	*url.URL
	shown   string // without what is secret, for errors
	account string
	secret  Secret
}

// Shown is a URI for people: without a password and without a query, which may be one.
func Shown(uri string) string {
	u, err := url.Parse(uri)
	if err != nil {
		return "a URI that cannot be read"
	}
	if u.User != nil {
		u.User = url.User(u.User.Username())
	}
	if u.RawQuery != "" {
		u.RawQuery = "…"
	}
	u.Fragment, u.RawFragment = "", ""
	text := u.Scheme + "://"
	if u.User != nil {
		text += u.User.String() + "@"
	}
	text += u.Host + u.EscapedPath()
	if u.RawQuery != "" {
		text += "?…"
	}
	return text
}

// read reads a place and finds the credentials for it.
func (c *Client) read(p Place) (target, scheme, error) {
	t := target{account: p.Account, shown: Shown(p.URI)}
	bad := func(why string) (target, scheme, error) {
		return t, nil, fmt.Errorf("%w: %s: %s", grid.ErrInvalid, t.shown, why)
	}
	if len(p.URI) > maxURI {
		return bad(fmt.Sprintf("the URI has %d bytes: at most %d", len(p.URI), maxURI))
	}
	var err error
	if t.URL, err = url.Parse(p.URI); err != nil {
		return bad("it is no URI") // the error would show it
	}
	if _, has := t.User.Password(); has {
		return bad("a password has no place in a URI: give it by --credentials")
	}
	if t.Opaque != "" || strings.ContainsRune(t.Path, 0) {
		return bad("write it as SCHEME://HOST/PATH")
	}
	t.Scheme = strings.ToLower(t.Scheme)
	s := c.schemes[t.Scheme]
	if s == nil {
		return bad("the schemes are file, http, https, sftp and s3")
	}
	t.secret = find(t.URL, p.Secrets, c.cfg.Secrets)
	if err := s.check(t); err != nil {
		return bad(err.Error())
	}
	return t, s, nil
}

// TellsChecksums reports that places of a URI's scheme may tell the checksum of a file.
func TellsChecksums(uri string) bool {
	scheme, _, _ := strings.Cut(uri, ":")
	switch strings.ToLower(scheme) {
	case "http", "https", "s3":
		return true
	}
	return false
}
