module weakly.test

go 1.26
