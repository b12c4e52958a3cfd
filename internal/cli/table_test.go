package cli

import (
	"strings"
	"testing"
)

// Columns are as wide as a terminal shows them; blanks at the end of a line are left out.
func TestTable(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	table := Table(&b)
	for _, line := range []string{"ID\tNAME\tSTATE\n", "a\t日本語\tRUNNING\n", "b\t" + Paint("x", Bad) + "\t" + Paint("FAILED", Bad) + "\n", "c\té\t\n", "alone\n"} {
		if _, err := table.Write([]byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	if err := table.Flush(); err != nil {
		t.Fatal(err)
	}
	want := "ID  NAME    STATE\na   日本語  RUNNING\nb   \x1b[31mx\x1b[m       \x1b[31mFAILED\x1b[m\nc   é\nalone\n"
	if b.String() != want {
		t.Errorf("\n%s\nwant\n%s", b.String(), want)
	}
}

// On a narrow terminal the column that gives is cut, down to a rest that still says something.
func TestFitted(t *testing.T) {
	t.Parallel()
	for width, want := range map[int]string{
		0:  "id  a-very-long-name  RUNNING\n",
		24: "id  a-very-lon…  RUNNING\n",
		20: "id  a-very…  RUNNING\n",
		5:  "id  a-ver…  RUNNING\n",
	} {
		var b strings.Builder
		table := &Tabular{w: &b, fit: width, give: 1}
		if _, err := table.Write([]byte("id\ta-very-long-name\tRUNNING\n")); err != nil {
			t.Fatal(err)
		}
		if err := table.Flush(); err != nil || b.String() != want {
			t.Errorf("width %d: %q, want %q, %v", width, b.String(), want, err)
		}
	}
}
