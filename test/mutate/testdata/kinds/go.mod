module kinds.test

go 1.26
