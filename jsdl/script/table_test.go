package script

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// table is a table of directives as docs/jobs.md shows it.
func table(list []directive) string {
	var b strings.Builder
	b.WriteString("| directive | value | here |\n| --- | --- | --- |\n")
	for i := range list {
		d := &list[i]
		form := d.form
		if d.lacks {
			form = "(" + form + ")"
		}
		if form != "" {
			form = "`" + strings.ReplaceAll(form, "|", "\\|") + "`"
		}
		does := d.does
		switch {
		case d.refused != "":
			does = "**refused**: " + d.refused
		case d.idle != "":
			does = "*no effect*, a warning: " + d.idle
		}
		if d.only != "" {
			does = programs[d.only] + ": " + does
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", strings.Join(d.names, "`, `"), form, strings.ReplaceAll(does, "|", "\\|"))
	}
	return b.String()
}

// The document's tables are those that the parser goes through.
func TestTheDocumentShowsTheTables(t *testing.T) {
	t.Parallel()
	const file = "../../docs/jobs.md"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	now := string(text)
	for name, list := range map[string][]directive{"sbatch": sbatch, "qsub": qsub, "qsub -l": resources, "qsub -W": attributes} {
		begin, end := "<!-- "+name+": made by go test ./jsdl/script -update -->\n", "<!-- "+name+" end -->\n"
		head, rest, found := strings.Cut(now, begin)
		_, tail, closed := strings.Cut(rest, end)
		if !found || !closed {
			t.Fatalf("%s has no table of %s", file, name)
		}
		now = head + begin + table(list) + end + tail
	}
	if *update {
		if err := os.WriteFile(file, []byte(now), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if now != string(text) {
		t.Errorf("%s shows other directives than the tables: go test ./jsdl/script -update", file)
	}
}

// Each entry says one thing of itself, and no name stands twice.
func TestTables(t *testing.T) {
	t.Parallel()
	for name, list := range map[string][]directive{"sbatch": sbatch, "qsub": qsub, "-l": resources, "-W": attributes} {
		seen := map[string]bool{}
		for i := range list {
			d := &list[i]
			for _, n := range d.names {
				if seen[n] {
					t.Errorf("%s: %s stands twice", name, n)
				}
				seen[n] = true
			}
			kinds := 0
			for _, is := range []bool{d.does != "", d.idle != "", d.refused != ""} {
				if is {
					kinds++
				}
			}
			lists := d.names[0] == "-l" || d.names[0] == "-W"
			if kinds != 1 || (d.does != "") != (d.set != nil || lists) || d.lacks && d.form == "" {
				t.Errorf("%s: %s does, has no effect or is refused: one of them", name, d.names[0])
			}
		}
	}
}

// All options of the programs are in the tables: those of sbatch 22.05 and of qsub.
func TestTheTablesAreComplete(t *testing.T) {
	t.Parallel()
	const long = `account acctg-freq array batch bb bbf begin chdir cluster-constraint clusters comment constraint container contiguous
		core-spec cores-per-socket cpu-freq cpus-per-gpu cpus-per-task deadline delay-boot dependency distribution error exclude exclusive
		export export-file extra-node-info get-user-env gid gpu-bind gpu-freq gpus gpus-per-node gpus-per-socket gpus-per-task gres gres-flags
		help hint hold ignore-pbs input job-name kill-on-invalid-dep licenses mail-type mail-user mcs-label mem mem-bind mem-per-cpu mem-per-gpu
		mincpus network nice no-kill no-requeue nodefile nodelist nodes ntasks ntasks-per-core ntasks-per-gpu ntasks-per-node ntasks-per-socket
		open-mode output overcommit oversubscribe parsable partition power prefer priority profile propagate qos quiet reboot requeue reservation
		signal sockets-per-node spread-job switches tasks-per-node test-only thread-spec threads-per-core time time-min tmp uid usage use-min-nodes
		verbose version wait wait-all-nodes wckey wrap`
	for name := range strings.FieldsSeq(long) {
		if find(sbatch, "--"+name) == nil {
			t.Errorf("sbatch has --%s", name)
		}
	}
	// TORQUE's GETOPT_ARGS and OpenPBS's, with a colon behind those that take a value.
	for _, letters := range []string{"a:A:b:c:C:d:D:e:EfF:hi:Ij:J:k:K:l:L:m:M:nN:o:p:P:q:r:S:t:T:u:v:Vw:W:Xxz", "a:A:c:C:e:fhIj:J:k:l:m:M:N:o:p:q:r:R:S:u:v:VW:XzP:G"} {
		for i, c := range letters {
			d := find(qsub, "-"+string(c))
			takes := i+1 < len(letters) && letters[i+1] == ':'
			switch {
			case c == ':':
			case d == nil:
				t.Errorf("qsub has -%c", c)
			case takes != d.takesValue() && d.names[0] != "-f":
				t.Errorf("qsub's -%c takes a value: %t", c, takes)
			}
		}
	}
}
