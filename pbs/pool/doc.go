// Package pool makes a pool of shared desktops a site: a batch system whose nodes are computers that stay
// their owners'. On each of them an agent (package agent) runs; it opens all connections, and what both
// say is specified in package line.
//
// # Preemption and admission
//
// A job whose deadline no plan makes any more takes the computer of a job that has none and has brought a
// checkpoint. That mends promises which forecasts have broken. No promise is made by it: estimates,
// refusals and the earliest end that these tell are of computers as they come free by themselves. It would
// not be sound, for three reasons.
//
//   - Who gives way is known of this moment alone. Until the promised job is here, which its files and its
//     home decide, he may be given a deadline of his own (gclient alter), a second job of his user beside
//     him or a copy elsewhere: then he gives way no more. A computer that comes free in a plan comes free
//     whatever these do.
//   - He is stopped at once for who is late now. For a deadline of tomorrow that is too early, and to say
//     now that he will be stopped tonight is to know what checkpoint he has by then.
//   - Each deadline would be a claim on the computers of those who declare that they checkpoint, and of
//     nobody else. Who declares nothing would be safe, and so nobody would declare it.
//
// So the earliest end of a refusal may be later than what a preemption would make, and never earlier than
// what is kept. What free preemption and migration would gain is measured by gsim pool.
package pool
