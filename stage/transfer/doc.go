// Package transfer brings files from the places that URIs name, and to them.
//
// # Places
//
//	file:///PATH                   below a folder that the site lets its users read, or write
//	http://HOST/PATH, https://…    GET with ranges; PUT
//	sftp://[USER@]HOST[:PORT]/PATH the server's key must be known: by the credentials, or by the site
//	s3://BUCKET/KEY                endpoint and region by the credentials; else Amazon's
//
// Connections go only where the site's policy lets them; see package gbroker/internal/outbound. A
// password in a URI is refused: credentials come apart from it (see [Secrets]), and what is shown
// of a URI has no query either.
//
// # Getting
//
// A broken connection is taken up where it broke, if what is there has not changed meanwhile; else
// it begins anew. A server that says nothing, or next to nothing, for the idle time is a broken one.
// It is tried again, later and later, until nothing has come for the patience. What the place
// tells of a file's checksum (Repr-Digest, Content-Digest, Digest, Content-MD5, the checksums of
// S3, an ETag of S3 where that is the MD5) is checked; of its length too.
//
// # Putting
//
// A file appears whole, or not at all: under another name first, which is then changed (file,
// sftp), or by the protocol (PUT; S3, where the parts of a broken upload are given up).
//
// # Errors
//
// They name the place and wrap ErrNotFound, ErrForbidden or ErrInvalid of grid where trying
// again is of no use, else ErrUnavailable or the context's.
package transfer
