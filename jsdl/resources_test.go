package jsdl

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"gbroker/grid"
)

func exact(name, value string) string {
	return "<" + name + "><Exact>" + value + "</Exact></" + name + ">"
}

func TestRangesThatAreRefused(t *testing.T) {
	t.Parallel()
	total := func(terms string) string { return needing("<TotalCPUCount>" + terms + "</TotalCPUCount>") }
	var table []refusal
	for _, value := range []string{"0", "-1", "-0", "2.5", "NaN", "INF", "-INF", "", "x", "1_0", "0x10", "Infinity", "inf", "1e400", "1048577", "1e-3", "8 cores", "+-1", "1e"} {
		table = append(table, refusal{"value " + value, total("<Exact>" + value + "</Exact>"),
			fmt.Sprintf("2:16: Exact is %q: give a whole number from 1 to 1048576", value)})
	}
	checkRefusals(t, append(table, []refusal{
		{"nothing", total(""), "2:1: TotalCPUCount has no value: write <Exact>1</Exact> inside"},
		{"text", total(" 8 "), "2:1: TotalCPUCount has no value: write <Exact>8</Exact> inside"},
		{"attribute of an empty one", needing("<TotalCPUCount a='b'/>"), "2:1: TotalCPUCount has the attribute a=\"b\", which is not supported: remove it\n2:1: TotalCPUCount has no value: write <Exact>1</Exact> inside"},
		{"lower bound above all", total(`<LowerBoundedRange exclusiveBound="true">1048576</LowerBoundedRange>`), `2:16: LowerBoundedRange is "1048576": give a whole number from 1 to 1048576`},
		{"upper bound below all", total(`<UpperBoundedRange exclusiveBound="1">1</UpperBoundedRange>`), `2:16: UpperBoundedRange is "1": give a whole number from 1 to 1048576`},
		{"bound that is exclusive maybe", total(`<LowerBoundedRange exclusiveBound="TRUE">4</LowerBoundedRange>`), `2:16: exclusiveBound is "TRUE": give true or false`},
		{"both bounds", total("<UpperBoundedRange>8</UpperBoundedRange><LowerBoundedRange>2</LowerBoundedRange>"), `2:56: LowerBoundedRange, with the UpperBoundedRange in line 2, allows every value, as either may hold: write a Range`},
		{"range without an end", total("<Range><LowerBound>2</LowerBound></Range>"), `2:16: Range has no UpperBound: give both bounds`},
		{"range without a start", total("<Range><UpperBound>2</UpperBound></Range>"), `2:16: Range has no LowerBound: give both bounds`},
		{"range upside down", total("<Range><LowerBound>9</LowerBound><UpperBound>1</UpperBound></Range>"), `2:49: Range of TotalCPUCount allows no value: UpperBound is 1, and LowerBound in line 2 is 9`},
		{"range of nothing", total("<Range><LowerBound exclusiveBound='true'>4</LowerBound><UpperBound exclusiveBound='true'>5</UpperBound></Range>"), `2:16: Range of TotalCPUCount allows no value: give a whole number from 1 to 1048576`},
		{"negative epsilon", total("<Exact epsilon='-1'>4</Exact>"), `2:16: epsilon is "-1": give a number from 0`},
		{"epsilon of words", total("<Exact epsilon='NaN'>4</Exact>"), `2:16: epsilon is "NaN": give a number from 0`},
		{"term of nobody", total("<Most>4</Most>"), `2:16: Most does not belong in TotalCPUCount, which holds UpperBoundedRange, LowerBoundedRange, Exact, Range`},
		{"many terms", total(strings.Repeat("<Exact>4</Exact>", 17)), "2:272: there are more than 16 Exact"},
		{"memory of nothing", needing(exact("IndividualPhysicalMemory", "0")), `2:27: Exact is "0": give bytes from 1 to 1125899906842624`},
		{"memory without end", needing(exact("IndividualPhysicalMemory", "1e16")), `2:27: Exact is "1e16": give bytes from 1 to 1125899906842624`},
		{"memory of half bytes", needing(exact("IndividualPhysicalMemory", "1024.5")), `2:27: Exact is "1024.5": give bytes from 1 to 1125899906842624`},
		{"memory with a unit", needing(exact("IndividualPhysicalMemory", "4G")), `2:27: Exact is "4G": give bytes from 1 to 1125899906842624`},
		{"memory bounded from above", needing("<IndividualPhysicalMemory><UpperBoundedRange>4e9</UpperBoundedRange></IndividualPhysicalMemory>"),
			"2:1: IndividualPhysicalMemory has no lower bound: write a LowerBoundedRange with the bytes that are needed"},
		{"memory of many pieces", needing(exact("IndividualPhysicalMemory", "1125899906842624") + exact("TotalCPUCount", "1025")),
			"2:1: 1025 pieces of 1125899906842624 bytes are more memory than can be counted"},
		{"no architecture", needing("<CPUArchitecture/>"), "2:1: CPUArchitecture has no CPUArchitectureName: write <CPUArchitectureName>x86_64</CPUArchitectureName>"},
		{"another architecture", needing("<CPUArchitecture><CPUArchitectureName>other</CPUArchitectureName></CPUArchitecture>"),
			`2:18: CPUArchitectureName is "other": write one of sparc, powerpc, x86, x86_32, x86_64, parisc, mips, ia64, arm, or leave it out if any will do`},
		{"no system", needing("<OperatingSystem><OperatingSystemType/></OperatingSystem>"), "2:18: OperatingSystemType has no OperatingSystemName: write <OperatingSystemName>LINUX</OperatingSystemName>"},
		{"unknown system", needing("<OperatingSystem><OperatingSystemType><OperatingSystemName>Unknown</OperatingSystemName></OperatingSystemType></OperatingSystem>"),
			`2:39: OperatingSystemName is "Unknown": write a name of JSDL such as LINUX, FreeBSD or MACOS, or leave it out if any system will do`},
		{"element in a description", needing("<OperatingSystem><Description><JobName/></Description></OperatingSystem>"), "2:31: JobName does not belong in Description, which holds text only"},
	}...))
}

func TestContradictionsAreRefused(t *testing.T) {
	t.Parallel()
	const million = "1048576"
	n := func(processes string) string { return "<s:NumberOfProcesses>" + processes + "</s:NumberOfProcesses>" }
	perHost := func(processes string) string { return "<s:ProcessesPerHost>" + processes + "</s:ProcessesPerHost>" }
	threads := func(count string) string { return "<s:ThreadsPerProcess>" + count + "</s:ThreadsPerProcess>" }
	individual := func(v string) string { return exact("IndividualCPUCount", v) + "\n" }
	total := func(v string) string { return exact("TotalCPUCount", v) + "\n" }
	nodes := func(v string) string { return exact("TotalResourceCount", v) + "\n" }
	checkRefusals(t, []refusal{
		{"total and product", needing(individual("2") + total("10") + nodes("4")), "3:1: TotalCPUCount is 10, but IndividualCPUCount 2 (line 2) x TotalResourceCount 4 (line 4) makes 8"},
		{"total and individual", needing(individual("4") + total("10")), "3:1: TotalCPUCount is 10, which cannot be shared out: it takes a multiple of 4 from 4"},
		{"total and nodes", needing(total("3") + nodes("5")), "2:1: TotalCPUCount is 3, which cannot be shared out: it takes a multiple of 1 from 5"},
		{"too many cores", needing(individual(million) + nodes("2")), "2:1: the job asks for 2097152 cores: at most 1048576"},
		{"too many cores everywhere", needing(individual(million) + nodes(million)), "2:1: the job asks for 1099511627776 cores: at most 1048576"},
		{"too many threads", spmd(n(million)+threads(million), ""), "2:1: the job asks for 1099511627776 cores: at most 1048576"},
		{"too many on hosts", spmd(perHost(million)+threads(million), nodes(million)), "3:1: the job asks for 1152921504606846976 cores: at most 1048576"},
		{"too many of defaults", spmd(threads(million), nodes("2")), "3:1: the job asks for 2097152 cores: at most 1048576"},
		{"processes and total", spmd(n("4"), total("8")), "3:1: TotalCPUCount is 8, but NumberOfProcesses in line 2 is 4"},
		{"processes, threads and total", spmd(n("4")+threads("3"), total("4")), "3:1: TotalCPUCount is 4, but 4 processes of 3 threads make 12 (line 2)"},
		{"threads and total", spmd(threads("3"), total("4")), "3:1: TotalCPUCount is 4, which cannot be shared out: it takes a multiple of 3 from 3"},
		{"threads and individual", spmd(threads("3"), individual("4")), "3:1: IndividualCPUCount is 4, but ThreadsPerProcess in line 2 is 3: no node holds whole processes"},
		{"threads, individual and total", spmd(threads("3"), individual("4")+total("12")), "3:1: IndividualCPUCount is 4, but ThreadsPerProcess in line 2 is 3: no node holds whole processes"},
		{"processes and individual", spmd(n("10"), individual("4")), "3:1: IndividualCPUCount is 4, of which 10 cores are no multiple"},
		{"processes and product", spmd(n("10"), individual("5")+nodes("3")), "3:1: IndividualCPUCount 5 x TotalResourceCount 3 (line 4) does not make the 10 cores of the job"},
		{"processes and nodes", spmd(n("3"), nodes("4")), "3:1: TotalResourceCount is 4, but the job has 3 processes by line 2: each node takes at least one"},
		{"more on a host than there are", spmd(n("3")+perHost("4"), ""), "2:45: ProcessesPerHost is 4, more than the processes of the job (3) by line 2: give NumberOfProcesses"},
		{"on a host of an unknown number", spmd(perHost("4"), ""), "2:1: ProcessesPerHost is 4, more than the processes of the job (1): give NumberOfProcesses"},
		{"on a host and individual", spmd(n("8")+perHost("4"), individual("8")), "3:1: IndividualCPUCount is 8, but ProcessesPerHost 4 in line 2 with 1 threads each makes 4"},
		{"on a host and nodes", spmd(n("9")+perHost("4"), nodes("2")), "3:1: TotalResourceCount is 2, but 9 processes with 4 on each host (line 2) make 3 hosts"},
		{"on a host and total", spmd(perHost("4"), total("3")), "3:1: TotalCPUCount is 3, which cannot be shared out: it takes a multiple of 1 from 4"},
		{"told beside other mistakes", spmd(n("4")+"<p:X/>", total("8")),
			"2:45: X does not belong in SPMDApplication, which holds " + order(placeOf["SPMDApplication"]) + "\n3:1: TotalCPUCount is 8, but NumberOfProcesses in line 2 is 4"},
		{"not after a broken number", spmd(n("0"), individual("3")+total("8")), `2:1: NumberOfProcesses is "0": give a whole number from 1 to 1048576`},
		{"several values", spmd(n("4"), "<TotalCPUCount><Exact>1</Exact><Exact>2</Exact><Range><LowerBound>5</LowerBound><UpperBound>6</UpperBound></Range><Range><LowerBound>7</LowerBound><UpperBound>8</UpperBound></Range><Range><LowerBound>9</LowerBound><UpperBound>9</UpperBound></Range></TotalCPUCount>"),
			"3:1: TotalCPUCount is 1 or 2 or 5 to 6 or 7 to 8 or …, but NumberOfProcesses in line 2 is 4"},
	})
}

func TestDemand(t *testing.T) {
	t.Parallel()
	n := func(processes string) string { return "<s:NumberOfProcesses>" + processes + "</s:NumberOfProcesses>" }
	perHost := func(processes string) string { return "<s:ProcessesPerHost>" + processes + "</s:ProcessesPerHost>" }
	threads := func(count string) string { return "<s:ThreadsPerProcess>" + count + "</s:ThreadsPerProcess>" }
	individual := func(v string) string { return exact("IndividualCPUCount", v) }
	memory := func(v string) string { return exact("IndividualPhysicalMemory", v) }
	total := func(v string) string { return exact("TotalCPUCount", v) }
	nodes := func(v string) string { return exact("TotalResourceCount", v) }
	raw := func(name, terms string) string { return "<" + name + ">" + terms + "</" + name + ">" }
	lower := func(v string) string { return "<LowerBoundedRange>" + v + "</LowerBoundedRange>" }
	between := func(a, b string) string {
		return "<Range><LowerBound>" + a + "</LowerBound><UpperBound>" + b + "</UpperBound></Range>"
	}
	all := "<s:NumberOfProcesses xsi:nil='true' actualtotalcpucount='true'/>"
	type chunk struct { // grid.Chunk, short to write
		count, processes, cores int
		memory                  int64
	}
	type chunks = []chunk
	for _, c := range []struct {
		name, document string
		want           chunks
	}{
		{"nothing said", running(""), chunks{{1, 1, 1, 0}}},
		{"empty resources", needing(""), chunks{{1, 1, 1, 0}}},
		{"total", needing(total("8")), chunks{{8, 1, 1, 0}}},
		{"total as double", needing(total(" 8.0 ")), chunks{{8, 1, 1, 0}}},
		{"total with an exponent", needing(total("+1.0e3")), chunks{{1000, 1, 1, 0}}},
		{"largest total", needing(total("1048576")), chunks{{1 << 20, 1, 1, 0}}},
		{"individual", needing(individual("4")), chunks{{1, 4, 4, 0}}},
		{"nodes", needing(nodes("3")), chunks{{3, 1, 1, 0}}},
		{"product", needing(individual("4") + nodes("3")), chunks{{3, 4, 4, 0}}},
		{"total and individual", needing(individual("4") + total("12")), chunks{{3, 4, 4, 0}}},
		{"total and nodes", needing(total("12") + nodes("3")), chunks{{3, 4, 4, 0}}},
		{"total and nodes, uneven", needing(total("11") + nodes("3")), chunks{{1, 3, 3, 0}, {2, 4, 4, 0}}},
		{"all three", needing(individual("4") + total("12") + nodes("3")), chunks{{3, 4, 4, 0}}},
		{"memory", needing(memory("1024")), chunks{{1, 1, 1, 1024}}},
		{"memory of each node", needing(individual("2") + memory("2097152.0") + nodes("3")), chunks{{3, 2, 2, 2097152}}},
		{"memory of each process", needing(memory("1e9") + total("3")), chunks{{3, 1, 1, 1e9}}},
		{"memory, uneven", needing(memory("7") + total("3") + nodes("2")), chunks{{1, 1, 1, 7}, {1, 2, 2, 7}}},
		{"memory from a bound", needing(raw("IndividualPhysicalMemory", lower("512"))), chunks{{1, 1, 1, 512}}},
		{"memory from a range", needing(raw("IndividualPhysicalMemory", between("512", "1024"))), chunks{{1, 1, 1, 512}}},
		{"most memory", needing(memory("1125899906842624")), chunks{{1, 1, 1, grid.MaxMemory}}},
		{"least memory", needing(memory("1")), chunks{{1, 1, 1, 1}}},
		{"most memory of many", needing(memory("1125899906842624") + total("1024")), chunks{{1024, 1, 1, grid.MaxMemory}}},
		{"many terms", needing(raw("TotalCPUCount", strings.Repeat("<Exact>4</Exact>", 16))), chunks{{4, 1, 1, 0}}},
		{"at least", needing(raw("TotalCPUCount", lower("6"))), chunks{{6, 1, 1, 0}}},
		{"more than", needing(raw("TotalCPUCount", "<LowerBoundedRange exclusiveBound='true'>6</LowerBoundedRange>")), chunks{{7, 1, 1, 0}}},
		{"not more than", needing(raw("TotalCPUCount", "<LowerBoundedRange exclusiveBound='0'>6</LowerBoundedRange>")), chunks{{6, 1, 1, 0}}},
		{"at most", needing(raw("TotalCPUCount", "<UpperBoundedRange>6</UpperBoundedRange>")), chunks{{1, 1, 1, 0}}},
		{"either", needing(raw("TotalCPUCount", "<Exact>8</Exact><Exact>4</Exact>"+between("5", "6"))), chunks{{4, 1, 1, 0}}},
		{"about", needing(raw("TotalCPUCount", "<Exact epsilon=' 1.5 '>8</Exact>")), chunks{{7, 1, 1, 0}}},
		{"about, wide", needing(raw("TotalCPUCount", "<Exact epsilon='1e300'>8</Exact>")), chunks{{1, 1, 1, 0}}},
		{"about, of threes", needing(raw("IndividualCPUCount", "<Exact>3</Exact>") + raw("TotalCPUCount", "<Exact epsilon='1'>8</Exact>")), chunks{{3, 3, 3, 0}}},
		{"at least, in whole nodes", needing(individual("4") + raw("TotalCPUCount", lower("6"))), chunks{{2, 4, 4, 0}}},
		{"at least, on nodes", needing(raw("TotalCPUCount", lower("2")) + nodes("5")), chunks{{5, 1, 1, 0}}},
		{"at least, all three", needing(individual("4") + raw("TotalCPUCount", lower("6")) + nodes("3")), chunks{{3, 4, 4, 0}}},
		{"spmd, nothing said", spmd("", ""), chunks{{1, 1, 1, 0}}},
		{"processes", spmd(n("6"), ""), chunks{{6, 1, 1, 0}}},
		{"processes and the same total", spmd(n("6"), total("6")), chunks{{6, 1, 1, 0}}},
		{"processes and a wider total", spmd(n("6"), raw("TotalCPUCount", lower("2"))), chunks{{6, 1, 1, 0}}},
		{"threads", spmd(n("6")+threads("2"), total("12")), chunks{{6, 1, 2, 0}}},
		{"threads of a total", spmd(threads("2"), total("12")), chunks{{6, 1, 2, 0}}},
		{"threads on nodes", spmd(threads("2"), individual("4")+nodes("3")), chunks{{3, 2, 4, 0}}},
		{"threads of an open total", spmd(threads("5"), raw("TotalCPUCount", lower("6"))), chunks{{2, 1, 5, 0}}},
		{"on each host", spmd(n("8")+perHost("4"), ""), chunks{{2, 4, 4, 0}}},
		{"on each host, with a rest", spmd(n("10")+perHost("4")+threads("2"), individual("8")+memory("5")+nodes("3")), chunks{{2, 4, 8, 5}, {1, 2, 4, 5}}},
		{"on each of the hosts", spmd(perHost("4"), nodes("3")), chunks{{3, 4, 4, 0}}},
		{"on each host of a size", spmd(perHost("4"), individual("4")), chunks{{1, 4, 4, 0}}},
		{"on each host of a total", spmd(perHost("4"), total("6")), chunks{{1, 4, 4, 0}, {1, 2, 2, 0}}},
		{"on each host of a total and nodes", spmd(perHost("4"), total("8")+nodes("2")), chunks{{2, 4, 4, 0}}},
		{"processes in whole nodes", spmd(n("12"), individual("4")), chunks{{3, 4, 4, 0}}},
		{"processes in the nodes", spmd(n("12"), raw("IndividualCPUCount", lower("2"))+nodes("3")), chunks{{3, 4, 4, 0}}},
		{"processes in nodes that divide", spmd(n("9"), raw("IndividualCPUCount", lower("2"))), chunks{{3, 3, 3, 0}}},
		{"processes over nodes", spmd(n("7"), nodes("3")), chunks{{2, 2, 2, 0}, {1, 3, 3, 0}}},
		{"as many as CPUs", spmd(all, total("6")), chunks{{6, 1, 1, 0}}},
		{"as many as CPUs, other spelling", spmd("<s:NumberOfProcesses actualTotalCPUCount='1'></s:NumberOfProcesses>", individual("2")+nodes("3")), chunks{{3, 2, 2, 0}}},
		{"not as many as CPUs", spmd("<s:NumberOfProcesses xsi:nil='false' actualtotalcpucount='0'>4</s:NumberOfProcesses>", ""), chunks{{4, 1, 1, 0}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var got chunks
			for _, g := range mustParse(t, c.document).Job.Demand.Chunks {
				got = append(got, chunk{g.Count, g.Processes, g.Cores, g.Memory})
			}
			if !reflect.DeepEqual(got, c.want) {
				t.Errorf("%+v, want %+v", got, c.want)
			}
		})
	}
}

func TestArchitectureAndSystem(t *testing.T) {
	t.Parallel()
	for document, want := range map[string]grid.Demand{
		needing(""): {},
		needing("<OperatingSystem><OperatingSystemType><OperatingSystemName> LINUX\n</OperatingSystemName></OperatingSystemType><Description>d</Description></OperatingSystem><CPUArchitecture><CPUArchitectureName>\nx86_64 </CPUArchitectureName></CPUArchitecture>"): {System: "LINUX", Architecture: "x86_64"},
		needing("<ExclusiveExecution> false </ExclusiveExecution><OperatingSystem/>"): {},
		needing("<ExclusiveExecution>0</ExclusiveExecution>"):                         {},
		needing("<ExclusiveExecution>\ttrue</ExclusiveExecution>"):                    {Exclusive: true},
		needing("<ExclusiveExecution>1</ExclusiveExecution>"):                         {Exclusive: true},
	} {
		got := mustParse(t, document).Job.Demand
		got.Chunks = nil
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
}

// least against counting up.
func TestLeastAgainstCounting(t *testing.T) {
	t.Parallel()
	sets := [][]span{{{1, 1}}, {{3, 9}}, {{7, 7}, {2, 2}}, {{5, 12}, {1, 3}}, {{10, 30}, {4, 4}, {6, 6}}}
	for _, spans := range sets {
		a := &allowed{spans: spans}
		for from := int64(1); from < 35; from++ {
			for step := int64(1); step < 9; step++ {
				want := int64(0)
				for n := from; n < 40; n++ {
					if n%step == 0 && a.has(n) {
						want = n
						break
					}
				}
				if got := a.least(from, step); got != want {
					t.Fatalf("%v from %d by %d: %d, want %d", spans, from, step, got, want)
				}
			}
		}
	}
}
