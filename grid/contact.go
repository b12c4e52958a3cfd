package grid

// Contact says more of a member that is not alive: what became of the attempts to
// reach it.
type Contact uint8

const (
	Met        Contact = iota // there was a connection with it, now or before
	NeverHeard                // none, as far as is remembered, since it is a neighbour
	Refused                   // it ends every connection at once: it may not list this broker
	OtherKey                  // at its addresses another broker answers than its peer ID says
)

// String is a word for programs; that of Met is empty.
func (c Contact) String() string {
	switch c {
	case NeverHeard:
		return "never"
	case Refused:
		return "refused"
	case OtherKey:
		return "other-key"
	}
	return ""
}
