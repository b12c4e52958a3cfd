// Package slurm speaks to Slurm by its commands: sbatch, squeue, sinfo, scontrol, scancel.
// It was made by and tested with Slurm 22.05. The JSON of 23.02 and later has another
// shape: it is refused by name, and not guessed at.
//
// # What is asked
//
//	scontrol show config                  clock, version, policy, how memory is counted
//	sinfo --all --json                    nodes
//	squeue --all --json                   jobs of all users, also those that ended less than MinJobAge ago
//	scontrol --oneliner show partition    queues
//	scontrol --oneliner show reservation  reservations
//	scontrol --oneliner show job ID       one job, afresh
//	scontrol ping                         before anything else, after a command that found no controller:
//	                                      it answers in 13 ms, where all others hang for 9 to 18 s
//
// Where the controller is down, squeue --json ends with 0 and an empty list; its "errors" are
// looked at first. An error, or output that is not exactly of the known form, means that
// nothing is known. Limits are in hostlist.go. A record of JSON is open by nature: members that
// are not used are skipped; states, flags and reasons that are not known are errors, but for
// reasons why a job waits, which are for people. What is wrong with the values of one node, partition, reservation or job
// is of that one, and told, unless most of the list is so: a node is down, a partition takes and starts nothing, a
// reservation of others is left out, a job, ours or not, is of no known state, on the nodes that it has as far as they can be
// read, and a look at it is an error. A reservation of ours makes the whole output unreadable. Text of scontrol is not quoted: a record in
// which a used key comes twice is refused, as a job's name or path may imitate one.
//
// # What waits, runs and has ended
//
// A pending job that the scheduler passes over (a hold, a begin time, a dependency) is held;
// JobHeldUser is our hold. Waiting jobs are in the order of their priority, then of their age.
// Tasks of an array that wait are one job, as squeue shows them, which says how many it stands for. Start and end of a pending job
// are Slurm's plans, and are not taken.
//
// # Limits
//
// How many tasks of an array run at once squeue tells. Limits of associations and of qualities of
// service are slurmdbd's, and which of them holds is told by nobody: a job that meets one has a
// reason such as QOSMaxJobsPerUserLimit, and what runs under it then is taken to be the limit, for
// an hour. Of one that is not of jobs or of cores only the job that waits for it is known: it is held.
//
// Evidence that a job has never started: it is PENDING, or CANCELLED without run time, and
// it has no nodes, and Restarts is 0.
//
// A controller that is killed forgets its last seconds: a job that runs may wait again, and be
// started a second time. Only the start token prevents that.
//
// FAILED with the signal 53 stands for a script that could not be launched. A cancelled job
// passes through COMPLETING, which counts as running. What a job used is not known (it would
// need accounting), but for its run time. After MinJobAge nothing is known of it.
//
// # Cores and memory
//
// A core is what Slurm calls a CPU: with hyper-threads, a thread. Memory is counted where
// SelectTypeParameters has MEMORY; else a job's is only compared with the node's. There,
// without DefMemPerCPU, a job that names no memory gets all of a node: set it.
//
// # How a job is submitted
//
// A demand is pieces of one size; chunks of different sizes are grid.ErrInvalid. Sequential
// jobs get a task for each piece with all of its cores, parallel ones a task for each
// process, so that srun starts them, and the cores of a piece must be a multiple of its
// processes. Pieces may share nodes, unless they are of several tasks or want generic
// resources. Properties are features; resources such as gpu:a100 are generic resources.
// The architecture and the system cannot be asked for: in a cluster of several give each a
// feature.
//
// A name may have 1,000 bytes (5,000 are refused), of which 15 are used; the number of jobs
// is bounded by MaxJobCount, 10,000 where nothing else is set.
//
// The limit is rounded up to minutes; Slurm notices up to half a minute later that it has passed.
// It sends TERM to all processes of the job, and KillWait later KILL. More nodes than there
// are, or a longer limit than the partition's, are accepted and wait for ever, unless
// EnforcePartLimits=ALL is set: set it.
//
// --export=ALL: of sbatch's own environment, which the Runner makes. With NONE, and with a list of
// variables, slurmd logs the user in (su -) to take the environment from there, and a job waits
// for whatever the login does, up to two minutes.
//
// # MPI
//
// "srun --mpi=pmi2 --export=ALL" and mpirun.mpich start the processes of a parallel job with
// MPICH. Open MPI needs a Slurm that was built with PMIx.
//
// # Policy
//
// sched/backfill gives each waiting job that it looks at the earliest start that delays none
// before it, anew in each pass: that is the planner's cons-rebuild. With a bf_max_job_test
// below 100 only so many are looked at: easy:N. sched/builtin is fcfs. The order is the
// priority that Slurm itself has computed, whatever PriorityType is.
//
// # Reservations
//
// Only root and SlurmUser make them. A daemon that is neither needs, in sudoers,
//
//	gbroker ALL=(slurm) NOPASSWD:SETENV: /usr/bin/scontrol
//
// and slurm as its operator. They are of named nodes for one user and one account, whose name is
// made up for it (gb and 16 letters and digits), and called gbroker_ID; the job that is bound to one is
// submitted under that account (sbatch --account), in place of its own. A Slurm that enforces associations
// refuses accounts that its database does not have: there they are for the user alone. They
// release themselves after five minutes without a job (PURGE_COMP). Slurm refuses one that
// overlaps another; it accepts nodes that are down, which is refused here, and cuts a
// NodeCnt, which is never used; each is read back. A job's limit must end before its
// reservation does, else the job waits for ever, and one that still runs at the end is killed
// (ResvOverRun). A reservation with jobs cannot be deleted: it is made to go within a minute of
// the last of them. One that has begun cannot change its start.
//
// # What to set in slurm.conf
//
//	EnforcePartLimits=ALL      what can never start is refused at once
//	MinJobAge=300              or more: how jobs ended is read from the listing in that time
//	DefMemPerCPU=...           where memory is counted
//	PrivateData                must not have jobs, nodes, partitions or reservations for the daemon's account
package slurm
