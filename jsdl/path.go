package jsdl

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"gbroker/grid"
)

// maxComponent is what file systems take as the name of one file, in bytes.
const maxComponent = 255

// cleanPath gives the clean form of a file's path inside a folder, or why it is refused.
func cleanPath(s string) (clean, why string) {
	switch {
	case s == "":
		return "", "name a file"
	case strings.HasPrefix(s, "/"):
		return "", "the path must be relative"
	}
	if why := unsafePath(s); why != "" {
		return "", why
	}
	clean = path.Clean(s)
	if clean == "." || strings.HasSuffix(s, "/") || strings.HasSuffix(s, "/.") {
		return "", "name a file, not a folder"
	}
	return clean, ""
}

// unsafePath tells what no path may have, absolute or not.
func unsafePath(s string) (why string) {
	if len(s) > grid.MaxPath {
		return fmt.Sprintf("the path has %d bytes, at most %d are allowed", len(s), grid.MaxPath)
	}
	if strings.ContainsFunc(s, func(c rune) bool { return c < 0x20 || c >= 0x7F && c < 0xA0 || c == 0x2028 || c == 0x2029 }) {
		return "control characters are not allowed in a path"
	}
	if strings.Contains(s, `\`) {
		return "backslashes are not allowed in a path, separate folders by /"
	}
	for part := range strings.SplitSeq(s, "/") {
		if part == ".." {
			return "the path must not have .."
		}
		if len(part) > maxComponent {
			return fmt.Sprintf("a name in the path has %d bytes, at most %d are allowed", len(part), maxComponent)
		}
	}
	return ""
}

// inside joins a folder of the sandbox, "" for its top, and a clean path.
func inside(folder, file string) (joined, why string) {
	joined = path.Join(folder, file)
	if len(joined) > grid.MaxPath {
		return "", fmt.Sprintf("with the working directory the path has %d bytes, at most %d are allowed", len(joined), grid.MaxPath)
	}
	return joined, ""
}

// relativeReference gives the path that a relative URI means, or why it is
// refused. The reason never shows the URI beyond its scheme, as people write
// passwords into them.
func relativeReference(uri string) (clean, why string) {
	switch {
	case uri == "":
		return "", "the URI is empty: give a path relative to the document"
	case strings.HasPrefix(uri, "//"):
		return "", "it has a host but no scheme: write https: before it"
	case strings.ContainsAny(uri, "?#"):
		return "", "the URI has a query or fragment: in a file's name write ? as %3F and # as %23"
	}
	decoded, ok := unescape(uri)
	if !ok {
		return "", fmt.Sprintf("%s is no URI: after %% come two hexadecimal digits of UTF-8 (write %%25 for %% itself)", quote(uri))
	}
	clean, why = cleanPath(decoded)
	if why != "" {
		return "", quote(uri) + ": " + why
	}
	return clean, ""
}

// schemes are those by which sites fetch files, and take them away.
var schemes = []string{"file", "http", "https", "s3", "sftp"}

// absoluteURI gives a URI that a site can go to, or why it is refused. The reason never shows more of
// it than its scheme.
func absoluteURI(scheme, uri string) (clean, why string) {
	lower := strings.ToLower(scheme)
	if !slices.Contains(schemes, lower) {
		return "", fmt.Sprintf("sites do not know the scheme %s: of URIs they know %s", cut(scheme, 20), strings.Join(schemes, ", "))
	}
	clean = lower + uri[len(scheme):]
	switch err := grid.CheckURI(clean); {
	case errors.Is(err, grid.ErrPassword):
		return "", err.Error() + ", and give it by 'gclient submit --credentials FILE'"
	case err != nil:
		return "", err.Error()
	}
	return clean, ""
}

// schemeOf is what stands before the first colon, if it is a scheme by RFC 3986.
func schemeOf(uri string) string {
	scheme, _, found := strings.Cut(uri, ":")
	if !found || scheme == "" {
		return ""
	}
	for i, c := range []byte(scheme) {
		letter := c|0x20 >= 'a' && c|0x20 <= 'z'
		if !letter && (i == 0 || !strings.ContainsRune("0123456789+-.", rune(c))) {
			return ""
		}
	}
	return scheme
}

// unescape decodes percent-escapes; the result must be UTF-8.
func unescape(s string) (decoded string, ok bool) {
	if !strings.Contains(s, "%") {
		return s, true
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			b.WriteByte(s[i])
			continue
		}
		if i+2 >= len(s) {
			return "", false
		}
		high, low := hexDigit(s[i+1]), hexDigit(s[i+2])
		if high < 0 || low < 0 {
			return "", false
		}
		b.WriteByte(byte(high<<4 | low))
		i += 2
	}
	return b.String(), utf8.ValidString(b.String())
}

// hexDigit is the value of a hexadecimal digit, -1 if c is none.
func hexDigit(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}

// crossing is a pair of paths of which one needs as a folder what the other is as a file.
type crossing struct{ file, below int }

// crossings finds files that stand where another path needs a folder. Sorted with
// the slash before all other characters, what lies below a path follows it at once.
func crossings(paths []string) []crossing {
	keys := make([]string, len(paths))
	order := make([]int, len(paths))
	for i := range paths {
		keys[i], order[i] = strings.ReplaceAll(paths[i], "/", "\x00"), i
	}
	slices.SortStableFunc(order, func(a, b int) int { return strings.Compare(keys[a], keys[b]) })
	var found []crossing
	for k := 1; k < len(order); k++ {
		a, b := order[k-1], order[k]
		if strings.HasPrefix(paths[b], paths[a]+"/") {
			found = append(found, crossing{file: a, below: b})
		}
	}
	return found
}

// referenceTo is the relative URI that means a path.
func referenceTo(path string) string {
	var b strings.Builder
	for i := range len(path) {
		switch c := path[i]; {
		case c <= ' ' || c >= 0x7F || strings.IndexByte(`%?#:"<>^{|}`+"`", c) >= 0:
			fmt.Fprintf(&b, "%%%02X", c)
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
