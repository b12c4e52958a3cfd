package daemon

import (
	"fmt"
	"strings"

	"gbroker/internal/form"
)

// architectures are the words of JSDL 1.0's ProcessorArchitectureEnumeration.
var architectures = []string{"sparc", "powerpc", "x86", "x86_32", "x86_64", "parisc", "mips", "ia64", "arm", "other"}

// architecture is JSDL's word for Go's.
func architecture(goarch string) string {
	switch goarch {
	case "amd64":
		return "x86_64"
	case "386":
		return "x86_32"
	case "arm", "arm64":
		return "arm"
	case "ppc64", "ppc64le":
		return "powerpc"
	case "mips", "mipsle", "mips64", "mips64le":
		return "mips"
	}
	return "other"
}

// operatingSystem is JSDL's word (its OperatingSystemTypeEnumeration is that of CIM) for Go's.
func operatingSystem(goos string) string {
	switch goos {
	case "linux":
		return "LINUX"
	case "darwin":
		return "MACOS"
	case "freebsd":
		return "FreeBSD"
	case "netbsd":
		return "NetBSD"
	case "openbsd":
		return "OpenBSD"
	case "solaris", "illumos":
		return "Solaris"
	}
	return "other"
}

// systemWord accepts the shape of JSDL's words for operating systems: the list is
// long and open (other), so only slips of writing are refused.
func systemWord(s string) (string, error) {
	if strings.EqualFold(s, "linux") && s != "LINUX" {
		return "", fmt.Errorf("%q is LINUX in JSDL's words: write LINUX", s)
	}
	if s == "" || len(s) > 40 || strings.Trim(strings.ToLower(s), "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
		return "", fmt.Errorf("%q is none of JSDL's words: write LINUX, MACOS, FreeBSD, Solaris or other", form.Clip(s))
	}
	return s, nil
}
