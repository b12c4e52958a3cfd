package grid

import (
	"fmt"
	"strings"
	"testing"
)

func TestCheckLabel(t *testing.T) {
	t.Parallel()
	for _, good := range []string{"a", "7", "gpu:a100", "GPU.x_y-z", strings.Repeat("a", MaxLabel)} {
		if err := CheckLabel(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for bad, want := range map[string]string{
		"":                              "the name is empty: use 1 to 64 letters, digits and . _ : -",
		strings.Repeat("a", MaxLabel+1): "has 65 characters: at most 64",
		":a":                            `has ':' at position 1`,
		"a b":                           `has ' ' at position 2`,
		"a=b":                           `has '=' at position 2`,
		"a\x00":                         `has '\x00' at position 2`,
		"é":                             `at position 1`,
		"a/b":                           `has '/' at position 2`,
	} {
		if err := CheckLabel(bad); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", bad, err, want)
		}
	}
}

func TestCheckResources(t *testing.T) {
	t.Parallel()
	var many []Resource
	for i := range MaxResources + 1 {
		many = append(many, Resource{fmt.Sprint("r", i), 1})
	}
	most := Chunk{Count: 1 << 16, Resources: []Resource{{"a", MaxAmount}}}
	if err := most.CheckResources(); err != nil {
		t.Errorf("as much as can be counted: %v", err)
	}
	if err := (Chunk{Count: 1, Resources: many[1:]}).CheckResources(); err != nil {
		t.Errorf("as many as may be: %v", err)
	}
	for _, c := range []struct {
		chunk Chunk
		want  string
	}{
		{Chunk{Count: 1, Resources: many}, "17 named resources: at most 16"},
		{Chunk{Count: 1, Resources: []Resource{{"", 1}}}, "a resource: the name is empty"},
		{Chunk{Count: 1, Resources: []Resource{{"cores", 1}}}, "the resource cores is counted by itself"},
		{Chunk{Count: 1, Resources: []Resource{{"memory", 1}}}, "the resource memory is counted by itself"},
		{Chunk{Count: 1, Resources: []Resource{{"gpu", 0}}}, "0 of the resource gpu: an amount is a whole number from 1 to 1099511627776"},
		{Chunk{Count: 1, Resources: []Resource{{"gpu", MaxAmount + 1}}}, "1099511627777 of the resource gpu"},
		{Chunk{Count: 1, Resources: []Resource{{"gpu", 1}, {"x", 1}, {"gpu", 2}}}, "the resource gpu is named twice"},
		{Chunk{Count: 1<<16 + 1, Resources: []Resource{{"a", MaxAmount}}}, "65537 pieces with 1099511627776 a each are more than can be counted"},
	} {
		if err := c.chunk.CheckResources(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.chunk.Resources, err, c.want)
		}
	}
}

func TestCheckProperties(t *testing.T) {
	t.Parallel()
	var many []string
	for i := range MaxProperties + 1 {
		many = append(many, fmt.Sprint("p", i))
	}
	if err := CheckProperties(many[1:]); err != nil {
		t.Error(err)
	}
	for _, c := range []struct {
		list []string
		want string
	}{
		{many, "17 properties: at most 16"},
		{[]string{"a", "b c"}, `a property: the name "b c"`},
		{[]string{"a", "b", "a"}, "the property a is named twice"},
	} {
		if err := CheckProperties(c.list); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %q", c.list, err, c.want)
		}
	}
}
