package jsdl

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"gbroker/grid"
)

func named(name, amount string) string {
	return `<g:Resource name="` + name + `">` + amount + "</g:Resource>\n"
}

func TestOwnElements(t *testing.T) {
	t.Parallel()
	gpus := []grid.Resource{{Name: "gpu:a100", Amount: 2}}
	for _, c := range []struct {
		name, document string
		want           grid.Demand
		queue          grid.QueueName
	}{
		{"resource", needing(named(" gpu:a100\n", " 2 ")),
			grid.Demand{Chunks: []grid.Chunk{{Count: 1, Processes: 1, Cores: 1, Resources: gpus}}}, ""},
		{"in every chunk", spmd("<s:NumberOfProcesses>5</s:NumberOfProcesses><s:ProcessesPerHost>4</s:ProcessesPerHost>", named("gpu:a100", "2")+named("fpga", "1")),
			grid.Demand{Chunks: []grid.Chunk{
				{Count: 1, Processes: 4, Cores: 4, Resources: append(gpus, grid.Resource{Name: "fpga", Amount: 1})},
				{Count: 1, Processes: 1, Cores: 1, Resources: append(gpus, grid.Resource{Name: "fpga", Amount: 1})},
			}}, ""},
		{"in any order, behind the others", needing("<ExclusiveExecution>true</ExclusiveExecution>" + exact("TotalResourceCount", "2") +
			"<g:Queue> long </g:Queue><g:Property>ib</g:Property>" + named("gpu:a100", "2") + "<g:Property> Scratch.1 </g:Property>"),
			grid.Demand{Chunks: []grid.Chunk{{Count: 2, Processes: 1, Cores: 1, Resources: gpus}}, Properties: []string{"ib", "Scratch.1"}, Exclusive: true}, "long"},
		{"as much as can be counted", needing(exact("TotalCPUCount", "65536") + named("x", "1099511627776")),
			grid.Demand{Chunks: []grid.Chunk{{Count: 1 << 16, Processes: 1, Cores: 1, Resources: []grid.Resource{{Name: "x", Amount: grid.MaxAmount}}}}}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			job := mustParse(t, c.document).Job
			if !reflect.DeepEqual(job.Demand, c.want) || job.Queue != c.queue {
				t.Errorf("%+v in the queue %q, want %+v in %q", job.Demand, job.Queue, c.want, c.queue)
			}
		})
	}
}

func TestOwnElementsThatAreRefused(t *testing.T) {
	t.Parallel()
	many := func(format string, n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	const amounts = "give a whole number from 1 to 1099511627776"
	checkRefusals(t, []refusal{
		{"no amount", needing(named("gpu", "")), `2:1: Resource is "": ` + amounts},
		{"nothing", needing(named("gpu", "0")), `2:1: Resource is "0": ` + amounts},
		{"a half", needing(named("gpu", "0.5")), `2:1: Resource is "0.5": ` + amounts},
		{"too much", needing(named("gpu", "1099511627777")), `2:1: Resource is "1099511627777": ` + amounts},
		{"a range", needing("<g:Resource name='gpu'><Exact>1</Exact></g:Resource>"),
			"2:1: Resource is \"\": " + amounts + "\n2:24: Exact does not belong in Resource, which holds text only"},
		{"no name", needing("<g:Resource>1</g:Resource>"), `2:1: Resource has no name: write <Resource name="gpu">1</Resource>`},
		{"empty name", needing(named(" ", "1")), "2:1: Resource: a resource: the name is empty: use 1 to 64 letters, digits and . _ : -"},
		{"name with a blank", needing(named("gpu a100", "1")),
			`2:1: Resource: a resource: the name "gpu a100" has ' ' at position 4: use letters, digits and . _ : -, first a letter or digit`},
		{"cores", needing(named("cores", "1")), `2:1: Resource "cores" has elements of its own: write IndividualCPUCount or TotalCPUCount`},
		{"memory", needing(named("memory", "1")), `2:1: Resource "memory" has an element of its own: write IndividualPhysicalMemory`},
		{"other attribute", needing("<g:Resource name='gpu' kind='a'>1</g:Resource>"), `2:1: Resource has the attribute kind="a", which is not supported: remove it`},
		{"twice", needing(named("gpu", "1") + named("x", "1") + named("gpu", "1")), `4:1: Resource "gpu" is given twice (first in line 2): once only, with the sum`},
		{"many resources", needing(many(`<g:Resource name="r%d">1</g:Resource>`+"\n", grid.MaxResources+1)), "18:1: there are more than 16 Resource"},
		{"more than can be counted", needing(exact("TotalCPUCount", "65537") + "\n" + named("gpu", "1099511627776")),
			"3:1: 65537 pieces with 1099511627776 gpu each are more than can be counted"},
		{"beside broken counts", needing(exact("TotalCPUCount", "0") + "\n" + named("gpu", "0")),
			"2:16: Exact is \"0\": give a whole number from 1 to 1048576\n3:1: Resource is \"0\": " + amounts},
		{"empty property", needing("<g:Property/>"), "2:1: Property: the name is empty: use 1 to 64 letters, digits and . _ : -"},
		{"property of two words", needing("<g:Property>a b</g:Property>"),
			`2:1: Property: the name "a b" has ' ' at position 2: use letters, digits and . _ : -, first a letter or digit`},
		{"property twice", needing("<g:Property>a</g:Property>\n<g:Property>a</g:Property>"), `3:1: Property "a" is given twice (first in line 2): once only`},
		{"many properties", needing(many("<g:Property>p%d</g:Property>\n", grid.MaxProperties+1)), "18:1: there are more than 16 Property"},
		{"queue of two words", needing("<g:Queue>Long</g:Queue>"), `2:1: Queue: the name "Long" has 'L' at position 1: use a-z 0-9 - _, first a letter or digit`},
		{"two queues", needing("<g:Queue>a</g:Queue>\n<g:Queue>a</g:Queue>"), "3:1: Queue is given twice (first in line 2): once only"},
		{"in another place", running("<g:Property>a</g:Property>"), "2:1: Property does not belong in POSIXApplication, which holds " + order(placeOf["POSIXApplication"])},
		{"in no namespace", needing("<Property>a</Property>"), "2:1: Property is in the namespace " + Core + " here, but must be in the namespace " + Own},
		{"prefix not declared", needing("<gb:Property>a</gb:Property>"), `2:1: the prefix "gb" is declared nowhere: add xmlns:gb="urn:gbroker:jsdl:1" to the first element`},
	})
}
