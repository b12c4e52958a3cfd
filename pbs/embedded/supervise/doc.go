// Package supervise is the small process that stands over each program of the
// embedded batch system: the hidden command
//
//	gbroker supervise SPECFILE
//
// It is a process of its own, in a session of its own, so that a program goes on,
// keeps its limits and has its end recorded when the daemon is restarted or killed.
//
// # What it does
//
//  1. A part of a co-allocated job waits at the barrier, as package wrapper says it. It looks for a word
//     twenty times a second. What it says there names this process, so that the daemon finds it again.
//     Where it is told to end there it ends with 143, as the wrapper does.
//     It takes the attempt's start token. Where that is taken already it ends
//     with 75 and nothing runs.
//  2. It opens the program's files and working directory through an os.Root on the
//     sandbox: nothing outside is touched, whatever symbolic links lie inside.
//  3. It starts the program by execve, never by a shell, in a session and process
//     group of its own, with exactly the environment of the SPECFILE. If that
//     fails the attempt ends with cause grid.NeverRan and the reason in words; if
//     it fails for a full disk it is tried again until there is room.
//  4. It waits for the end. At the walltime limit, or when SIGTERM comes, the
//     program's group gets SIGTERM, and SIGKILL after the grace time.
//  5. When the program has ended, whatever it left is killed: its group, and
//     processes that left the group, which the kernel hands to the supervisor as
//     it is their subreaper.
//  6. It writes the usage and the end (package control) and goes. The processor time is that
//     of all processes that were reaped, by it or by others of them. The memory is that of the
//     largest single process, and never less than the few MiB of the supervisor itself: the
//     kernel counts from before execve.
//
// SIGTERM with the control file kill is the broker's wish (grid.ByRequest); without
// it, it came from elsewhere, as when the machine shuts down (grid.Disappeared,
// with words). If the supervisor itself is killed, the kernel kills the program
// (PR_SET_PDEATHSIG), and the daemon the rest of its processes, found by their group and
// by the variable GBROKER_ATTEMPT.
//
// # Memory limit
//
// A memory limit becomes RLIMIT_DATA of the program and all its children, each for
// itself: heap, stacks of threads and private writable mappings. That is what a
// program allocates; RLIMIT_AS would also count libraries and reserved address
// space, and RLIMIT_RSS is ignored by Linux. The limit is set while the program
// is stopped before its first instruction, for which it is traced for a moment; a
// set-user-ID program therefore loses that privilege.
//
// The site's limit of a file is RLIMIT_FSIZE in the same way: of every file that the
// program writes, standard output and error among them. What writes more gets SIGXFSZ;
// where the program ends by it, the end says why.
//
// # Control group
//
// Where the daemon has made a control group (version 2) for the job, the program begins in
// it and cannot leave it. What is left in it at the end is killed by it, and it is removed.
//
// # Why init
//
// The daemon's binary is large, and initialising its packages takes longer than
// everything above. Packages are initialised in the order of their import paths
// as soon as what they import is; this one imports a little of the standard library and
// sorts before the large ones, so its init comes early, sees the command, runs
// it and ends the process before they have begun. Keep its imports few: no
// logging, no network. Main is the same without that.
package supervise
