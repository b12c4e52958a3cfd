package openpbs

import (
	"bytes"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// parsers are all readers of output that can be long.
func parsers(w words) map[string]func(text []byte) error {
	return map[string]func(text []byte) error{
		"jobs":         func(text []byte) error { _, _, err := w.jobs(text); return err },
		"nodes":        func(text []byte) error { _, _, err := w.nodes(text); return err },
		"queues":       func(text []byte) error { _, err := queues(text); return err },
		"server":       func(text []byte) error { _, _, err := servers(text); return err },
		"reservations": func(text []byte) error { _, err := w.reservations(text); return err },
		"config":       func(text []byte) error { _, err := config(text); return err },
	}
}

// allocated is how many bytes reading a text takes, all in all, kept or not. Other tests
// allocate meanwhile: the least of many runs is nearest to the truth, and one is enough that
// keeps to most times the size of the text.
func allocated(read func(text []byte) error, text []byte, most uint64) (least uint64, err error) {
	for i := 0; i == 0 || i < 100 && least > most*uint64(len(text)); i++ {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		err = read(text)
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; i == 0 || used < least {
			least = used
		}
	}
	return least, err
}

// inside repeats a member of a list up to half a megabyte, each with a number of its own.
func inside(list, member string) string {
	var out strings.Builder
	for i := 0; out.Len() < 1<<19; i++ {
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteString(strings.ReplaceAll(member, "#", fmt.Sprint(i)))
	}
	return listOf(list, out.String())
}

const tinyJob = `"#.p":{"Job_Name":"","Job_Owner":"a@p","job_state":"Q","queue":"q","substate":1,"ctime":"Fri Nov 20 23:07:12 2026"`

// No output makes a parser take more than eight times its size.
func TestSerialMemoryIsBounded(t *testing.T) {
	t.Parallel()
	w := plain(t)
	const many = 1 << 19
	hostile := map[string]string{
		"jobs tiny jobs":       inside("Jobs", tinyJob+`}`),
		"jobs ended jobs":      inside("Jobs", strings.Replace(tinyJob, `"Q"`, `"F"`, 1)+`}`),
		"jobs tiny attributes": listOf("Jobs", strings.Replace(tinyJob, "#", "1", 1)+strings.Repeat(`,"a":1`, many/6)+`}`),
		"jobs odd names":       listOf("Jobs", strings.Replace(tinyJob, "#", "1", 1)+strings.Repeat(`,"\u0061":1`, many/11)+`}`),
		"jobs variables":       listOf("Jobs", strings.Replace(tinyJob, "#", "1", 1)+`,"Variable_List":{"A":1`+strings.Repeat(`,"GBROKER_ATTEMPT":""`, many/21)+`}}`),
		"jobs odd texts":       inside("Jobs", tinyJob+`,"comment":"\n","Hold_Types":"\n"}`),
		"jobs lists":           listOf("Jobs", strings.Replace(tinyJob, "#", "1", 1)+`,"x":[1`+strings.Repeat(`,{}`, many/3)+`]}`),
		"jobs depth":           listOf("Jobs", strings.Replace(tinyJob, "#", "1", 1)+`,"x":`+strings.Repeat(`[`, many)+`}`),
		"jobs chunks":          listOf("Jobs", strings.Replace(tinyJob, "#", "1", 1)+`,"Resource_List":{"select":"1`+strings.Repeat(`+2:a=1+2:b=1`, many/12)+`"}}`),
		"jobs of many chunks":  inside("Jobs", tinyJob+`,"Resource_List":{"select":"1`+strings.Repeat(`+2:a=1+2:b=1`, 4)+`"}}`),
		"jobs properties":      inside("Jobs", tinyJob+`,"Resource_List":{"select":"1`+strings.Repeat(`:a=t:b=t`, 8)+`"}}`),
		"jobs places":          listOf("Jobs", strings.Replace(strings.Replace(tinyJob, "#", "1", 1), `"Q"`, `"R"`, 1)+`,"exec_vnode":"(a:ncpus=1)`+strings.Repeat(`+(b:ncpus=1)+(a:ncpus=1)`, many/24)+`"}`),
		"nodes tiny nodes":     inside("nodes", `"n#":{"Mom":"","state":"free"}`),
		"nodes states":         listOf("nodes", `"n":{"Mom":"","state":"free`+strings.Repeat(`,free`, many/5)+`"}`),
		"queues tiny queues":   inside("Queue", `"q#":{"queue_type":"Execution","enabled":"t","started":"t"}`),
		"server attributes":    listOf("Server", `"p":{"server_state":"Active"`+strings.Repeat(`,"x":"y"`, many/8)+`}`),
		"reservations heads":   strings.Repeat("Resv ID: R1.p\n", many/14),
		"reservations tiny":    strings.Repeat(strings.ReplaceAll(rstat("RESV_NONE", "Fri Nov 20 23:09:54 2026", "Fri Nov 20 23:09:54 2026", "", "a"), "R45", "R1"), many/300),
		"reservations fields":  "Resv ID: R1.p\n" + strings.Repeat("a = b\n", many/6),
		"config lines":         strings.Repeat("a:\n", many/3),
		"config keys":          strings.Repeat("job_sort_key: \"a LOW\"\n", many/22),
		"jobs nothing":         strings.Repeat(" ", many),
	}
	for name, text := range hostile {
		kind, _, _ := strings.Cut(name, " ")
		used, err := allocated(parsers(w)[kind], []byte(text), 10)
		t.Logf("%-24s %4.1f times %d bytes (%.90v)", name, float64(used)/float64(len(text)), len(text), err)
		if used > 10*uint64(len(text)) {
			t.Errorf("%s: %d bytes for %d (%.200v)", name, used, len(text), err)
		}
	}
}

// The same with what a real system has printed, as often as in a busy one.
func TestSerialMemoryOfRecordings(t *testing.T) {
	t.Parallel()
	w := plain(t)
	var jobs []string
	for _, r := range recordings(t) {
		if r.Exit != 0 || !strings.Contains(r.line, "-F json") || !bytes.Contains(r.Stdout, []byte(`"Jobs":`)) {
			continue
		}
		body := string(r.Stdout[bytes.Index(r.Stdout, []byte("\"Jobs\":\t{\n"))+10:])
		jobs = append(jobs, strings.TrimSuffix(body, "\n\t}\n}\n"))
	}
	one := strings.Join(jobs, ",")
	text := []byte(listOf("Jobs", strings.Repeat(one+",", 30)+one))
	used, err := allocated(parsers(w)["jobs"], text, 3)
	if err != nil || used > 3*uint64(len(text)) {
		t.Errorf("%d bytes for %d, %v", used, len(text), err)
	}
	t.Logf("%.2f times %d bytes", float64(used)/float64(len(text)), len(text))
}
