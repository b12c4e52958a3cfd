package grid

import "strconv"

// MissingOutput is an output that a document declares and the job did not leave.
type MissingOutput struct {
	Path string // as the document names it
	Why  string // what stands there instead; "" is nothing, or unknown
}

// String is the path, quoted, and why.
func (m MissingOutput) String() string {
	if m.Why == "" {
		return strconv.Quote(m.Path)
	}
	return strconv.Quote(m.Path) + " (" + m.Why + ")"
}

// MissingOutputs are the outputs that are required of a job and are not among what it left.
func MissingOutputs(declared []Output, left Manifest) (paths []string) {
	there := make(map[string]bool, len(left))
	for _, f := range left {
		there[f.Path] = true
	}
	for _, o := range declared {
		if o.Required && !there[o.Stored()] {
			paths = append(paths, o.Path)
		}
	}
	return paths
}
