// Package embedded makes any Linux machine a site: a batch system of its own, with
// declared nodes and cores (which may exceed the real ones) and package plan as its
// scheduler. Each job is a process group under a supervisor process (package
// supervise), which outlives the daemon.
//
// # Order
//
// Jobs wait in the order of their age: arrival minus the age they brought, ties
// by arrival. Every change runs plan.Pass.
//
// # The spool
//
// Every waiting or running job is one file, SPOOL/jobs/TAG.job, in the form of
// supervise.Spec; TAG is the attempt's tag and its LocalID. It is written when the job comes,
// and again, with its place, when it starts: then it is the supervisor's SPECFILE. It is
// removed once the attempt is withdrawn or its end is in the control directory,
// from where it is told ever after; so the spool holds no more than MaxQueue
// files. Files appear by rename but are not forced to disk: after a power cut a
// lost one is submitted again by the broker (Progress says grid.Unknown), and one that
// came back is stopped by its start token. A file that makes no sense is moved
// aside to NAME.corrupt and reported in the log; one that cannot be opened or read
// stays, and the start is refused.
//
// # Holds
//
// A waiting job that is held keeps its place in the order and is passed over; its file
// says so, over restarts too.
//
// # Reservations
//
// There is one file for each reservation, SPOOL/reservations/ID.json: pbs.Reservation as
// JSON, on disk before Reserve returns, removed at its release or its end. One that cannot
// be read keeps the system from opening, for to forget it would let others onto its nodes.
// Whole nodes are kept free through plan.Snapshot.Reservations: for the job that is bound to
// it (grid.Submission.Reservation) while that waits, and for nobody else while that runs, of
// what it leaves free. None is made over another, nor over a job whose limit reaches into
// it. The end of its job ends it; the withdrawal of an attempt does not, as another may
// follow. A job whose reservation is gone waits as if held.
//
// # Limits of a job
//
// The program of a job that has some of a resource gpu, or gpu:KIND, is told their numbers, in CUDA_VISIBLE_DEVICES,
// ROCR_VISIBLE_DEVICES and GBROKER_GPUS: from 0 on, over the nodes and their resources in the order in which they are declared.
// For one that asks for no GPU, on such a site, the first two are set to nothing: its program sees none.
// No two jobs that run have the same. A resource of which a node has more than 1024 has no numbers (gpu:memory_mb: 81920 counts
// something else), nor has what is beyond 16,384 of all nodes. A job waits while too few numbers are free, as they may be
// where the nodes are declared in another order than when those started that run. A job that an older version started
// without numbers holds as many as it has GPUs.
//
// Cores and named resources are counted and not enforced, as is memory that a demand asks
// for, but where jobs are confined (Config.Confine): there memory binds all processes of a
// job together, and cores are a share of processor time. Program.Limits and
// Config.FileLimit bind each process (see package supervise). A node's speed is what the
// planner and the broker reckon with: a job's limit and expected run time at this site come
// with its submission, and no speed changes how programs run.
//
// # Restart
//
// What the control directory of each spooled job says decides: no token, it waits
// on; the broker's, it is dropped; an end, it is reported; else its supervisor is
// sought by number, start and boot, and watched if it lives. Where the machine was
// started again since, by its boot identifier, what ran ends with cause
// grid.Disappeared and says so, and what waited waits on.
//
// # The end of a supervisor
//
// is noticed by its pidfd (Linux 5.3; before that by looking twice a second). One that has
// written no end has vanished: what is left of its program is found by session and by
// the variable GBROKER_ATTEMPT and killed, and the attempt ends with cause
// grid.Disappeared. One that ended before it took the token is started anew, a few
// times. A part of a co-allocated job has its nodes before its token: it waits at the barrier, and
// counts as waiting.
//
//	Submit ──► waiting ──Pass──► launching ──token──► running ──end──► (gone)
//	              ▲                  │ no token                         ▲
//	              └──── a pause ─────┘                                  │
//	           Withdraw from any of the first two ───────────────────────
package embedded
