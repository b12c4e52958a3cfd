package supervise

import (
	"strconv"
	"strings"
)

// gpus are the numbers of a job's GPUs, as programs read them.
func (s *Spec) gpus() string {
	var list []string
	for _, g := range s.GPUs {
		list = append(list, strconv.Itoa(g))
	}
	return strings.Join(list, ",")
}

// visible are the variables by which the libraries of GPUs leave a program its own alone. Those of the job itself go over them.
func (s *Spec) visible() []string {
	if len(s.GPUs) == 0 {
		return nil
	}
	return devices(s.gpus())
}

// Blind are the variables by which a program sees no GPU.
func Blind() []string { return devices("") }

func devices(numbers string) []string {
	return []string{"CUDA_VISIBLE_DEVICES=" + numbers, "ROCR_VISIBLE_DEVICES=" + numbers}
}
