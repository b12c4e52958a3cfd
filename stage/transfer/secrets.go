package transfer

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strings"

	"github.com/goccy/go-yaml"

	"gbroker/grid"
)

// Secrets are the credentials of a user or a site, from a YAML file: a list of entries
//
//   - for: PREFIX               a URI as far as its credentials hold: https://host/path/, sftp://host, s3://bucket/
//     user: NAME                http (basic), sftp
//     password: WORD            http (basic), sftp
//     token: WORD               http (bearer), instead of user and password
//     private_key: |            sftp: in the form of OpenSSH, without a passphrase
//     host_key: ssh-ed25519 …   sftp: the server's, instead of the site's known hosts
//     access_key: WORD          s3
//     secret_key: WORD          s3
//     session_token: WORD       s3
//     endpoint: URL             s3: https://host[:port]; left out: Amazon's
//     region: WORD              s3
//
// The entry with the longest prefix that a URI has is its own; a prefix ends at a "/" of the
// URI's path, or has its whole host.
type Secrets []Secret

// Secret is one entry.
type Secret struct {
	For          string `yaml:"for"`
	User         string `yaml:"user"`
	Password     string `yaml:"password"`
	Token        string `yaml:"token"`
	PrivateKey   string `yaml:"private_key"`
	HostKey      string `yaml:"host_key"`
	AccessKey    string `yaml:"access_key"`
	SecretKey    string `yaml:"secret_key"`
	SessionToken string `yaml:"session_token"`
	Endpoint     string `yaml:"endpoint"`
	Region       string `yaml:"region"`
}

// String tells nothing, so that no log and no error can.
func (s Secret) String() string { return "the credentials for " + Shown(s.For) }

// Fields are all it says, for comparing.
func (s Secret) Fields() []string {
	return []string{s.For, s.User, s.Password, s.Token, s.PrivateKey, s.HostKey, s.AccessKey, s.SecretKey, s.SessionToken, s.Endpoint, s.Region}
}

// GoString is String: %#v tells nothing either.
func (s Secret) GoString() string { return s.String() }

// MaxSecrets bounds a file of credentials, in bytes, and maxEntries its entries.
const (
	MaxSecrets = 64 << 10
	maxEntries = 64
)

// ParseSecrets reads a file of credentials. Its errors show nothing of what is in it but names of
// fields and lines.
func ParseSecrets(text []byte) (Secrets, error) {
	if len(text) > MaxSecrets {
		return nil, fmt.Errorf("%w: the credentials have %d bytes: at most %d", grid.ErrInvalid, len(text), MaxSecrets)
	}
	var list Secrets
	err := yaml.NewDecoder(bytes.NewReader(text), yaml.Strict(), yaml.DisallowUnknownField()).Decode(&list)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: the credentials are no list of entries, each with for: and the fields of its scheme%s", grid.ErrInvalid, where(err))
	}
	if len(list) > maxEntries {
		return nil, fmt.Errorf("%w: the credentials have %d entries: at most %d", grid.ErrInvalid, len(list), maxEntries)
	}
	for i, s := range list {
		u, err := url.Parse(s.For)
		if err != nil || u.Scheme == "" || u.Host == "" || u.User != nil || u.RawQuery != "" {
			return nil, fmt.Errorf("%w: entry %d of the credentials: for: is not the beginning of a URI, such as https://host/path/", grid.ErrInvalid, i+1)
		}
	}
	return list, nil
}

// where is the line of a mistake, without the source that the parser would show.
func where(err error) string {
	var y yaml.Error
	if errors.As(err, &y) && y.GetToken() != nil && y.GetToken().Position != nil {
		return fmt.Sprintf(" (line %d)", y.GetToken().Position.Line)
	}
	return ""
}

// find is the entry for a URI: in the first list that has one.
func find(u *url.URL, lists ...Secrets) (best Secret) {
	for _, list := range lists {
		for _, s := range list {
			if len(s.For) > len(best.For) && s.holds(u) {
				best = s
			}
		}
		if best.For != "" {
			break
		}
	}
	return best
}

// holds tells that a URI begins with the prefix.
func (s Secret) holds(u *url.URL) bool {
	p, err := url.Parse(s.For)
	if err != nil || p.Scheme != u.Scheme || !strings.EqualFold(p.Host, u.Host) {
		return false
	}
	prefix := strings.TrimSuffix(p.Path, "/")
	return u.Path == prefix || strings.HasPrefix(u.Path, prefix+"/")
}
