package replay

import (
	"bufio"
	"io"
	"strconv"
)

// WriteStarts writes "job<TAB>start" lines below a line that names the columns, by
// submit time and identifier.
func WriteStarts(w io.Writer, log *Log, r *Result) error {
	out := bufio.NewWriter(w)
	line := []byte("#job\tstart\n")
	for i, j := range log.Jobs {
		if _, err := out.Write(line); err != nil {
			return err
		}
		line = strconv.AppendInt(line[:0], j.ID, 10)
		line = append(line, '\t')
		line = strconv.AppendInt(line, r.Starts[i], 10)
		line = append(line, '\n')
	}
	if _, err := out.Write(line); err != nil {
		return err
	}
	return out.Flush()
}
