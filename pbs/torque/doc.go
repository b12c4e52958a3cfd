// Package torque speaks with TORQUE 6.1 by its commands, and with the Maui scheduler where
// it runs there: Client is TORQUE alone, Maui is TORQUE with Maui and its reservations.
// Measured on TORQUE 6.1.3 with Maui 3.5 and 3.3.1.
//
// # Commands
//
//	qstat -x -t           all jobs, arrays by their parts; qstat -x ID ... looks at some
//	pbsnodes -x           nodes
//	qstat -B -f -1        the server: default queue, keep_completed, limits
//	qstat -Q -f -1        queues
//	qsub qhold qrls qdel  submit, hold, release, remove
//	showq, showq -b       Maui: the order of the queue, and what it will not consider, and why
//	showres, showres -n   Maui: reservations, and their nodes
//	showconfig            Maui: its policy
//	mdiag -r              Maui: for whom the reservations are
//	setres releaseres     Maui: reserve, release
//
// Maui is asked as Config.Administrator, who must be one of ADMIN1 or ADMIN2 of maui.cfg:
// everybody else is shown only what he may use, without a word, and may not reserve.
//
// # XML
//
// TORQUE writes elements and text: no attributes, no comments, five named entities. One
// command may print several documents after each other. Below a Job the attributes are an
// open set (a site may compile in more), and so are the names in Resource_List and
// resources_used and the words in a node's status: unknown ones are passed over. All else
// is closed, and what is not known is an error: it is better to know nothing than to
// misread a state. Of a node that is one node: it counts as down, and is told, unless most nodes are so. Of a job
// it is that job, ours or not: it is of no known state, where it runs is kept as far as that can be read, it is told, and a look at it
// is an error. Only where it may be ours, and its mark, name or owner is what cannot be read, is the whole output unreadable.
//
// # Exit codes
//
// TORQUE ends with its error number modulo 256. Of commands that ask, everything but 0 is
// "nothing is known", except 153 (unknown job) of qstat -x ID, whose answer is read. Of those
// that act, those that say that the request is wrong are grid.ErrInvalid, the rest, and
// whatever is not known here, grid.ErrUnavailable. Maui's commands end with 1 for
// everything, releaseres with 0: their words decide.
//
// # Limits
//
// MAXJOB and MAXPROC of maui.cfg are told where a job meets them, by showq -b, and nowhere else: those of users and classes
// are learned there, and believed for an hour after they were met last.
//
// # How a job ends
//
//	exit_status          what it was
//	none, state C        deleted before it started
//	0                    its own, or its node was started again under it (pbs_mom without -q or -r): sure
//	                     only with what it used, or where it ran for less than a minute
//	1-255                its own (128+n too, where its shell reports a signal n)
//	256+n                ended by signal n; 271 is SIGTERM, with which qdel ends jobs: cancelled,
//	                     or over its walltime where it has used it up (Maui ends such jobs by qdel)
//	-11, -10, -12        over its walltime, memory, processor time
//	-4, -6               its node was started again under it
//	other negative       the node could not start it
//
// A job has never started if it has no start_count, no start_time and no exec_host.
//
// # Reservations
//
// A reservation is made for the jobs of an account (setres -a) whose name is made up for it, and what is bound to it is
// submitted under that (qsub -A): a reservation for a user is open to all of his jobs, as Maui does not heed -x BYNAME.
// Who reads that name of a job in qstat could enter too.
// One named "gbroker.ID.N" is ours; N is Maui's own, counted from 0 for each
// name. Nodes are named by an anchored expression, which Maui takes even where they are
// reserved by others or in use: MakeReservation looks before and after, and takes back what overlaps. Maui
// cannot change a reservation. A job that is bound to one that is gone never starts: it is told as held.
//
// Maui prints no years, no zone, and relative times by a clock that stands still between two of
// its polls. The date of a row is exact; its relative time, with our clock, tells year and zone.
//
// # Output of jobs
//
// What a script itself says goes to Order.Log, which TORQUE copies there from the node when the job ends: nodes that
// see the folder need a line "$usecp *:/ /" in mom_priv/config. Where the copy fails the job has ended all the same.
package torque
