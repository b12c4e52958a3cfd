package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
)

// PrintJSON writes v as indented JSON and a newline.
func PrintJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("printing the answer as JSON: %w", err)
	}
	return nil
}

// PrintLine writes v as one line of JSON.
func PrintLine(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("printing a line of JSON: %w", err)
	}
	return nil
}

// Size is a number of bytes for people, in powers of 1024.
func Size(n int64) string {
	if n < 1024 {
		return fmt.Sprintf("%d B", n)
	}
	x, unit := float64(n)/1024, 0
	for x >= 1024 && unit < 5 {
		x, unit = x/1024, unit+1
	}
	return fmt.Sprintf("%.1f %ciB", x, "KMGTPE"[unit])
}

// Amount is what is paid, in full: never as a power of ten.
func Amount(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
