// Package stage moves files: what a user uploads, the sandboxes of jobs between
// sites, and outputs back home.
//
// # Folders
//
// Each job has one folder, ROOT/<JobID>, mode 0700:
//
//	in/       its inputs, immutable from the moment they are complete
//	work/     the working tree of its program
//	ctl/      control files of the batch system; only created here
//	out/      what it left, collected, under the names the user gets
//	src/      inputs that were fetched by URI, called by their index among the job's sources, until
//	          work/ has them
//	part/     files on their way in; a whole one is renamed out of here
//	in.log    ledger of in/     out.log  ledger of out/     prepared  see [Stager.Prepare]
//	ctl/credentials  of the job's user for its URIs, mode 0600; see [Stager.KeepSecrets]
//	found     what the patterns of grid.Bring found, once it was looked for; see found.go
//	account   under which the program works, if not the daemon's own; see [Stager.Lend]
//
// ROOT/cache/ has inputs for other jobs of their users; see cache.go.
//
// ROOT/aside/<JobID>.TIME is a folder that no record knows, until its retention ends.
//
// A ledger is a text file with one JSON object a line: a file with its size, mode
// and the hash of each range, or {"sealed":true}, which says that all files above
// it are on the disk. The last line about a path wins; a torn last line is no line.
//
// Every access goes through [os.Root], so that no "..", absolute path or symbolic
// link leaves the job's folder, and files that a program left are opened without
// blocking and used only if they are regular: a program may plant links, pipes and
// devices in work/.
//
// # Other accounts
//
// A program may work under another account than the daemon's. work/ and ctl/ are then open to
// that account alone, and what it makes is its own. A daemon that is not root reads and removes
// that in the account's name, by [Config].As: outputs are copied into out/, and stay in work/ until
// they are sealed. A file that belongs neither to the account nor, under one name, to the daemon
// was linked there: it is not touched and not handed out.
//
// # Protocol
//
// Files travel on bulk streams of the protocol /gbroker/files/1. A client opens one
// or more, sends requests and reads the answers, which come in the order of the
// requests; up to 64 may be under way. All numbers are big endian.
//
//	request:  kind u8 | set u8 | len(job) u16 | len(path) u16 | offset u64 | length u32 | job | path
//	answer:   status u8 | length u32 | that many bytes
//
//	kind      1 read: length bytes (1 to 4 MiB) of the file at offset
//	          2 list: what a running job has written so far, as a JSON array of
//	            {"path","size","mode"}, at most 16 MiB; path is empty
//	set       1 inputs   2 outputs   3 work: outputs of a running job, by the names
//	            the user gets; the only set that can be listed. A read of set 3 may
//	            return fewer bytes than asked, where the file is shorter. The home of
//	            a job answers about set 3 also while the job is elsewhere: it asks there
//	          4 credentials: those of the job's user, at most 64 KiB, for the candidate whose
//	            right is that to the inputs; path is "credentials". No bytes are none
//	          5 lent: a content of the cache; path is a token, see borrow.go
//	blocks    a list of set 1 whose path is "blocks" asks for all later reads on this stream, but of set 3,
//	            to be answered in blocks; it is done with no bytes. An older server refuses it as invalid
//	status    0 done: the bytes asked for
//	          1 invalid   2 not found   3 not allowed   4 not yet   5 unavailable:
//	            the bytes are the reason, for people, at most 1024
//
//	block:    length u32 (1 to 128 KiB) | length on the way u32 | that many bytes, one frame of zstd if these are fewer
//
// The length of an answer in blocks is that of the plain bytes. A block is compressed where that pays, as measured on the blocks before;
// ranges and hashes are of plain bytes.
//
// The server asks [Config].Authorize about each request, serves only files of the
// manifest it is given, and closes a stream on which a request breaks these rules,
// on which a file ends before its announced length, or nothing moves for the idle
// time. The client checks each range against its BLAKE3 before it counts.
//
// # Resuming
//
// A part file is its own progress record: ranges whose bytes have the right hash are
// good, all others are fetched again. So nothing that arrived is lost by a broken
// connection or a restart, and nothing a crash tore is believed.
package stage
