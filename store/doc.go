// Package store is the journal of a broker: what it durably knows of its jobs, in
// one SQLite database on a local disk.
//
// # Files
//
// The data folder (mode 0700) holds
//
//	lock             locked by the daemon that uses the folder; holds its process id
//	journal.db       the database (mode 0600), with journal.db-wal and -shm beside it
//	journal.db.vN    a copy made before the schema left version N
//	journal.at       how far the journal has come, and journal.told, what users were told:
//	                 these stay when the journal is put back from a backup (witness.go)
//	reserve          up to 32 MiB of nothing, given back piece by piece where the disk is full
//
// An administrator may read journal.db with sqlite3 at any time, and copy it with
// its .backup command.
//
// # Schema, version 6
//
// The journal keeps entities: a job, the site, and what else package grid has a [grid.Kind] for.
// Each has one record, and may have a document beside it and lines that are appended.
//
//	journal    one line: the incarnation (random, made with the journal) and the
//	           sequence, raised in the transaction of every Commit
//	entity     one line for each: kind, key, user and state (to find it by), and record as JSON.
//	           Of a job that is grid.Record without its Job, of the site grid.SiteState,
//	           of a group grid.Group; what lies beside a group (its template, and what became of
//	           its jobs, by pages) are entities of their own
//	document   what does not change of an entity, as JSON: kind, key, text. Of a job it is
//	           grid.Job, written once: a job may bring ten thousand files
//	event      the history, append only: kind, key, seq, at, state, site, term, hop, why
//	decision   what was decided of a job's place, append only: kind, key, seq, stays, and
//	           grid.Decision as JSON. The first of a job is kept, and the latest 63; one that left
//	           the job where it waits (stays) goes when another follows
//	peer       the highest sequence seen of each life of each peer's journals
//	life       the starts of this journal: a number ([grid.NextLife]), and the sequence it began at
//	jobs, history    views of the jobs and of event with readable times
//
// Each line has a checksum besides, sum: the CRC-32C of its table's name and of all its other
// columns (sum.go says how), so that a bit which has turned is noticed when the line is
// read. The line is named then, with the statement that gives it up alone; a record is never
// believed in part, and nothing is repaired silently. Indexes are compared with their tables
// when the journal is opened. Version 1 had no checksums, version 2 no lives, version 3 no
// index of the jobs of a user, version 4 no kinds of refusals, version 5 a table for each kind and
// the decisions within the records, all of which were written again with each save.
//
// To keep another kind: a number in grid, a line in kinds.go, and a reader.
//
// Times are milliseconds since the Unix epoch, 0 for "not yet". JSON has the field
// names of package grid; the hashes of a file's ranges are one base64 string. Texts
// that a program or file system gives meaning to (paths, arguments, variables) may
// hold bytes that are not UTF-8: those are written as U+F780 to U+F7FF.
//
// user_version is the version of the schema. It only goes forward, by migrations;
// a database of a later version is refused. A field added to grid.Record,
// grid.Job or grid.Decision needs a new version, since an older program would drop it.
//
// # Durability
//
// WAL and synchronous=FULL: when Commit returns, its changes are on disk, all or
// none. After a failed Commit the journal is of no more use ([ErrBroken]): what the
// broker holds in memory is ahead of the disk, so it has to be rebuilt from a
// journal opened anew.
package store
