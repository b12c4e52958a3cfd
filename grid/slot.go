package grid

// Slot is a stretch of one node's time that can be had: all of the node, from Start
// until just before End, for Price.
type Slot struct {
	Site       SiteName
	Node       NodeName // of that site: two sites may use one name
	Start, End Tick
	Price      float64 // what holding any part of it costs; at least 0
}
