// Package faults runs many brokers in a world in which everything breaks, and checks
// that no job is lost and none runs twice. It is pure: one seed is one history, and
// always the same.
//
//	         users, administrators                         truth
//	                 │ requests                              ▲ starts and ends of programs,
//	                 ▼                                       │ words told to users
//	host: ─► core.Core ─► one commit ─► effects ──► network, executor ─► batch system
//	 ▲         (as in the daemon)   disk                │        │            │
//	 └────────────── events, in virtual time ◄──────────┴────────┴────────────┘
//
// What is real is [core.Core], made by the same constructor as in the daemon and on the same [core.Host], the
// messages (some of them pass through the codec) and package plan. All else is a model:
//
//	host.go      the daemon as a process: the order of steps, commits and effects; crashes,
//	             stops, failed saves, stalls. The turns are those of [core.Host]
//	executor.go  slow effects, one after another for each job, as by the executor of package
//	             broker. That one has goroutines and contexts, and bounds what runs at once; this
//	             one has virtual time, and nothing of that. Under which key an effect runs, and
//	             what it ends, is [core.Route] in both
//	effects.go   what effects do: files, and the calls of the batch system
//	witness.go   the file beside the journal
//	disk.go      the journal, control directories, sandboxes; a backup
//	batch.go     a local batch system, strictly in order; requeues, losses, operators
//	driver.go    a driver of package pbs, with start tokens, or without where nodes are blind
//	network.go   delay, loss, copies, partitions; who is believed to live; Hello
//	clock.go     offset, drift and steps of a site's clock
//	users.go     users and administrators
//	members.go   neighbours' files that change
//	duplicate.go      a second broker under one name
//	reservations.go   reservations in the batch system; coordinators.go: holders who fall silent
//	barrier.go   wrappers of parts of jobs over several sites; wide.go: users of such jobs
//	budgets.go   prices, and what users may pay, in a third of the histories with jobs over several sites
//	flows.go     workflows, enacted by package enact at their homes
//	terms.go     users whose jobs are kept back, altered, and end in time
//	storm.go     the faults that befall a site
//
// # History
//
// Sites start, users hand in jobs for 12 minutes, and for 20 minutes faults of the
// profile strike; all but lost sites and journals are mended within 5 more. Then
// administrators forget the sites that are gone or have lost their journal, again 5 and 10 minutes later, and every
// job has to end within 4 hours (S1), none to be out of every queue for 20 minutes
// (S9); 45 minutes later nothing may be left over (S8). All other properties are checked
// at every step: truth.go lists them.
//
// # Excuses
//
// What is not held against the brokers names the job, and the knowledge that was lost or the
// administrator who took it upon himself (excuse.go, lapse.go); of all other jobs everything is.
//
//	what is excused                  of which job                               because
//	it need not end, be queued       its home is gone for ever                  its users are gone too
//	  or be swept (S1, S9, S8)       its home's journal has lost it, and no     nobody knows that it was
//	                                   owner whom the home hears can tell         handed in
//	                                 its home has lost its files, or that       its user was told that they had
//	                                   they came, and waits for them
//	                                 only sites that are gone could run it
//	                                 it may have several sites, and those that
//	                                   are left have no room for it together
//	LOST (S1)                        its home's administrator forgot a site     he need not wait for it
//	                                   that had it then by the home's journal;
//	                                   at the term that it had, or got by that;
//	                                   or that gave it to who has declined it,
//	                                   also since; or that had it before, and
//	                                   its home has not begun anew since then
//	                                 its home, or another owner, was set back   that site may have got it
//	                                   to owning it, or got it before it noticed
//	                                   that or was started again, and need not
//	                                   wait for the word of a site; also where
//	                                   its home has begun a term since; a
//	                                   second broker under its name is likewise
//	                                   a branch that it lacks
//	                                 its home and a site that had it, or one    both have forgotten where it was,
//	                                   that gave it on and who got it, have       or its end
//	                                   lost who had it since then, or its end
//	                                 a site where it was had a duplicate then,  its control directory may be
//	                                   and its files were swept there since; or   gone
//	                                   its machine was put back to before
//	                                   something of it was written there
//	                                 its home has lost it, and learns it from   nobody says who owns it
//	                                   one that was to get it
//	                                 its user had it removed, and the home has  its control directory went
//	                                   lost that, and the file beside it          with it
//	a start after a start that       the home's administrator fenced that       he says that it does not run
//	  was at a site ... (S2b)          site off since, and the term is newer      there
//	                                 ... which now starts what it had of the    its own administrator told it not
//	                                   older term: it forgot the home too         to ask the home
//	  (what is lost, is so before      the home has lost that it gave it to       both have forgotten it
//	  this one was submitted)            there, or to who gave it on, and that
//	                                   site has lost that it started, and its
//	                                   start tokens are gone with the machine
//	                                   or were discarded since
//	                                 the home has lost that likewise, and its   he need not wait for its word
//	                                   administrator forgot that site, or
//	                                   removed it, since
//	                                 likewise, and now it is that site's, after  likewise
//	                                   one of the home
//	                                 the home has lost, in a power cut or with  nothing and nobody can say
//	                                   its machine, that it gave the job away,    that the journal was longer
//	                                   to there or to who gave it on, and
//	                                   no member that had seen that was heard
//	                                   for 2 minutes, up to its submission, or
//	                                   until the home gave the job to there, or
//	                                   to who gave it on to there
//	                                 its user had it removed, and the home has  its start tokens went with it
//	                                   lost that, likewise
//	                                 that machine was put back to a snapshot    so did they, with all that
//	                                   of before that start, or its submission,   knew of it there
//	                                   or the withdrawal of that attempt,
//	                                   or the end of a rerunnable program, and is the
//	                                   home, or its home is gone or had heard
//	                                   of no end (LOST is none)
//	                                 or it was, of before that withdrawal, the  likewise
//	                                   other had been submitted when that start
//	                                   came
//	                                 its end was told, that site dropped what   nobody has a word of it
//	                                   it had of it, and both have lost that,
//	                                   the home with the file beside its journal
//	any start (S2b, S2c, S5)         that attempt was withdrawn, and its        a submission that was on its way
//	                                   machine was put back to a snapshot of      finds no token
//	                                   before that, and not withdrawn again
//	an owner beside another (S2a)    one of them has lost that it gave it       it asks before it does anything
//	                                   away, or is in doubt
//	                                 the home has lost that it gave the job to
//	                                   the one, or to who gave it on, and need
//	                                   not wait for his word
//	                                 who gave it has lost, in a power cut or    likewise
//	                                   with its machine, that it gave it to the one, and
//	                                   gave it to the other, or to who gave it on,
//	                                   before a member that had seen that was heard
//	KILLED is forgotten (S2c), an    its home has lost it with its machine or in    nothing and nobody can say
//	  end is told anew (S5)            a power cut, and no member that had seen     that the journal was longer
//	                                   that was heard for 2 minutes, up to the
//	                                   start since then, or until the home
//	                                   gave the job to there, or to who gave it on
//	a start after KILLED (S2c), an   its home has lost, likewise, that it gave the  likewise
//	  end while it runs (S5)           job to there, or to who gave it on, and
//	                                   tells that end before 2 minutes have passed
//	                                   since a member that had seen that was heard,
//	                                   or had given the job before that to who ended it
//	KILLED is forgotten (S2c), an    its home had it then, and has lost that    nobody else was told: a site that
//	  end is told anew (S5)            with its journal and the file beside it    had it before may forget it then
//	KILLED is forgotten (S2c)        its home has lost that, likewise, and so   both have forgotten it
//	                                   has the site that had the job then
//	                                   (what it had written of it last by then)
//	KILLED is forgotten (S2c)        its home has lost that, likewise, and      its home need not wait for his
//	                                   who had it then was forgotten or           word
//	                                   removed at its home since
//	KILLED is forgotten (S2c)        its site was fenced off before, which      each administrator said so of
//	                                   starts it now, as it was told to           the other
//	                                   forget the home
//	what is held, or was altered,      its site was fenced off before, which       likewise
//	  starts (S13)                       starts it now, as it was told to
//	                                     forget the home
//	what is held, or was altered,      it is rerunnable, and at a newer term       its batch system starts it whatever
//	  starts (S13)                       since, as the home's administrator forgot   was said, until the site is told;
//	                                     a site that had it in that older term;      or the site does, as it was told
//	                                     the batch system had it by 2 minutes        to forget the home
//	                                     after that, and till 20 after all works
//	                                     again; or its site was told to forget
//	                                     the home
//	what is held starts (S13)        its home has lost that it was released,    it has forgotten what it let go
//	                                   and it was on its way before that
//	an end is told anew (S5)         who knows that end was forgotten or        its home need not wait for his
//	                                   removed at its home since                  word
//	a start after an end (S5)        its home has lost that it gave the job to  likewise
//	                                   there, or to who gave it on; that is out
//	                                   of its file, or was, or was forgotten,
//	                                   and it was in the queue there by then
//	a wish to cancel is forgotten    its home has lost that, likewise, and      its user has to say it again
//	  (S5)                             nobody else has it
//	                                 a duplicate of its home has recorded it,   nobody could tell the first of it
//	                                   and the first one has not
//	FAILED without a start (S5)      a batch system has refused that very job
//	                                   at that epoch
//	                                 while it was open a neighbour was          nobody could run it
//	                                   removed, and no other site of its home's
//	                                   file had enough processors, up to 10
//	                                   minutes before; and that is why, as told
//	                                 its home has lost that its files came
//	                                 its user had it removed                    its files are gone
//	FAILED though its program ended  that epoch had another start, which the    it counts, and not the end
//	  by itself (S5)                   batch system lost, or its site has lost
//	                                   something of the job, or that end with
//	                                   its machine
//	either FAILED                    a site that had it had a duplicate, or     its files are gone
//	                                   was put back
//	an end while it runs (S5)          that start is as one before a start        likewise
//	                                   after it, or it is such a second one
//	a start after another end than     its home has lost that it gave the job     likewise
//	  KILLED or LOST, at its term        to there, as before a start after KILLED
//	  or a later one (S5)
//	an end without output (S5)       its home, or the site where that program   it may have been swept
//	                                   ran, has lost what it wrote of it since
//	a part that starts though one of   as a start after a start                  likewise
//	  another round had (S4)
//	a part that starts after an end    as a start after KILLED                   likewise
//	  of the whole (S4)
//	an end of the whole while a part   as an end while it runs                   likewise
//	  runs (S4)                        or two brokers of its home's name have      likewise
//	                                   both decided of that part
//	a reservation in no book (S3)    the site was set back, and has not asked   it may be what a part needs
//	                                   all, or been told whom it need not
//	what is done with it             two brokers under one name have both       neither can know of the other
//	                                   changed it, or told its end, while both    before it is told
//	                                   ran
//
// What keeps a job back at its home, and an alteration, are in its home's journal alone: where that was put back, what it has now counts
// (S13, S15), and another site may have the version that was lost. Of jobs on which a duplicate of their home may have acted S13 is checked
// of the instant that they wait for alone, and of other jobs on which it has not acted.
// A dependency has come true, or cannot, from when its user was told so, whatever is lost of the other job.
//
// What is not to start before an instant, and what depends on it, has as much longer to end as the clock of its home was set back; what has
// nodes reserved, or a deadline, as any clock was. With a deadline it may be in no queue for that long: it may end nowhere by then. No other job has more time.
//
// A wish to cancel that an owner has recorded and the home has not yet heard of is not held against
// the home, as the owner may be gone for ever.
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
// A duplicate sees the batch system and the control directories of the site that it is a copy of,
// as clusters have them on a shared file system; a copy with a batch system of its own is another
// site with the same key, and nothing could keep its jobs from starting.
//
// Where an attempt is submitted late, the model of the wrapper requires what the driver has
// written before: a file submit.E.A in the control directory, for each attempt (folder.known).
// So an attempt that was handed over before the folder was discarded and made again does not
// start out of the new one.
//
// A former owner that lies, and hands a job to a third site before the home is heard, is not
// simulated: nobody here forges or breaks a word. docs/protocol.md says what it could do.
package faults
