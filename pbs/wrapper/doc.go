// Package wrapper makes the POSIX shell script that is handed to a batch system in place of
// a job's program. Nothing of gbroker need be installed on the nodes: the script uses sh,
// the usual small commands (awk, cat, date, dd, env, grep, ln, ls, mkdir, mv, od, printf, rm,
// sed, sleep, sync, tr, uname) and /proc.
//
// # What it does
//
//  1. It traps TERM, and looks for the control file submit of its attempt. Where that is
//     not there it ends with 75: it was submitted out of a directory that is no more.
//     A part of a co-allocated job says there which nodes it has, and a port of this one that is free
//     (nobody holds it: the program may), of a program of MPI that can be one over all sites a second one, for mpirun, and waits until all parts have arrived. It looks ten times a
//     second, by reading the folder, so that a network file system looks again too. It ends with 75
//     where its token is taken meanwhile, with 143 where it is told to end, and with 69 by itself a
//     minute after its start and its grace. Nothing has run then.
//  2. It takes the start token by link(2). Where that is taken it ends with 75; where the
//     control directory cannot be written, with 74; where it is told to end before it has it, with 143. Then it
//     looks for submit once more. Nothing has run where it ends here.
//  3. It opens the program's files in the sandbox, writes the host file, and starts the
//     program with exactly the environment of the Spec and, from the batch system, HOME,
//     USER, LOGNAME, TMPDIR and what names its GPUs (CUDA_VISIBLE_DEVICES, ROCR_VISIBLE_DEVICES)
//     where the Spec leaves them out, GBROKER_GPUS too, which is the first of these two that is there; parallel programs and batch scripts also get its
//     own variables, SLURM_ and PBS_, by which starters find the nodes. Before a batch script
//     stands what package dialect says.
//     A part gets GBROKER_SITES, the names of the sites in the order of their ranks with blanks
//     between, GBROKER_SITE_RANK, its own, from 0, GBROKER_SITES_HOSTFILE, with a line for each
//     process of the whole, its node and its site, and GBROKER_RENDEZVOUS, HOST:PORT at the site of rank 0;
//     parallel programs too, whose mpirun leaves that port alone.
//  4. It writes the control file run, and waits. A part ends its program, with cause alone, unless
//     the control file begun is there in time. Where the job asks to be warned, it sends the
//     signal so long before the limit, to processes on this machine. TERM is passed on to all processes of the
//     program on this machine, found by the variable GBROKER_ATTEMPT, and after the grace
//     time KILL.
//  5. Whatever the program left on this machine is killed, likewise.
//  6. It writes the control files usage and end, and ends with the program's exit code (126 if it could
//     not be started).
//
// The cause of an end by TERM is grid.ByRequest where the control file kill is there,
// grid.ByWalltime where the limit is reached, else grid.Disappeared: it came from elsewhere.
// A batch system may tell the program before the wrapper, or kill it alone: an end by TERM or
// KILL is told the same way where the file is there or the limit is reached.
//
// # Limits
//
// The program stays in the session of the wrapper, by which batch systems find what they
// account and kill. What a shell cannot do is this:
//
//   - The exit codes 129 to 192 are told as signals 1 to 64: a shell sees no difference.
//   - The sandbox is kept by looking before opening: a working directory or a file that leads
//     out of it is refused, as is any stream's file that is a symbolic link. A process of the
//     same user that swaps a folder for a link between look and use is not stopped; it could
//     write there itself.
//   - The processor time is what the times builtin knows: of processes on this machine that were
//     waited for, the wrapper's own small commands among them. How much memory was used it
//     does not know.
//   - A program without its dynamic loader, or for another machine, ends with 126 or 127.
//   - Processes that cleared their environment, and those on other nodes, are left to the
//     batch system and to mpirun.
//   - Limits of processes besides that of memory are set by prlimit(1), to the byte; one that the site
//     holds lower already stays as it is.
//   - A memory limit, and any other, holds for the processes on the first node, and where mpirun passes it on.
//   - TERM that comes in the microseconds between the last look for it and the wait is heeded a second later.
//
// # Form
//
// The script is printable ASCII: values stand in single quotes, and any other byte of
// them is a variable, bNNN for octal NNN. First come the values of the job, then the text of
// body.sh, which is the same for all.
//
// Commands are substituted by back quotes alone. Bash 5.2 reads a $(...) anew when it comes to it, and runs a trap that is due
// in the middle of that: it reads the trap's command as the rest of the substitution, says "unexpected EOF while looking for
// matching )", and forgets the trap, the functions that it is in, or all of the script, which then ends with 0.
package wrapper
