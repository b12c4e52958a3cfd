// Package openpbs speaks to OpenPBS (23.06, and others of its family that print JSON) by its
// own commands: it is the external.Client, and the external.Reserver, of this system.
//
// # Commands
//
//	qstat -f -F json                    jobs that wait or run; with -t once there are arrays
//	qstat -x -E -f -F json ID…          jobs by identifier, ended ones too
//	qstat -Q -f -F json, -B -f -F json  queues, server
//	pbsnodes -a -F json                 nodes
//	pbs_rstat -F                        reservations
//	qsub, qhold, qrls, qdel             one job
//	pbs_rsub, pbs_ralter, pbs_rdel      one reservation
//
// # What deceives
//
// Exit codes come first. With the server down qstat prints the same JSON as for no jobs at
// all and ends with 255. Of several identifiers qstat shows the first only, unless -E is
// there; one that is missing in the answer is unknown, not gone.
//
// F does not mean that a job ran: success is F with an Exit_status of 0. One that was deleted
// while it waited is F with substate 91 and without Exit_status, one whose dependency died F
// with 92. Evidence that a job never started is that it has neither run_count nor stime.
// Exit_status is an exit code up to 255, 256+n for signal n (271 after qdel), -29 for the
// walltime, -28 to -24 for other limits, -20 and -4 where the daemon of its first node was lost
// or started again; of other negative ones it could not be started, or was broken off.
//
// pbs_rsub, pbs_ralter and pbs_rstat end with 0 whatever they say: their words count. A
// reservation is asked for with a negative -I, by which one that is not decided in time is
// deleted by the server. What is there afterwards is read back.
//
// Each command takes a reserved port and the system has about 460 of them for a minute, after
// which commands hang: a bucket lets a few go at once and seven per second over time.
//
// # Output
//
// The JSON guesses types by value: a name 12345 may be a number, a comment an object. Every
// value is read by its text. timestamp is "" in each second whose number is a multiple of 256: it is taken
// for a text of white space. The bytes need not be UTF-8, and the keys of Variable_List may
// occur twice: it is searched for GBROKER_ATTEMPT only, and two different ones are none.
// What follows "Resv ID:" of pbs_rstat are lines of "key = value" up to an empty line.
//
// Attributes of jobs, queues, servers, nodes and reservations, and names of resources, are
// open by nature (each version adds some, each site defines some): those that we have no use
// for are passed over. Everything else is closed: an unknown state, a date, size or duration
// of another form makes that queue, node, job or reservation unusable (closed, down, of no known
// state, left out), which the listing tells; who asks for it by its identifier learns nothing. Where
// such a job runs is kept as far as that can be read. Where it may be ours, and its mark, name or owner is
// what cannot be read, the whole output is unreadable.
// Another key beside the lists makes the whole output unreadable.
//
// Of queues that are made step by step enabled, started and queue_type are absent until they
// are set: False, False, and no queue. A routing queue, which may be the default one, is taken
// as its destinations together; a job that none of them takes vanishes without a trace.
//
// Dates have no zone: commands run with TZ=UTC. Sizes are 512mb or 16gb, in units of 1024;
// durations HH:MM:SS or seconds. exec_vnode is (n01:ncpus=2:mem=524288kb+n02:ncpus=1)+(…),
// one pair of brackets for each chunk. A job without a walltime is taken as five years long.
//
// # Words
//
// Boolean resources of a node that are True are its properties by their names, and those
// that are text are properties NAME:VALUE, such as host:n01. Numbers and sizes are resources.
// A demand is translated back the same way; Config.Resources renames resources.
package openpbs
