// Package control is the control directory of a job: the few files that say,
// whatever a batch system's listing says, whether an attempt may start, has
// started and how it ended. It is used by the broker's side, by the embedded
// supervisor and by the wrapper scripts of other batch systems, and imports next to
// nothing: the supervisor must start fast.
//
// # Names
//
// The directory belongs to one job. E stands for the epoch (TERM.HOP), A for the
// attempt, both decimal:
//
//	start.E.A   the start token: who holds it decides whether the attempt runs
//	run.E.A     the program was started
//	usage.E.A   what the attempt has used; written before end, and not always there
//	end.E.A     the attempt has ended
//	kill.E.A    the broker asked for its end
//	submit.E.A  the attempt was submitted out of this very directory: without it a wrapper
//	            starts nothing, so that a command which takes effect late, when the
//	            directory was discarded and made again, finds nothing to start
//	hosts.E.A   the host file of the program: one line for each process, a node's name
//	grant.E.A   which computer of a pool has the start token
//	arrived.E.A a part of a co-allocated job waits at the barrier, in its reservation, before its
//	            start token is taken
//	go.E.A      all parts have arrived: the part may take its token
//	begun.E.A   all parts have begun: the part need not end itself any more
//	sites.E.A   the host file of the whole co-allocated job: one line for each process, the node
//	            and the site
//	.tmp.*      being written; of no meaning
//
// # Form
//
// All but hosts and sites are text of at most 2 MiB: the line "gbroker-ctl 1" (1 is the
// version), then lines "key value" with exactly these keys in this order, then a
// line with a single dot, so that a torn file is noticed. Instants are
// milliseconds since 1970. Control characters of a value become spaces.
//
//	start   attempt   JOB@E#A, must be the one the name says
//	        holder    supervisor: the attempt has started; broker: it never starts
//	        at        when the token was taken
//	        pid start boot   the process that took it (see Process)
//	run     attempt at pid start boot      when, and the leader of the program's group
//	usage   attempt cpu memory             milliseconds of processor time, bytes at the most; 0: not known
//	end     attempt at code signal cause detail    cause: itself walltime request never-ran disappeared alone cut-off
//	kill    attempt at
//	submit  attempt at
//	grant   attempt at computer stint count work limit rerunnable    see Grant; written anew for each computer
//	arrived attempt at pid start boot address hosts [rendezvous]    HOST:PORT, or nothing; NODE:PROCESSES with
//	                                       blanks between; another HOST:PORT
//	go      attempt at, then for each site in the order of ranks: site address hosts [rendezvous]
//	begun   attempt at
//
// # Order and atomicity
//
// A file is written under a temporary name and then appears whole, by link(2)
// (start, usage, end, go, begun: the first writer wins, for ever) or rename(2) (run, kill, submit,
// arrived). None is ever changed, but that arrived is written again where the batch system starts
// again what waits at the barrier. The token is on disk (fsync of file and directory) before Take
// returns, so that after a power cut no attempt starts again that had started, or
// was withdrawn. The content of usage and end is on disk before it appears; if the name of end is
// lost in a power cut, the attempt counts as disappeared.
//
//	         Take by broker                  Take by supervisor
//	(none) ───────────────► withdrawn   (none) ───► started ──► run ──► end
//	                                                   └─────────────────▲ could not be run, or vanished
//
// A part of a co-allocated job has a barrier before its token. Who waits there polls for go, and
// for the token; whoever wants it back takes the token, as from any attempt. Started, it ends itself
// with cause alone unless begun is there in time.
//
//	         in its reservation        go: Take by supervisor             begun
//	(none) ────────────────────► arrived ──────────────────► started ───────────────► as any other
//	                                │ Take by broker              └─ not told in time: end (alone)
//	                                ▼
//	                            withdrawn
//
// A directory that is not there or cannot be read is an error: nothing is known
// of the attempt then, least of all that it did not start. Where it is gone, or a file is not
// as it was written, that is grid.ErrDamaged: it will not mend by itself.
//
// Where the token is lost or damaged, run, usage, end, hosts, kill and grant show that the attempt
// had started: they are written after the token is taken. It is never started again then, nor
// withdrawn.
//
// A job's program can write here as it can in its sandbox (GBROKER_HOSTFILE tells where), and
// nothing else rests on these files than that very job. Where it runs under an account of its own
// the directory is open to that account alone, and sticky: it removes nothing of the broker's, and
// another account of its group has no part in it (see gbroker/stage, Lend).
package control
