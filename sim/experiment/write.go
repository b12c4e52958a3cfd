package experiment

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// entry is one field of a result as it is written.
type entry struct {
	name  string
	value any
}

// number is a result of a row; a rule without it has none.
func (r *Row) number(name string) (float64, bool) {
	v, ok := r.Mean[name]
	if name == "load" && r.point.Workload.Load > 0 {
		return r.point.Workload.Load, true
	}
	if name == "load" {
		v, ok = r.Mean["offered_load"]
	}
	return rounded(v), ok
}

// entries are all fields of a row, in the order in which they are written.
func (r *Row) entries() []entry {
	b := &r.point.Brokering
	out := []entry{
		{"sites", r.Mean["sites"]}, {"degree", rounded(r.Mean["degree"])}, {"reevaluate_s", b.Reevaluate}, {"view_age_s", b.ViewAge},
		{"load", 0.0}, {"brokering", r.Rule},
	}
	out[4].value, _ = r.number("load")
	for i, path := range []string{"brokering.reevaluate_s", "brokering.view_age_s"} {
		if !matters(r.Rule, path) {
			out[2+i].value = 0.0
		}
	}
	for _, m := range metrics {
		if v, ok := r.number(m.Name); ok && m.Name != "sites" && m.Name != "degree" {
			out = append(out, entry{m.Name, v})
		}
	}
	return out
}

// MarshalJSON writes a row: its fields, then the values of what varies, the deviations, the seeds and the sites.
func (r *Row) MarshalJSON() ([]byte, error) {
	fields := r.entries()
	if _, ok := r.Mean["oracle_ratio"]; !ok {
		fields = append(fields, entry{"oracle_ratio", nil}) // no run of the oracle was there
	}
	deviations := make(map[string]float64)
	for name, v := range r.SD {
		if name != "sites" && name != "degree" {
			deviations[name] = rounded(v)
		}
	}
	fields = append(fields, entry{"values", r.Values}, entry{"replications", len(r.Seeds)}, entry{"seeds", r.Seeds}, entry{"sd", deviations}, entry{"partial", r.Partial})
	if len(r.Sites) <= 200 {
		for i := range r.Sites {
			s := &r.Sites[i]
			s.Utilisation, s.Response, s.Slowdown = rounded(s.Utilisation), rounded(s.Response), rounded(s.Slowdown)
		}
		fields = append(fields, entry{"by_site", r.Sites})
	}
	var out bytes.Buffer
	for i, f := range fields {
		value, err := json.Marshal(f.value)
		if err != nil {
			return nil, fmt.Errorf("writing %s: %w", f.name, err)
		}
		fmt.Fprintf(&out, "%c%q:%s", "{,"[min(i, 1)], f.name, value)
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// WriteCSV writes a line for each row: what varies, then the results with their deviations. A result that a rule has not is empty.
func (r *Results) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	head := []string{"rule"}
	axes := r.otherAxes()
	head = append(head, axes...)
	head = append(head, "seeds", "partial", "reevaluate_s", "view_age_s", "load")
	for _, m := range metrics {
		head = append(head, m.Name, m.Name+"_sd")
	}
	if err := out.Write(head); err != nil {
		return err
	}
	for _, row := range r.Rows {
		line := []string{row.Rule}
		for _, path := range axes {
			line = append(line, row.Values[path])
		}
		line = append(line, strconv.Itoa(len(row.Seeds)), strconv.FormatBool(row.Partial))
		for _, f := range row.entries()[2:5] {
			line = append(line, fmt.Sprint(f.value))
		}
		for _, m := range metrics {
			if v, ok := row.number(m.Name); ok {
				line = append(line, fmt.Sprint(v), fmt.Sprint(rounded(row.SD[m.Name])))
			} else {
				line = append(line, "", "")
			}
		}
		if err := out.Write(line); err != nil {
			return err
		}
	}
	out.Flush()
	return out.Error()
}

// otherAxes are all but that of rules.
func (r *Results) otherAxes() []string {
	return slices.DeleteFunc(slices.Clone(r.Axes), func(path string) bool { return path == "brokering.rule" })
}

// Table are the rows as people read them; the first is the head. Deviations over seeds stand behind a ±.
func (r *Results) Table() [][]string {
	axes := r.otherAxes()
	head := []string{"RULE"}
	for _, path := range axes {
		head = append(head, shortName(path))
	}
	var shown []Metric
	for _, m := range metrics {
		if m.Head != "" && slices.ContainsFunc(r.Rows, func(row *Row) bool { return row.Mean[m.Name] != 0 }) {
			shown = append(shown, m)
			head = append(head, m.Head)
		}
	}
	out := [][]string{append(head, "SEEDS")}
	for _, row := range r.Rows {
		line := []string{row.Rule}
		for _, path := range axes {
			v, ok := row.Values[path]
			if !ok {
				v = "-"
			}
			line = append(line, v)
		}
		for _, m := range shown {
			line = append(line, row.cell(m.Name))
		}
		seeds := strconv.Itoa(len(row.Seeds))
		if row.Partial {
			seeds += ", partial"
		}
		out = append(out, append(line, seeds))
	}
	return out
}

// cell is a number with its deviation.
func (r *Row) cell(name string) string {
	v, ok := r.Mean[name]
	if !ok {
		return "-"
	}
	if len(r.Seeds) < 2 {
		return readable(v)
	}
	return readable(v) + " ±" + readable(r.SD[name])
}

// readable has as many digits as one reads.
func readable(v float64) string {
	switch {
	case v >= 1000:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 100:
		return strconv.FormatFloat(v, 'f', 1, 64)
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
	return strconv.FormatFloat(v, 'f', 3, 64)
}
