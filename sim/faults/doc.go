// Package faults runs many brokers in a world in which everything breaks, and checks
// that no job is lost and none runs twice. It is pure: one seed is one history, and
// always the same.
//
//	         users, administrators                         truth
//	                 │ requests                              ▲ starts and ends of programs,
//	                 ▼                                       │ words told to users
//	host: ─► broker.Core ─► one commit ─► effects ──► network, lanes ──► batch system
//	 ▲         (as in the daemon)   disk                │        │            │
//	 └────────────── events, in virtual time ◄──────────┴────────┴────────────┘
//
// What is real is [broker.Core], made by the same constructor as in the daemon, the
// messages (some of them pass through the codec) and package plan. All else is a model:
//
//	host.go      the daemon as a process: the order of steps, commits and effects; crashes,
//	             stops, failed saves, gaps. It follows package broker's shell
//	lanes.go     slow effects, one after another for each job
//	effects.go   what effects do: files, and the calls of the batch system
//	disk.go      the journal, control directories, sandboxes; a backup
//	batch.go     a local batch system, strictly in order; requeues, losses, operators
//	driver.go    a driver of package pbs, with start tokens, or without where nodes are blind
//	network.go   delay, loss, copies, partitions; who is believed to live; Hello
//	clock.go     offset, drift and steps of a site's clock
//	users.go     users and administrators
//	members.go   neighbours' files that change
//	twin.go      a second broker under one name
//	storm.go     the faults that befall a site
//
// # History
//
// Sites start, users hand in jobs for 12 minutes, and for 20 minutes faults of the
// profile strike; all but lost sites and journals are mended within 5 more. Then
// administrators forget the sites that are gone or have lost their journal, and every
// job has to end within 4 hours (S1), none to be out of every queue for 20 minutes
// (S9); 45 minutes later nothing may be left over (S8). All other properties are checked
// at every step: truth.go lists them.
//
// What is not held against the brokers: jobs whose home is gone, or has lost its journal or
// had it restored (its users were told what it has forgotten), but their programs are still
// started once, and not after the user was told KILLED, unless a restored journal alone knew that,
// or an administrator would not wait for the site that knew it, or had removed it from the
// neighbours (a broker that was rolled back asks those that it has), or the journal of that site was
// lost or restored too (what both have forgotten, nobody knows), or their user had removed them,
// and with them the start tokens; programs that ran at a site of
// which an administrator said that it is fenced off, and are started again at a newer
// term; those that still run, of an older term, at a site that was forgotten; programs that a site starts
// of whose home its administrator has said that it will not come back, which it is therefore
// not asking, while that home has forgotten that very site; a job
// that never ran and is FAILED, if a batch system has refused to take that very job, or if, while it
// was open, a neighbour was removed and no other site of its home's file had enough processors;
// a wish to cancel
// that an owner has recorded and the home has not yet heard of, as the owner may be gone for ever;
// jobs on which two brokers under one name have both acted while both ran (S2), as neither can know
// of the other before somebody has met both and told the one that he met first. Who had a twin
// counts as one whose journal was restored.
//
// # Trace
//
// One line for each thing that happens: seconds since the beginning, the site or "-",
// and what. Words in capitals are the truth (STARTS, ENDS, TELLS, CRASH, VIOLATED).
//
// # Limits of the model
//
// The broker of a site that is fenced off does not start before that is over. Once an
// administrator has said that a site is fenced off, nothing that was handed to its
// batch system before starts there: it is emptied in truth, with what it had accepted and
// not yet queued.
//
// A journal is restored while all members of the site can be reached, as the manual of
// operations asks for.
//
// A twin sees the batch system and the control directories of the site that it is a copy of,
// as clusters have them on a shared file system; a copy with a batch system of its own is another
// site with the same key, and nothing could keep its jobs from starting. The profile "twin" is
// no part of "all".
//
// Where an attempt is submitted late, the model of the wrapper requires what the driver has
// written before: a file submit.E.A in the control directory, for each attempt (folder.known).
// So an attempt that was handed over before the folder was discarded and made again does not
// start out of the new one.
//
// A former owner that lies, and hands a job to a third site before the home is heard, is not
// simulated: nobody here forges or breaks a word. docs/protocol.md says what it could do.
package faults
