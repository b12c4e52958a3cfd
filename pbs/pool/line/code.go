package line

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"net"
	"strings"
)

var base = base32.StdEncoding.WithPadding(base32.NoPadding)

// Code is a join code: where the pool is, by what it is known, and a secret that is good once. As
// text it is HOST:PORT/FINGERPRINT/SECRET.
type Code struct {
	Address     string // HOST:PORT
	Fingerprint Fingerprint
	Secret      string
}

// Fingerprint is the SHA-256 of a public key as it stands in a certificate.
type Fingerprint [sha256.Size]byte

func (f Fingerprint) String() string { return base.EncodeToString(f[:]) }

// ParseFingerprint is the inverse of String.
func ParseFingerprint(s string) (f Fingerprint, err error) {
	data, err := base.DecodeString(s)
	if err != nil || len(data) != len(f) {
		return f, fmt.Errorf("%.80q is no fingerprint of a pool: it has 52 of A-Z 2-7", s)
	}
	return Fingerprint(data), nil
}

// Nonce is a text by chance that nobody guesses.
func Nonce() string { return rand.Text() }

func (c Code) String() string { return c.Address + "/" + c.Fingerprint.String() + "/" + c.Secret }

// ParseCode reads a join code.
func ParseCode(s string) (c Code, err error) {
	parts := strings.Split(strings.TrimSpace(s), "/")
	if len(parts) != 3 {
		return c, fmt.Errorf("%.80q is no join code: it is HOST:PORT/FINGERPRINT/SECRET, as `gbroker pool invite` prints it", s)
	}
	if _, _, err := net.SplitHostPort(parts[0]); err != nil {
		return c, fmt.Errorf("the join code has no address: %w", err)
	}
	c.Address, c.Secret = parts[0], parts[2]
	if c.Fingerprint, err = ParseFingerprint(parts[1]); err != nil {
		return c, fmt.Errorf("the join code: %w", err)
	}
	if err := CheckNonce(c.Secret); err != nil {
		return c, fmt.Errorf("the join code has no secret: %w", err)
	}
	return c, nil
}
