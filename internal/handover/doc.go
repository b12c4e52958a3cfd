// Package handover is the small program that acts in the folders of a job in the name of
// another account, where the daemon is not root: what a program made under that account may
// be closed to the daemon, by modes and by folders, and only the account itself can open,
// read and remove it. It runs as
//
//	sudo -n -u ACCOUNT -- gbroker sandbox hello|send FOLDER|part FOLDER OFFSET LENGTH|list FOLDER|put FOLDER FLAG SIZE|clear FOLDER...
//
// and reads no configuration. Whatever it does the kernel allows that account, or does not:
// no link and no name that is swapped meanwhile gets at more than the account has anyway.
//
//	hello   greets, and ends
//	send    reads names from standard input, each ended by a zero byte, and sends these files
//	        of FOLDER in that order; nothing is changed but the modes of what is closed even
//	        to its owner
//	part    as send, but OFFSET and LENGTH tell which part of the files is sent: bytes, at most 4 MiB
//	list    lists the regular files of FOLDER, and links to such in it, with their sizes and when they were
//	        last written; at most 200,000 entries are looked at
//	put     reads a name that is ended by a zero byte, and SIZE bytes, of which it makes a file appear in
//	        FOLDER, whole or not at all. FLAG says what becomes of one that is there: overwrite, append,
//	        dontOverwrite
//	clear   removes what is in FOLDER, as far as the account may; what is left is the daemon's
//
// # Form
//
// Standard output begins with the line "gbroker-sandbox 1" (1 is the version). For each name of
// send follows one answer, all numbers big endian:
//
//	'F' | mode u32 | size u64 | { length u32 | bytes }... | 0 u32 | 'D'                     a file, whole
//	'F' | mode u32 | size u64 | { length u32 | bytes }... | 0 u32 | 'E' | length u16 | text  torn: why
//
// (size is what the file had when it was opened; the bytes are what counts)
//
//	'N'                                          nothing that could be sent: not there, no regular
//	                                             file, or behind a link that leads out of FOLDER
//	'E' | length u16 | text                      it is there, and cannot be read: why
//
// list answers once for each file, and at its end:
//
//	'L' | written, ns since 1970 i64 | size u64 | length u16 | path
//	'D'  or  'E' | length u16 | text             all were listed; not all: why
//
// put answers with 'D', or 'B': a file is there already, 'N': its folder is not, 'P': the account may not, or
// 'E' | length u16 | text.
//
// A file that has an access control list besides its mode (the daemon gave the folder one) is
// sent with the rights of its owner alone: the others of its mode are those of the list.
package handover

const (
	greeting = "gbroker-sandbox 1\n"

	kindFile   = 'F'
	kindNone   = 'N'
	kindFailed = 'E'
	kindDone   = 'D'
	kindListed = 'L'
	kindThere  = 'B'
	kindClosed = 'P'

	// maxNames bounds the bytes of all names of one send.
	maxNames = 64 << 20
	// MaxPart is the longest part of a file.
	MaxPart = 4 << 20
	chunk   = 256 << 10
	maxText = 1 << 10
)
