module github.com/paddock-go/paddock

go 1.26
