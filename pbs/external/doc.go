// Package external is one pbs.System over the commands of any batch system; a Client for
// each kind translates.
//
// # What is known
//
// One cached listing serves all questions. It is polled every Refresh, at once after our own
// changes, and by at most one poll at a time; failures are repeated ever more slowly. A
// listing that is too old is told no more: nothing is known then. What control files say
// outranks it, and a job that it lacks is unknown, not gone.
//
// # Whose a job is
//
// A local job is ours if its name begins with the tag of an attempt, its mark is
// OWNER/JOB@E#A with our owner, and it runs under the account of that attempt. An identifier
// is acted on only after a fresh look in the same call has shown all three.
//
// # Submission
//
//	spool file, fsync ──► control file submit, fsync ──► command ──► local identifier into the spool
//
// Where the answer is lost, the same attempt again looks for its mark in a fresh listing
// before it is handed over once more; and the listing is looked through for it anyway. If
// both take effect, the start token lets one of them start: that is the attempt's, and what
// waits of the other is removed. A command that takes effect when the control directory was thrown away finds no
// control file submit, and starts nothing.
//
// # The end
//
// is written by the wrapper. Where the listing tells the end of a job and no such file comes,
// it is written here, by the same rule (the first writer wins): by the token the attempt
// had started, or never ran. What had started and left no word has disappeared, whatever exit
// code is listed: a node that was restarted may tell 0. Where nodes do not see the control
// directory the code counts, if the system is sure of it. A started job that good listings lack for a minute, and whose
// identifier the system does not know, has disappeared.
//
// # The spool
//
//	TAG.job    an attempt, until its control directory is gone
//	ID.resv    a reservation, until it is over; on disk before it is made, confirmed after
//
// JSON, read strictly; a file that cannot be read becomes NAME.corrupt and is logged: its job
// is found by its mark in a listing, when it is asked about.
//
// Reservations of ours begin with a word made from the owner. Those that the spool does not
// know as confirmed are released at the start.
//
// # Accounts
//
// Config.Accounts says under which local account a job runs, once for each attempt; Config.Lend opens
// its folders to that account before it is submitted. A reservation is for one job, and so for one
// account (Reservation.User). Where a system lets only some account reserve, the Client makes it
// under that account, its operator, and puts the job's among those who may use it.
package external
