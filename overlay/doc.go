// Package overlay keeps a broker in touch with the other brokers: who the members
// are, whether they live, how to reach them, and who holds a job.
//
// # Members
//
// A member is a peer ID of the member file. Only members are let in: the gate
// refuses every other connection after its TLS handshake, before a stream of any
// protocol can be opened, and never dials one. Membership is mutual; where only
// one side names the other there is no connection, and the other is never alive.
//
// # Connections
//
// libp2p over TCP with TLS 1.3 and yamux; one port, one identity. A keeper for
// each member dials until there is a connection, whichever side opened it; a
// member without addresses is waited for. Addresses come from the member file
// first, then from what the member said of itself when it was last connected (kept
// in StateDir), then from its signed record, which others keep.
//
//	protocol            opened by     what it carries
//	/gbroker/msg/1      the sender    Hello, then messages as wire frames, one way
//	/gbroker/gossip/1   the sender    memberlist packets, one way: length (2 bytes, big endian), bytes
//	/gbroker/sync/1     memberlist    one push/pull or one ping of memberlist, both ways
//	/gbroker/records/1  who asks      one request and its answer about the records below
//	others              Open          bulk streams of stage and netmon, held to the rate limit
//
// The stream for messages is opened when a connection stands and again after an
// error. Everything on it may be lost when a connection breaks: whoever needs an
// answer asks again. A message waits for at most a few seconds.
//
// # Who is alive
//
//	                     memberlist: alive      memberlist: dead, or never heard of
//	connected            Alive                  Doubtful for a grace, then Dead
//	not connected        Doubtful               Dead
//
// The grace is there because the members form a graph and no full mesh: word of a
// death may come from a member that has only lost its own way there. While the
// connection stands the accused is asked at once (a push/pull), and refutes it. A
// connection over which it was not refuted is closed and opened anew.
//
// Every broker runs one memberlist over its own members, and those overlap. Word
// about a peer that is no member here is dropped when it comes in (an indirect
// probe through such a broker ends with a nack, as memberlist wants), so gossip
// about a peer travels exactly through the brokers that know it. Node names are
// peer IDs and all share one made-up address, so that a restart with another port
// is no conflict.
//
// # Records
//
// Members keep two kinds of signed hints for each other; see [SiteRecord] and
// [OwnerRecord]. They are never a reason to start, drop, kill or refuse a job.
//
// A key is /gbroker-site/NAME, /gbroker-site/PEER or /gbroker-job/JOB. It is near to
// a member as the XOR of the SHA-256 of the key and that of the peer ID (its bytes)
// is small. A record is kept by its writer and put to the 20 members nearest to its
// key among those connected and not told dead. A get looks at the shelf here and
// asks as many; one that has nothing asks its own members once more, without the
// asker, and passes nothing further: what lies two members away is found, what lies
// beyond is not. Of several valid records the newest counts: the highest epoch, then
// the highest sequence. A put of an older one is refused, and the writer told.
//
// Each stream of /gbroker/records/1 carries one request and one answer, of one form:
//
//	1 byte    what: 1 get, 2 put; answers 3 found, 4 nowhere, 5 kept, 6 older, 7 refused
//	1 byte    hops: 1 in a get that may be passed on, else 0
//	2 bytes   time limit of a request in milliseconds, big endian; passing on takes three quarters of it at most
//	2 bytes   length of the key, big endian; at most 256
//	2 bytes   length of the record, big endian; at most 4096
//	n bytes   the key, in requests
//	n bytes   the record in its libp2p envelope, in a put and in found
//
// Anything else, and a request too many (32 of one member at once; a member sends 8),
// ends with a reset. Every stream has a time limit. A broker keeps 16384 records in
// memory, 4096 of one writer, for 48 hours since they were last written; where there
// is no room, what was written longest ago goes.
package overlay
