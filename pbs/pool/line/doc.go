// Package line is what a pool of desktops and the agents on its computers say to each other. Agents
// open all connections; a pool never does.
//
// # Identity
//
// A pool has one key and a certificate that it signed itself. A join code, HOST:PORT/FINGERPRINT/SECRET,
// carries the fingerprint of that key, and the agent trusts no other, for ever: no authority is asked. With the
// secret, which is good once, an agent gets a certificate of the pool for its own key and a name; if it does not hear the
// answer it asks again with the same secret, key and name. From then on that certificate is all it needs, also when the pool has lost all but its identity. Whoever shows none gets
// 403 for everything but join; so does a computer that was removed.
//
// # Messages
//
// HTTP/1.1 over TLS 1.3; bodies are JSON of at most MaxMessage bytes, and fields that are not known are
// skipped. Package line has each message as a type, and its Check the limits of each number. Spans are
// milliseconds, and instants are told as spans since then, for clocks of desktops lie.
//
//	POST /v1/join         Join        → Joined    by anybody who has a code
//	POST /v1/register     Register    → {}        what the computer is, at each start of its agent
//	POST /v1/connect      Connect     → Orders    a session begins, with all that the computer holds; 409 where another
//	                                              agent has registered it
//	POST /v1/report       Status      → Orders    each interval, which the pool sets, and at each change; with what was seen since
//	POST /v1/orders       Ask         → Orders    held until there are newer ones
//	POST /v1/disconnect   Ask         → {}        the agent ends
//	POST /v1/unregister   Ask         → {}        for good
//	GET  /v1/jobs/T/files             → Files     the inputs of the job with the tag T
//	GET  /v1/jobs/T/file?path=        → bytes
//	POST /v1/jobs/T/start  Start      → Granted   the start token, asked for just before the program is executed
//	POST /v1/jobs/T/refuse Refused    → {}        this computer will not have it
//	POST /v1/jobs/T/began  Began      → {}
//	PUT  /v1/jobs/T/file?path=&stint=&mode=&sha256=    a file that the program made or changed; with folder= a folder,
//	                                                   with link=TARGET a symbolic link inside the sandbox
//	POST /v1/jobs/T/end    End        → {}        after all files; the agent forgets the job with the answer
//
// An answer that is no success is Refused: 409 asks for a new session, 400, 403 and 404 are final, all else
// may be tried again. Orders are complete: a computer holds the jobs that are named there and no others.
//
// # Exactly once
//
//	agent                                         pool
//	  | <-- order with an assignment ------------- |
//	  | fetches all inputs                         |
//	  | -- start{stint} -------------------------> | takes the start token of the attempt, writes the grant, durably
//	  | <-- granted ------------------------------ | the same stint again: granted again; another: never
//	  | marks that, takes the token of its folder  |
//	  | executes                                   |
//
// The stint is drawn by chance with the agent's folder for the job. An agent that dies between grant and
// execution goes on after its restart; one that has lost its folder has another stint, and is refused. A job
// that is rerunnable may be granted again to another computer when it was cut off.
//
// # When one side is gone
//
// Each row is a test of package gbroker/pbs/pool, whose name stands behind it.
//
//	agent killed           its jobs end with it. Restarted, it tells which were cut off and brings what ended
//	                       before. A rerunnable one starts again, from the checkpoint that was brought last;
//	                       another is LOST, with the reason. It waits for supervisors of before, which end the
//	                       programs                                     TestAgentIsKilled, TestAgentIsBackAtOnce
//	agent cut off          it goes on with its jobs. Heard again within the pool's silence all is as it was; after it
//	                       jobs count as cut off, and what it brings then is refused        TestComputerIsCutOff
//	agent lost its folder  connect shows what it does not hold any more: cut off at once. What it had no token for it
//	                       is given again                                                TestComputerLosesItsFolder
//	agent lost a job       two reports in a row do not name it: cut off. One may have been written before the agent
//	                       had it                                                            TestComputerForgetsAJob
//	output that the pool   the agent says so as the end of the job; a kill is obeyed also while output is on its way,
//	cannot take            and what comes after the end is refused
//	                                      TestOutputIsRefused, TestKillWhileOutputIsBrought, TestFileComesTooLate
//	pool restarted         agents try again with pauses that grow and differ by chance; jobs go on and what ends is
//	                       kept until the pool has it                                            TestPoolIsRestarted
//	pool lost its database the broker asks for its jobs by their control directories, whose grants say which
//	                       computer has which; agents are told 409, register, and connect. What waited is
//	                       submitted again by the broker         TestPoolLosesItsDatabase, TestPoolLosesWhatWaited
//	pool lost its identity it is another pool: agents refuse it, and join with new codes    TestPoolLosesItsIdentity
//
// # Twelve states
//
// SARD's own list is not published in full. These are the twelve that such a system needs, with those of
// package grid:
//
//	submitted, waiting             ASSIGNED
//	matched, fetching              ASSIGNED      an agent has it, without the token
//	running, suspended             RUNNING
//	returning                      FINISHED, STAGEOUT
//	done                           COMPLETED
//	failed                         FAILED        it could not be run
//	killed                         KILLED
//	cancelled for its deadline     CANCELLED_DEADLINE; for its limit CANCELLED_WALLTIME
//	lost                           LOST          cut off, and not rerunnable
package line
