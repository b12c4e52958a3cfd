package grid

import (
	"fmt"
	"strings"
)

// Limits of an address of mail, in bytes.
const (
	maxMailName = 64
	maxDomain   = 253
)

// CheckMailAddress says why s is no address that mail is sent to: NAME@HOST in plain characters. Quoted
// names, comments, routes and addresses of the network are refused: nobody is met there by accident.
func CheckMailAddress(s string) error {
	at := strings.LastIndexByte(s, '@')
	if at < 0 {
		return fmt.Errorf("%.80q is no address: write NAME@HOST", s)
	}
	name, host := s[:at], s[at+1:]
	if len(name) < 1 || len(name) > maxMailName || strings.Trim(name, ".") != name || strings.Contains(name, "..") || name[0] == '-' {
		return fmt.Errorf("%.80q is no address: the part before the @ has 1 to %d characters, and does not begin or end with a dot or begin with a dash", s, maxMailName)
	}
	for _, c := range []byte(name) {
		if !alphanumeric(c) && strings.IndexByte("._+-=~&'", c) < 0 {
			return fmt.Errorf("%.80q is no address that mail goes to: %q is not taken before the @", s, c)
		}
	}
	if len(host) > maxDomain {
		return fmt.Errorf("%.80q is no address: its host has %d characters, at most %d", s, len(host), maxDomain)
	}
	return CheckDomain(host)
}

// CheckDomain says why s is no name of a host or a domain.
func CheckDomain(s string) error {
	for _, label := range strings.Split(s, ".") {
		if label == "" || len(label) > 63 || strings.Trim(label, "-") != label {
			return fmt.Errorf("%.80q is no name of a host: write it like mail.example.org", s)
		}
		for _, c := range []byte(label) {
			if !alphanumeric(c) && c != '-' {
				return fmt.Errorf("%.80q is no name of a host: %q is not taken", s, c)
			}
		}
	}
	return nil
}

func alphanumeric(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9'
}
