package script

import (
	"strings"
	"testing"
)

// What is said twice alike is no mistake, and the command line counts before the script, wherever it is read.
func TestWhatSaysOtherwise(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		"--time=10":   "",
		"--time=20":   "-t 10: has no effect: --time=20 on the command line counts before it",
		"--comment=x": "",
	} {
		s, err := Parse("a.sh", []byte("#!/bin/sh\n#SBATCH -t 10\n"), Options{Directives: []string{said}})
		if err != nil {
			t.Fatal(err)
		}
		if got := s.Warnings.Error(); !strings.Contains(got, want) || want == "" && strings.Contains(got, "no effect: --time") {
			t.Errorf("with %s: %q, want %q", said, got, want)
		}
	}
}
