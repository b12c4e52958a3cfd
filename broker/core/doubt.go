package core

// doubt is why what a member says of a job is not believed.
type doubt uint8

const (
	believed doubt = iota
	showsNoCertificates
	cannotVerify      // this broker has no keys to verify with
	notAscending      // epochs of the chain
	notSigned         // by the owner before
	notFromOwner      // its certificates do not come from the owner that its home knows
	notOfferer        // they do not end with the one who offers
	noOwner           // neither the home, nor with certificates
	homeOwns          // its home owns it
	endHere           // they end with this site
	ownedByAnother    // and no certificate says that it has changed hands
	ownedAtThatEpoch  // by another
	laterOwner        // its home knows one
	stampOfNoClock    // its epoch is beyond what any clock shows
	userOfAnotherHome // the user of a job is one of its home
	otherHome         // a job of that identifier has another
	unknownAtHome     // this site is its home, and does not know it
	hasEnded          // as its home knows
	otherJob          // it is not the one that was handed in here
	runsAlready       // with another, as the home knows
)

// String is for people.
func (d doubt) String() string {
	return [...]string{
		"believed", "it shows no certificates", "this broker cannot verify certificates",
		"the epochs of its certificates do not ascend within one term", "a certificate is not signed by the owner before",
		"its certificates do not come from the owner that its home knows", "its certificates do not end with the one who offers",
		"only the owner of a job offers it, and this is not its home, and shows no certificates", "its home owns it",
		"its certificates end here", "another site owns it, and no certificate says that it has changed hands",
		"another site owns it at that epoch", "its home knows a later owner",
		"no clock shows the stamps of its epoch: set the clocks of its owner and its home", "the user of a job is one of its home",
		"a job of that identifier has another home", "this site is its home, and does not know it", "it has ended",
		"it is not the job that was handed in here", "it has started with another, who may have forgotten that he gave it away",
	}[d]
}
