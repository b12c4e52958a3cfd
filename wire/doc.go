// Package wire is what travels between brokers: the messages, their encoding, its
// versions and its limits. It is pure: it turns values into bytes and back.
//
// # Frame
//
// A stream carries frames, one message each:
//
//	4 bytes   length of what follows, big-endian
//	n bytes   msgpack array: [ version, kind, needs, body, ... ]
//
//	version   integer; 1
//	kind      integer 1 to 255, see [Kind]; append only
//	needs     array of strings: features that the receiver must have
//	body      map from short string keys to values, one layout for each kind
//	...       later versions may append elements; they are skipped
//
// Keys that a receiver does not know are skipped, at every depth; a field left out
// is zero. What must not be skipped is named in needs: a receiver that lacks one
// answers by its name ([UnsupportedFeature]) and does nothing else with the
// message. [Encode] names by itself what a message uses, as the features of needs.go say. A number that is no kind is answered likewise ([UnknownKind]).
// [Complaint] makes the [Error] message for each of these; the stream goes on.
//
// Times are spans in milliseconds since sending, negative where a field says so;
// the one instant is Hello's clock. Integers are written in the shortest msgpack
// form; hashes are msgpack bin, the hashes of a file's ranges one bin of 32 bytes
// each. msgpack ext types are not used and are refused.
//
// # Nothing unchecked comes in
//
// [Decode] is the only way in. It walks the frame before any decoder sees it and
// compares each declared length with the bytes that are there, and depth and
// number of elements with the limits of the kind: the msgpack decoder allocates
// what a length declares, so that eight bytes could otherwise ask for gigabytes.
// Then each value is checked: names, identifiers and states are such, numbers are
// finite and within limits whose sums and products cannot overflow, paths are
// clean and stay within the sandbox, texts for people carry no control characters.
// [Encode] applies the same checks, so that what it gives is never refused, and
// shortens texts for people instead of failing on them.
//
// # Digest of a job
//
// [JobDigest] is BLAKE3-256 over "gbroker job 1\n" and the body encoding of the
// job. Fields are written in one order and left out when zero: a field added
// later changes no digest of a job that does not use it.
//
// # Certificates
//
// [CertificateText] is what the signature of a certificate covers; see docs/protocol.md for what a
// chain of certificates proves.
package wire
