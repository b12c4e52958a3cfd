package grid

import "slices"

// Starts tells when one more job would start at a site, by how many processes it has, each of one core, and for how long it asks. What lies
// between two classes starts no sooner than the class before and no later than the one after. The zero value tells nothing.
type Starts struct {
	Age       Tick   // how long ago that was so
	Processes []int  // classes, ascending
	Walltimes []Tick // classes, ascending
	Waits     []Tick // from then on, by processes and then walltimes; Unforeseen is later than is told, or never
	Whole     bool   // pieces of any size find their place as single processes do: the site is one node
}

// Limits of what a site tells of starts: it takes no more than 1 KiB.
const (
	MaxStartProcesses = 20
	MaxStartWalltimes = 8
	// Unforeseen is a wait of which nothing is told: 397 days.
	Unforeseen Tick = 1<<35 - 1
)

// IsZero tells that nothing is told.
func (s *Starts) IsZero() bool { return len(s.Waits) == 0 }

// Bounds are the least and the most that a job waits, from when that was told.
func (s *Starts) Bounds(processes int, walltime Tick) (least, most Tick) {
	p, exactly := slices.BinarySearch(s.Processes, processes)
	w, as := slices.BinarySearch(s.Walltimes, walltime)
	most = Unforeseen
	if p < len(s.Processes) && w < len(s.Walltimes) {
		most = s.wait(p, w)
	}
	if !exactly {
		p--
	}
	if !as {
		w--
	}
	if p >= 0 && w >= 0 {
		least = min(s.wait(p, w), most)
	}
	return least, most
}

func (s *Starts) wait(p, w int) Tick { return s.Waits[p*len(s.Walltimes)+w] }
