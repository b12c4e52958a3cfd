package grid

// Slot is a stretch of one node's time, from Start until just before End, in which so
// much of the node can be had, for Price a core and hour.
type Slot struct {
	Site       SiteName
	Node       NodeName // of that site: two sites may use one name
	Start, End Tick
	Cores      int
	Memory     int64 // bytes; nothing where the node declares none, which is then neither asked nor counted
	Resources  []Resource
	Price      float64 // of holding a core of it for an hour; at least 0
}
