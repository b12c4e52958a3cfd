// Package reserve is the reservation book of a site: who holds which of its nodes, or how much of its
// uplink, from when to when. It is pure: what it is told and the time decide what it says.
//
// # A reservation
//
//	TENTATIVE ──confirm──► CONFIRMED ◄──bind, unbind──► BOUND ──its job starts──► ACTIVE ──its job ends──► RELEASED
//	    ├─ limit ─► EXPIRED     ├─ given up; lease over; its time is over ──► RELEASED
//	    ├─ nobody came by start + grace ─► EXPIRED, RELEASED
//	    └─ given up ─► RELEASED └─ the batch system or a node lost it; the operator needs its nodes ──────► LOST
//
// Beside its state stands how far the batch system has come with it (grid.Holding):
//
//	Making ─► Placed ◄─► Changing     of one that is not over
//	   └────────┴───────────┴─► Ending ─► NotPlaced   of one that is
//
// The book says what it wants of the batch system by that alone: as long as one is Making, Changing or
// Ending whoever drives it asks, again and again, and tells the outcome with [Book.Made] and
// [Book.Ended]. Nothing is promised of a reservation that is Making. Deliveries are NotPlaced.
//
// # What holds
//
// [Book.Check] says which of these does not:
//
//	apart     no two that the batch system may hold have a node at one time; one that is changed
//	          counts where it was and where it shall be
//	uplink    deliveries never have more than the uplink together
//	legal     each state follows by a move of package grid, and fits its holding
//	limited   a tentative one has a limit, and none is there after it; none is there after its end
//	clear     none that may begin lies in a maintenance window
//
// What would be over at once is refused, and a move to there leaves all as it was.
//
// Quotas bound what a member and a user may have at one time; they are asked for what is new
// and never take away what there is.
//
// # Time
//
// Instants are by the site's own clock. [Book.Pass] does what is due, [Book.Next] says when it is to be called.
// Every other method does what is due first, so that none finds one that is past its limit.
package reserve
