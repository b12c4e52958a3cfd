package transfer

import (
	"bytes"
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/base64"
	"hash"
	"hash/crc32"
	"io"
	"strings"
)

// Facts are what a place tells of a file.
type Facts struct {
	Size int64 // -1 is not told
	// Version changes when the file does; "" is not told.
	Version string
	sums    []checksum
}

// checksum is one that the place tells.
type checksum struct {
	name string
	want []byte
}

// algorithms by the names in header fields, in lower case.
var algorithms = map[string]func() hash.Hash{
	"md5": md5.New, "sha": sha1.New, "sha-256": sha256.New, "sha-512": sha512.New,
	"crc32": func() hash.Hash { return crc32.NewIEEE() }, "crc32c": func() hash.Hash { return crc32.New(crc32.MakeTable(crc32.Castagnoli)) },
}

// add takes a checksum in base64, if it is one that can be computed.
func (f *Facts) add(name, base string) {
	name = strings.ToLower(name)
	want, err := base64.StdEncoding.DecodeString(base)
	if h := algorithms[name]; h != nil && err == nil && len(want) == h().Size() {
		f.sums = append(f.sums, checksum{name, want})
	}
}

// digests takes a field of RFC 9530 (sha-256=:BASE64:, …) or of RFC 3230 (SHA-256=BASE64,…).
func (f *Facts) digests(field string) {
	for one := range strings.SplitSeq(field, ",") {
		name, value, ok := strings.Cut(strings.TrimSpace(one), "=")
		if !ok {
			continue
		}
		value, _, _ = strings.Cut(value, ";")
		f.add(name, strings.Trim(value, ":"))
	}
}

// Checksum is the best by which the place tells a file from others, as NAME:BASE64; "" is none. At one place
// any will do, which who keeps it could change together with the file; of several places only those of SHA-2.
func (f Facts) Checksum() (sum string, anywhere bool) {
	for _, name := range []string{"sha-512", "sha-256", "sha", "md5"} {
		for _, c := range f.sums {
			if c.name == name {
				return name + ":" + base64.StdEncoding.EncodeToString(c.want), strings.HasPrefix(name, "sha-")
			}
		}
	}
	return "", false
}

// Fits tells whether a file has the checksums that the place tells.
func (f Facts) Fits(r io.Reader) (bool, error) {
	s := newSumming(f)
	n, err := io.Copy(s, r)
	return (f.Size < 0 || n == f.Size) && !s.differ(), err
}

// summing computes what a file is to be compared by.
type summing struct {
	sums []checksum
	h    []hash.Hash
}

func newSumming(f Facts) *summing {
	s := &summing{sums: f.sums}
	for _, c := range f.sums {
		s.h = append(s.h, algorithms[c.name]())
	}
	return s
}

func (s *summing) Write(p []byte) (int, error) {
	for _, h := range s.h {
		h.Write(p)
	}
	return len(p), nil
}

// differ tells that a checksum is another.
func (s *summing) differ() bool {
	_, is := s.other()
	return is
}

// other names the first checksum that is another, if one is.
func (s *summing) other() (name string, is bool) {
	for i, c := range s.sums {
		if !bytes.Equal(s.h[i].Sum(nil), c.want) {
			return strings.ToUpper(c.name), true
		}
	}
	return "", false
}
